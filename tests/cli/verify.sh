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
