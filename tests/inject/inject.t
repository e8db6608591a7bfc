#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Calls of the system that fail, one in each run of a job: memory, processes, descriptors, mappings,
# reading, writing, waiting; in mlaunch, the agent's guard and worker, and ranks (fail_calls.c).
# Expected of each run: it ends, crashes nowhere, leaves nothing, and has either status 0 and the
# right output, or another status and a sentence (walk.py). In check-long every call fails once;
# otherwise a sample of them.
TEST_LIMIT=300
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../lib/inside.sh"
# Job directories and segments of other jobs on this machine must not be taken for ours.
inside container
JOBS=/tmp/mlaunch-$(id -u)

FAIL_CALLS=$BUILD/tests/inject/.libs/fail_calls.so
export FAIL_CALLS JOBS
is_long || [ "$SANITIZE" = no ] || skip_all "with a sanitizer only in check-long"
case $SANITIZE in
*address*) export ASAN_OPTIONS=verify_asan_link_order=0 ;; # it comes second
*thread*) skip_all "the thread sanitizer must be loaded first" ;;
esac
if is_long; then STEPS=all; else STEPS=some; fi

# walk PART GROUP MODE STEPS [OPTION…]
walk() {
    local name="$1: $2, $3"
    case " $* " in *" --local net "*) name+=", over TCP" ;; esac
    check "$name" python3 "$SOURCE/tests/inject/walk.py" "${@:1:4}" \
        "$MLAUNCH" --grace 1 --init-timeout 5 "${@:5}" -n 2 -- "$BUILD/tests/inject/answers"
    diag "$(cat "$OUT")"
}

# A part has no line for a group of which it makes no call.
for group in malloc fork open read write poll; do walk mlaunch "$group" fail $STEPS; done
for group in fork open read poll; do walk guard "$group" fail $STEPS; done
for group in malloc open write; do walk worker "$group" fail $STEPS; done
walk worker read fail all # the reads of output are few among the others
for group in malloc fork open mmap read write poll; do
    walk rank1 "$group" fail $STEPS
    walk rank1 "$group" fail $STEPS --local net
    is_long && walk rank0 "$group" fail all
done
# A signal is no failure.
for part in mlaunch guard worker rank1; do walk $part poll eintr $STEPS; done
for part in worker rank1; do walk $part read eintr $STEPS; done
# From one call on there is nothing more. The address sanitizer's own threads need memory, too.
for part in mlaunch worker rank1; do
    [ "$SANITIZE" != no ] || walk $part malloc after $STEPS
    walk $part open after $STEPS
done
for part in mlaunch worker rank1; do
    walk $part read short 7,1000
    walk $part write short 1,7,1000
done
done_testing
