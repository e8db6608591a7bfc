# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# verify.sh: for tests of mlaunch verify, behind test.sh.
# shellcheck disable=SC2034
NO_READV="qemu-user has no process_vm_readv, which is a finding"

# findings FILE: those that mlaunch verify has printed there, but for that one.
findings() {
    if is_emulated; then grep -v 'allow process_vm_readv' "$1"; else cat "$1"; fi |
        grep -E '^(error|warning|note) '
}

# only STATUS REGEX NAME COMMAND…: the only finding is a line that matches.
only() {
    check_status "$1" "$3" "${@:4}"
    findings "$OUT" > "$T/findings"
    if [ "$(wc -l < "$T/findings")" = 1 ] && grep -qE "$2" "$T/findings"; then
        pass "… and nothing else is found"
    else
        fail "… and nothing else is found" "expected only: $2"
        diag_file "$T/findings"
    fi
}
# said TEXT NAME: what the last command printed.
said() {
    cp "$OUT" "$T/said"
    check_output "$1" "$2" cat "$T/said"
}
