#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Limits of a rank, and of mlaunch itself: memory, processes, descriptors, the size of files, the
# stack, locked memory, processor time. Expected: the job ends well, or with a failure that a
# sentence explains; it never hangs, and nothing is left.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../cli/job.sh"
case $SANITIZE in
no) ;;
*) skip_all "the sanitizers take more than any of these limits" ;;
esac
HELLO=$BUILD/examples/hello

# ends NAME COMMAND…: the command ends within the time that a job may take, with 0, or with another
# status and a sentence; nothing is left.
# shellcheck disable=SC2154 # status: test.sh's
ends() {
    local name=$1
    run timeout -k 5 "$(longer 60)" "${@:2}"
    if [ "$status" = 124 ] || [ "$status" = 137 ]; then
        fail "$name" "it hangs"
        diag_run "${*:2}"
    elif [ "$status" != 0 ] && ! grep -q '[a-z]' "$ERR"; then
        fail "$name" "status $status without a word"
        diag_run "${*:2}"
    else
        left_nothing && pass "$name"
    fi
}

# The amounts are small, smaller, and next to nothing: each stops a job at another step.
limits=("v 60000" "v 20000" "n 12" "n 6" "f 1" "s 256" "l 0" "d 4000" "t 5")
is_long && limits+=("v 40000" "v 30000" "v 10000" "n 20" "n 16" "n 10" "n 8" "n 4" "f 100"
    "d 1000" "t 1" "i 1" "e 0" "r 0" "q 0")
for limit in "${limits[@]}"; do
    for net in "" "--backend tcp --local net"; do
        # shellcheck disable=SC2086 # words
        ends "a rank with ulimit -$limit ${net:+over TCP}" "${JOB[@]}" $net --grace 1 -n 1 -- "$HELLO" \
            : -n 2 -- sh -c "ulimit -$limit; exec \"\$0\"" "$HELLO"
    done
    ends "mlaunch with ulimit -$limit" sh -c "ulimit -$limit; exec \"\$@\"" sh "${JOB[@]}" --grace 1 \
        -n 2 -- "$HELLO"
done

# Root is not bound by a limit of processes.
if [ "$(id -u)" != 0 ] || command -v setpriv > /dev/null; then
    user=()
    [ "$(id -u)" != 0 ] || user=(setpriv --reuid 1 --regid 1 --clear-groups)
    for most in 0 1 4; do
        ends "a rank that may make $most processes" "${JOB[@]}" --grace 1 -n 1 -- "$HELLO" : -n 1 -- \
            "${user[@]}" sh -c "ulimit -u $most; exec \"\$0\"" "$HELLO"
    done
fi
done_testing
