#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# --fanout under a real Slurm: one step starts the agents of all nodes, which call mlaunch and each
# other, and no SSH is between them. Then a rank that fails, Ctrl-C, scancel, and a node whose
# agent dies. Expected: status and sentence as without --fanout, and nothing is left.
# shellcheck disable=SC2154 # variables of hosts.sh and slurm.sh
TEST_TIER=full
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../lib/hosts.sh"
. "${0%/*}/../lib/slurm.sh"
slurm_up 4
cd "$T" || exit 1

# tree ARGUMENT…: from the login host, which is none of the nodes.
tree() { on_login salloc -Q -N 4 --ntasks-per-node=1 "$MLAUNCH" --fanout 2 --output raw "$@"; }

check "ranks start on four nodes" tree -v -- sh -c 'echo $(hostname) $MLAUNCH_RANK'
sort -k 2 "$OUT" > "$T/lines"
check_output "$(printf '%s\n' "$N1 0" "$N2 1" "$N3 2" "$N4 3")" \
    "each node has one rank" cat "$T/lines"
check "collective calls work over four nodes" tree -- "$BUILD/tests/runtime/collectives" --program \
    --diagonal
check "a job starts for a look at its agents" tree -vv -- true
check_match 'runs .*/srun .*--nodes=4 .*--nodelist=.* --join' "$ERR" \
    "one step has the agents of all nodes"
check_status 5 "a rank's status is the job's" tree -- sh -c 'exit $((MLAUNCH_RANK == 3 ? 5 : 0))'
check_match "rank 3 on host $N4 .*status 5" "$ERR" "a failed rank is named with its host"
head -c 300000 /dev/urandom > "$T/in"
check "stdin and stdout pass unchanged" on_login sh -c \
    'salloc -Q -N 4 --ntasks-per-node=1 "$2" --fanout 2 --stdin 3 --output "$1/rank.%r" -- cat < "$1/in"' sh \
    "$T" "$MLAUNCH"
check "the last rank of the tree gets all of stdin" cmp "$T/in" "$T/rank.3"

check "a tree of agents starts in a heterogeneous job" on_login salloc -Q -n 1 : -N 3 -n 3 "$MLAUNCH" \
    --fanout 2 --output raw -- hostname
sort "$OUT" > "$T/lines"
check_output "$(printf '%s\n' "$N1" "$N2" "$N3" "$N4")" \
    "each component of a heterogeneous job is in the tree" cat "$T/lines"

# On the first node itself, as in a job script: that agent gets the environment of mlaunch.
export PLAIN=plain
batch --nodes 4 run --fanout 2 --output raw -n 4 -- sh -c 'echo "$MLAUNCH_RANK|$PLAIN"'
ends COMPLETED 0:0 "a job script ends well"
sort "$out" > "$T/lines"
check_output "0|plain
1|
2|
3|" "the environment is what it is without --fanout" cat "$T/lines"

fresh_mark
batch --nodes 4 run --fanout 2 -n 4 -- env "$mark" sleep 600
wait_for "running 'sleep 600' 4"
must on_login scancel "$job"
wait_for ended
nothing_left "scancel leaves nothing"
done_testing
