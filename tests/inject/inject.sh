# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# inject.sh: calls of the system that fail, one in each run of a job, in one part of it (memory,
# processes, descriptors, mappings, reading, writing, waiting; fail_calls.c). For a *.t:
#
#     . "${0%/*}/../lib/test.sh"
#     . "${0%/*}/inject.sh"
#     walk mlaunch malloc fail $STEPS
#
# Expected of each run: it ends, crashes nowhere, leaves nothing, and has either status 0 and the
# right output, or another status and a sentence (walk.py). In check-long every call fails once, in
# one of N parts of it every Nth; otherwise a sample of them. A part of a job has no line for a
# group of which it makes no call.
. "${0%/*}/../lib/inside.sh"
# Job directories and segments of other jobs on this machine must not be taken for ours.
inside container
JOBS=/tmp/mlaunch-$(id -u)

FAIL_CALLS=$BUILD/tests/inject/fail_calls.so
export FAIL_CALLS JOBS
is_long || [ "$SANITIZE" = no ] || skip_all "with a sanitizer only in check-long"
case $SANITIZE in
*address*) export ASAN_OPTIONS=verify_asan_link_order=0 ;; # it comes second
*thread*) skip_all "the thread sanitizer must be loaded first" ;;
esac
if is_long; then STEPS=all; else STEPS=some; fi

# walk PART GROUP MODE STEPS [OPTION…]
walk() {
    local name="calls of $2 that go wrong in $1 harm nothing: $3"
    case " $* " in *" --local net "*) name+=", over TCP" ;; esac
    check "$name" python3 "$SOURCE/tests/inject/walk.py" "${@:1:4}" \
        "$MLAUNCH" --grace 1 --init-timeout 5 "${@:5}" -n 2 -- "$BUILD/tests/inject/answers"
    diag "$(cat "$OUT")"
}

# walk_ends PART: from one call on there is nothing more. The address sanitizer's own threads also
# need memory.
walk_ends() {
    [ "$SANITIZE" != no ] || walk "$1" malloc after $STEPS
    walk "$1" open after $STEPS
}
walk_short() {
    walk "$1" read short 7,1000
    walk "$1" write short 1,7,1000
}
