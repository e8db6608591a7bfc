#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Several jobs of one user's on one node of a real Slurm: the end of one doesn't touch another, and
# what a dead one leaves is removed.
# shellcheck disable=SC2154 # mark, job and out are set in slurm.sh
TEST_TIER=full
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../lib/hosts.sh"
. "${0%/*}/../lib/slurm.sh"
slurm_up 3
cd "$T" || exit 1

# Two jobs of an array on one node: the end of one doesn't touch the other.
fresh_mark
batch --nodes 1 --ntasks 1 --extra --array=1-2 --extra "--nodelist=$N3" --extra \
    "--output=$T/array.%a" -x "$mark" -x SLURM_ARRAY_TASK_ID run --output raw -- \
    sh -c 'echo $MLAUNCH_JOB_DIR; while [ ! -e '"$T"'/end.$SLURM_ARRAY_TASK_ID ]; do sleep 0.1; done; exit $((SLURM_ARRAY_TASK_ID - 1))'
wait_for '[ -s "$T/array.1" ] && [ -s "$T/array.2" ]' ||
    fail "both jobs of the array start" "$(cat "$T"/array.*)"
array=$job

# A third job of the user's cleans up on that node: what is left of a dead one, whose agent's two
# processes were killed at one stroke, and nothing else.
on_login salloc -Q -n 1 -w "$N3" "$MLAUNCH" --output raw -- sh -c \
    'echo $MLAUNCH_JOB_DIR; setsid sleep 1008 & exec sleep 1009' > "$T/dead.out" 2>&1 &
pid=$!
rank_pid() { netns exec "$N3" pgrep -f '^sleep 1009'; }
wait_for 'rank_pid > /dev/null && [ -s "$T/dead.out" ]'
dead=$(cat "$T/dead.out")
parent() { netns exec "$N3" ps -o ppid= -p "$1" | tr -d ' '; }
worker=$(parent "$(rank_pid)")
netns exec "$N3" sh -c 'kill -STOP "$@" && kill -KILL "$@"' sh "$worker" "$(parent "$worker")"
check_status 125 "an agent dies at one stroke: the job fails" wait "$pid"
check "the dead job's directory is left" test -d "$dead"
clean() { on_login salloc -Q -n 1 -w "$N3" "$MLAUNCH" clean; }
check "another job of the user's cleans up" clean
check_match "directory $dead has been removed" "$OUT" "the dead job's directory is removed"
check_output "" \
    "the dead job's processes are gone" netns exec "$N3" sh -c 'pgrep -fa "^sleep 100[89]" || :'
check_output "nothing is left of dead jobs" "a second clean finds nothing" clean
check_output "2" "the array's two jobs live on" sh -c 'cat "$@" | xargs ls -d | wc -l' sh \
    "$T/array.1" "$T/array.2"

touch "$T/end.2"
job=${array}_2
ends FAILED 1:0 "one of an array fails"
check "the other job of the array keeps its directory" test -d "$(cat "$T/array.1")"
touch "$T/end.1"
job=${array}_1
ends COMPLETED 0:0 "the other job of the array comes to its own end"
nothing_left "an array"
done_testing
