# Completion of pisess for Elvish. Load it from rc.elv:
#   eval (pisess completions elvish | slurp)

use str

set edit:completion:arg-completer[pisess] = {|@words|
    var at = (- (count $words) 1)
    pisess completions elvish --at $at -- $@words 2>/dev/null | each {|line|
        var value @help = (str:split &max=2 "\t" $line)
        var display = $value
        if (> (count $help) 0) { set display = $value'  '$help[0] }
        edit:complex-candidate $value &display=$display
    }
}
