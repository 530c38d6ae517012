# Sourced by the tests of the fleet: installs what they need, builds pisess, and makes the sessions.
# shellcheck shell=bash
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
tools=${CARGO_TARGET_DIR:-$PWD/target}/tools
work=$(mktemp -d)
sessions=${FLEET_SESSIONS:-2000}

fail() {
    printf 'fleet/tests/%s: %s\n' "$(basename "$0")" "$*" >&2
    exit 1
}

# Debian packages that are missing, each given as COMMAND:PACKAGE.
debian() {
    local need as_root=() missing=()
    for need in "$@"; do
        [[ $(PATH=$PATH:/usr/sbin command -v "${need%:*}") ]] || missing+=("${need#*:}")
    done
    [[ ${#missing[@]} -gt 0 ]] || return 0
    [[ $(id -u) == 0 ]] || as_root=(sudo)
    { "${as_root[@]}" apt-get update -qq &&
        "${as_root[@]}" apt-get install -qq -y --no-install-recommends "${missing[@]}" >/dev/null; } ||
        fail "cannot install ${missing[*]}"
}

# A Python package of this version, in an environment of its own.
python_package() {
    local name=${1%==*}
    [[ -x $tools/$name/bin/python ]] || python3 -m venv "$tools/$name" 2>/dev/null ||
        { debian ensurepip:python3-venv && python3 -m venv "$tools/$name"; }
    "$tools/$name/bin/pip" install --quiet --disable-pip-version-check "$@" || fail "cannot install $1"
}

duckdb() {
    [[ -x $tools/duckdb-cli/lib/duckdb ]] || {
        python_package duckdb-cli==1.5.6
        ln -s "$(find "$tools/duckdb-cli" -path '*/duckdb_cli/duckdb' -print -quit)" "$tools/duckdb-cli/lib/duckdb"
    }
    PATH=$PATH:$tools/duckdb-cli/lib
}

# The binary under test, and the sessions.
[[ ${PISESS:-} ]] || cargo build --quiet --locked
built=$(cargo build --quiet --locked --bench compare --message-format=json |
    python3 -c 'import json, sys; print([row["executable"] for row in map(json.loads, sys.stdin) if row.get("executable") and row["target"]["name"] == "compare"][0])')
mkdir "$work/bin"
cp "${PISESS:-${CARGO_TARGET_DIR:-$PWD/target}/debug/pisess}" "$work/bin/pisess"
python3 fleet/tests/sessions.py "$built" "$work/sessions" "$sessions"
PATH=$work/bin:$PATH
