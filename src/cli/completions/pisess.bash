# Completion of pisess for bash. Either source this file from ~/.bashrc, or install it as
# /usr/share/bash-completion/completions/pisess.

_pisess() {
    local IFS=$'\n'
    # The whole line, because bash splits words at colons and other characters that occur in ids and labels.
    COMPREPLY=($(pisess completions bash --line "${COMP_LINE:0:COMP_POINT}" --word "$2" 2>/dev/null))
    # After a directory, completion continues in it.
    if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == */ ]]; then
        compopt -o nospace
    fi
}

if ((BASH_VERSINFO[0] > 4 || BASH_VERSINFO[0] == 4 && BASH_VERSINFO[1] >= 4)); then
    complete -o nosort -F _pisess pisess
else
    complete -F _pisess pisess
fi
