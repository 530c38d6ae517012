# Sourced by the scripts that build for another target: installs its standard library if missing.
# shellcheck shell=bash

fail() {
    printf 'packaging/%s: %s\n' "$(basename "$0")" "$*" >&2
    exit 1
}

standard_library() {
    local folder
    folder=$(rustc --print target-libdir --target "$1")
    [[ ! -d $folder ]] || return 0
    command -v rustup >/dev/null || fail "the standard library of $1 is not installed"
    rustup target add "$1" >&2 || fail "cannot install the standard library of $1"
}
