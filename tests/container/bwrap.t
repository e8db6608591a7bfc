#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Ranks in containers of bubblewrap: what they find, the library and both MPIs among them, how they
# end, and what is said of an image that does not fit.
TEST_TIER=full
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../fault/fault.sh"
. "${0%/*}/../mpi/judge.sh"
. "${0%/*}/image.sh"
. "${0%/*}/cases.sh"
needs bwrap
bwrap --ro-bind / / true 2> "$T/why" || skip_all "bwrap cannot make a container here: $(cat "$T/why")"
CONTAINER="bwrap --ro-bind $IMAGE /"
for mounted in "${MOUNTED[@]}"; do CONTAINER+=" --bind $mounted $mounted"; done
KILLED="exited with status 137" # by bwrap, which waits for it
cd "$T" || exit 1

check_start
check_programs
check_deaths
check_faults
if [ "$SANITIZE" = no ]; then
    check_output $'a terminal\r' \
        "--pty gives the rank a terminal" "$SOURCE/tests/cli/on_terminal.py" "" "${JOB[@]}" \
        --container "$CONTAINER" -n 1 --pty --output raw -- \
        sh -c 'test -t 0 && test -t 1 && echo a terminal'
fi

# An image that lacks a place for what is mounted, which bwrap itself would not name.
must rm -r "$IMAGE/tmp"
job_says 125 "rank 0 on host localhost could not be started: the image $IMAGE has no directory /tmp, which bwrap mounts" \
    "an image without /tmp is named" --container "$CONTAINER" -n 1 -- true
must mkdir "$IMAGE/tmp" "$T/elsewhere"
cd /
mkdir -p "$T/outside"
job_says 125 "the image $IMAGE has no directory .*, which bwrap mounts from the host: make it there, or choose another with --cwd" \
    "an image without the working directory is named" --container "bwrap --ro-bind $IMAGE /" -n 1 \
    --cwd "$SOURCE/doc" -- true
done_testing
