# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# collectives.sh: jobs of the program collectives.c, for a *.t, behind test.sh.
# shellcheck disable=SC2034 # for the files that source this one
PROGRAM=$BUILD/tests/runtime/collectives
long=()
cases=40
ranks="1 2 3 4"
secure_ranks="2 3"
if [ "$SANITIZE" != no ]; then
    cases=15
    ranks=3
    secure_ranks=2
fi
if is_long; then
    long=(--long)
    cases=2000
    ranks="1 2 3 4 7"
    secure_ranks="2 3"
fi
shm=(--oversubscribe --output raw --backend shm --)
tcp=(--oversubscribe --output raw --backend tcp --local net --)
secure=(--oversubscribe --output raw --backend tcp --local net --secure --)

# calls NAME MLAUNCH-OPTION… -- ARGUMENT…: no failure on any rank. In a part of a long form some of
# them are passed over.
calls_made=0
calls() {
    local name=$1
    in_part $((calls_made++)) || return 0
    shift
    run "$MLAUNCH" "${@/#--program/$PROGRAM}"
    # shellcheck disable=SC2154
    if [ "$status" -eq 0 ] && grep -q ', 0 failures$' "$OUT"; then
        pass "$name ($(sed 's/.*: //' "$OUT"))"
    else
        fail "$name"
        diag_run "$MLAUNCH" "$@"
    fi
}

# seeds: a new one, and in the long form and without a sanitizer also one that is always the same.
seeds() {
    echo $((RANDOM * 32768 + RANDOM))
    [ "$SANITIZE" != no ] && ! is_long || echo 1
}

# beyond_4g NAME MLAUNCH-OPTION…: in the long form, vectors of more than 4 GiB.
beyond_4g() {
    is_long || return 0
    if [ "$(awk '/^MemAvailable/ { print int($2 / 1048576) }' /proc/meminfo)" -ge 14 ] &&
        [ "$SANITIZE" = no ]; then
        calls "$1" -n 2 --output raw "${@:2}" -- --program --huge
    else
        skip "$1" "needs 14 GiB of memory, and no sanitizer"
    fi
}
