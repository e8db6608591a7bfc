#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Programs of --container that are not on this machine, by a stand-in that takes their words; and
# which values of --container are refused.
# shellcheck disable=SC2016 # words for the ranks' shell
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../cli/job.sh"
export STAND_IN=$T/words
mkdir "$T/bin"
for name in docker apptainer podman; do ln -s "$SOURCE/tests/container/stand_in.sh" "$T/bin/$name"; done
PATH=$T/bin:$PATH
cd "$T" || exit 1

job_prints "[0] 0 $T
[1] 1 $T" "ranks start in containers of apptainer" -n 2 --container 'apptainer exec --nv image' -- \
    sh -c 'echo $MLAUNCH_RANK $PWD'
check_match '^--nv$' "$STAND_IN" "apptainer gets the user's words"
: > "$STAND_IN"
job_prints "2" "a rank starts in a container of docker" -n 1 \
    --container 'docker run -v "/a b:/a b" image' -- sh -c 'echo $#' sh 1 '2 '
check_match '^/a b:/a b$' "$STAND_IN" "docker gets the user's words, without a shell"
check_match '^--ipc=host$' "$STAND_IN" "docker gets mlaunch's words"
check_match "^--user=$(id -u):$(id -g)\$" "$STAND_IN" "docker gets the user's number"
check_no_match '^rm$' "$STAND_IN" "a container that has ended in order is not removed"
check_no_match "MLAUNCH|secret" "$STAND_IN" "variables are not among docker's words"

# What another process has started is removed by its name.
: > "$STAND_IN"
job_says 137 "rank 1 on host localhost .*was killed by signal 9" \
    "a rank in a container of docker is killed" -n 2 \
    --container 'docker run image' -- sh -c '[ $MLAUNCH_RANK = 0 ] || kill -9 $$; sleep 100'
check_output "2" "containers that a killed job may leave are removed" sh -c \
    'sed -n "/^rm$/,\$p" "$1" | grep -c "^mlaunch-[^ ]*-[01]$"' sh "$STAND_IN"

job_says 127 "rank 0 on host localhost could not be started: /no/bwrap: No such file" \
    "a program of --container that is not there is named" --container '/no/bwrap --ro-bind / /' -n \
    1 -- true
for refused in "unshare -r sh|unshare is none of the programs whose options mlaunch knows" \
    "docker exec image|docker lacks the word run: 'docker run IMAGE'" \
    "bwrap --unshare-all --ro-bind / /|--unshare-all of bwrap does not fit" \
    "podman run 'image|ends inside quotes"; do
    check_error 125 "^mlaunch: error: --container: .*${refused#*|}" \
        "--container '${refused%|*}' is refused" "$MLAUNCH" --container "${refused%|*}" -- true
done
check_error 125 "--mount and --container do not go together" "--mount with --container is refused" \
    "$MLAUNCH" --container 'docker run image' --mount /a:/b -- true
check_error 125 "--stage-env and --container do not go together" \
    "--stage-env with --container is refused" \
    "$MLAUNCH" --container 'docker run image' --stage-env "$T" -- true
check_error 125 "--pty: a container of docker cannot take the rank's terminal" \
    "--pty with a container of docker is refused" \
    "$MLAUNCH" --container 'docker run image' --pty -- true
check_error 125 "container" \
    "exec refuses the option --container" "$MLAUNCH" exec --container 'docker run image' -- true
run "$MLAUNCH" --dry-run --container 'docker run image' -- true
check_match '^container: docker run image$' "$OUT" "--dry-run shows the container"
done_testing
