#compdef pisess
# Completion of pisess for zsh. Install this file as _pisess in a directory of $fpath, or load it with
# `source <(pisess completions zsh)` after compinit.

_pisess() {
    local line
    local -a values directories
    for line in "${(@f)$(pisess completions zsh --at $((CURRENT - 1)) -- "${(@Q)words[1,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)}"; do
        [[ -n $line ]] || continue
        if [[ ${line%%:*} == */ ]]; then
            directories+=("${${line%%:*}%/}")
        else
            values+=("$line")
        fi
    done
    (($#values)) && _describe -V pisess values
    (($#directories)) && compadd -S / -q -- $directories
}

if [[ $funcstack[1] == _pisess ]]; then
    _pisess "$@"
else
    compdef _pisess pisess
fi
