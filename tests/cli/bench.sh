# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# bench.sh: for *.t about mlaunch bench; to be sourced after test.sh.

# bench ARGUMENT…: what it printed is in $T/result too.
bench() {
    run "$MLAUNCH" bench "$@"
    cp "$OUT" "$T/result"
}
# shellcheck disable=SC2154 # status: test.sh's
# ends STATUS NAME: of the last bench.
ends() {
    if [ "$status" -eq "$1" ]; then pass "$2"; else fail "$2" "expected status $1" &&
        diag_run bench; fi
}
