# Completion of pisess for bash. Either source this file from ~/.bashrc, or install it as
# /usr/share/bash-completion/completions/pisess.

_pisess() {
    local IFS=$'\n'
    # The whole line, because bash cuts words at colons and other characters that ids and labels hold.
    COMPREPLY=($(pisess completions bash --line "${COMP_LINE:0:COMP_POINT}" --word "$2" 2>/dev/null))
    # Nothing else is meant by a folder than to go on in it.
    if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == */ ]]; then
        compopt -o nospace
    fi
}

if ((BASH_VERSINFO[0] > 4 || BASH_VERSINFO[0] == 4 && BASH_VERSINFO[1] >= 4)); then
    complete -o nosort -F _pisess pisess
else
    complete -F _pisess pisess
fi
