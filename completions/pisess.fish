# Completion of pisess for fish. Install this file as ~/.config/fish/completions/pisess.fish.

function __pisess_complete
    set --local words (commandline --current-process --tokenize --cut-at-cursor)
    # The word as typed, without its quotes, one of which may be open.
    set --local token (commandline --current-token --cut-at-cursor)
    set --local word (string unescape -- $token)
    # In quotes, a tilde is not the home directory; outside of them, a list in braces is several words.
    if string match --quiet --regex '^[\'"]~/|^[^\'"]*(?<!\\\\)\{[^}]*,' -- $token
        return
    end
    # An open brace, as in @^{us, must be escaped before the rest of a candidate is appended to it. A completion cannot
    # change what was typed, but an abbreviation can (since fish 3.6); this one lasts until then, and matches only $token.
    if string match --quiet --regex '^[^\'"]*(?<!\\\\)\{[^}]*$' -- $token
        abbr --add __pisess_brace --position anywhere --regex (string escape --style=regex -- $token) \
            --function __pisess_escape_brace 2>/dev/null
        and commandline --function expand-abbr complete
        return
    end
    pisess completions fish --at (count $words) -- $words $word 2>/dev/null
end

function __pisess_escape_brace
    abbr --erase __pisess_brace
    string replace --regex '(?<!\\\\)\{(?=[^{}]*$)' '\\\\{' -- $argv[1]
end

complete --command pisess --no-files --keep-order --arguments '(__pisess_complete)'
