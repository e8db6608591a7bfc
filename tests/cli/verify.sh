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

# only STATUS REGEX WHAT COMMAND…: WHAT is found, in a line that matches, and nothing else.
only() {
    check_status "$1" "$3 is found" "${@:4}"
    findings "$OUT" > "$T/findings"
    if [ "$(wc -l < "$T/findings")" = 1 ] && grep -qE "$2" "$T/findings"; then
        pass "nothing but $3 is found"
    else
        fail "nothing but $3 is found" "expected only: $2"
        diag_file "$T/findings"
    fi
}
# said TEXT NAME: what the last command printed.
said() {
    cp "$OUT" "$T/said"
    check_output "$1" "$2" cat "$T/said"
}
