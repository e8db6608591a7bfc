#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# mlaunch under a real Slurm: three nodes, a login host that is none of them, and no SSH between
# them. Job scripts and salloc, where ranks run, what they find.
TEST_TIER=full
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../lib/hosts.sh"
. "${0%/*}/../lib/slurm.sh"
slurm_up 3
cd "$T" || exit 1
kmeans="$BUILD/examples/kmeans $SOURCE/examples/iris.csv"

# A job script that mlaunch batch wrote: 3 nodes with 2 ranks each, which sum over all of them.
# shellcheck disable=SC2086
one=$($kmeans | grep checksum)
# shellcheck disable=SC2086
check "mlaunch batch writes a script" on_login "$MLAUNCH" batch slurm --nodes 3 \
    --ntasks-per-node 2 --time 5 \
    --output "$T/sum.out" -o "$T/sum.sh" -- $kmeans
check "sbatch takes it" on_login sbatch --wait --parsable "$T/sum.sh"
job=$(cat "$OUT")
check_match "$one" "$T/sum.out" "six ranks find what one finds"
out=$T/sum.out
ends COMPLETED 0:0 "scontrol says that it completed"
batch --nodes 3 --ntasks-per-node 2 run --output raw -- sh -c \
    'echo $SLURMD_NODENAME $MLAUNCH_RANK $MLAUNCH_SIZE'
ends COMPLETED 0:0 "--submit prints the job's number"
sort -k 2 "$out" > "$T/lines"
check_output "$(printf '%s\n' "$N1 0 6" "$N1 1 6" "$N2 2 6" "$N2 3 6" "$N3 4 6" "$N3 5 6")" \
    "ranks are where Slurm gave slots, each a part of a step" cat "$T/lines"
check_error 125 'srun: error: .*' \
    "mlaunch fails if srun starts three of it" on_login srun -N 3 "$MLAUNCH" \
    --output raw -- hostname
check_match 'mlaunch is started once, not by srun, which starts 3 of it: write mlaunch -n 3' "$ERR" \
    "mlaunch says that srun starts three of it"
check_no_match . "$OUT" "no rank starts where srun starts three of mlaunch"
check_output x "mlaunch may be the only task of a step" on_login srun -N 1 "$MLAUNCH" -n 1 -- echo x
# salloc on the login host, which is none of the nodes.
check "mlaunch starts under salloc" on_login salloc -Q -N 3 --ntasks-per-node=1 "$MLAUNCH" \
    --output raw -- sh -c 'hostname'
sort "$OUT" > "$T/lines"
check_output "$(printf '%s\n' "$N1" "$N2" "$N3")" \
    "a rank runs on each node of salloc" cat "$T/lines"
check_status 5 "the rank's status is salloc's" on_login salloc -Q -N 2 "$MLAUNCH" -n 2 --ppn 1 \
    -- sh -c 'exit $((MLAUNCH_RANK * 5))'
check_error 125 \
    "3 ranks are asked for, but the hosts \(Slurm job [0-9]+\) have 2 slots; --oversubscribe" \
    "more ranks than slots are refused" on_login salloc -Q -N 2 -n 2 "$MLAUNCH" -n 3 -- true
check "--oversubscribe allows more ranks than slots" on_login salloc -Q -N 2 -n 2 "$MLAUNCH" \
    --oversubscribe -n 3 -- true
check_error 125 "^mlaunch: error: host $N3: .*srun ended with status|^mlaunch: host $N3: srun ended with status 1 and started no agent" \
    "srun's own words about a host outside are shown" on_login salloc -Q -w "$N1" "$MLAUNCH" \
    --agent-launcher srun -H "$N3" -- true
check_error 0 "--hosts: host $N2 is outside the allocation \(Slurm job [0-9]+\); using it anyway" \
    "a host outside is a warning" \
    on_login salloc -Q -w "$N1" "$MLAUNCH" --dry-run -H "$N2" -- true
check_error 125 "Invalid job id|has expired|Unable to confirm allocation" \
    "an allocation that is gone is an error" on_login \
    env SLURM_JOB_ID=99999 SLURM_JOB_NODELIST="$N1" SLURM_TASKS_PER_NODE=1 "$MLAUNCH" -- true
# A heterogeneous job: srun starts agents in one component of it at a time.
check "mlaunch starts in a heterogeneous job" on_login salloc -Q -n 1 : -N 2 -n 4 "$MLAUNCH" \
    --output raw -- sh -c 'echo $MLAUNCH_RANK/$MLAUNCH_SIZE $(hostname)'
sort "$OUT" > "$T/lines"
check_output "$(printf '%s\n' "0/5 $N1" "1/5 $N2" "2/5 $N2" "3/5 $N2" "4/5 $N3")" \
    "each component of a heterogeneous job has its ranks" cat "$T/lines"
printf '%s\n' '#!/bin/bash' '#SBATCH -n 1' '#SBATCH hetjob' '#SBATCH -N 2 -n 2' \
    "exec '$MLAUNCH' --output raw -- hostname" > "$T/het.sh"
check "sbatch takes a heterogeneous job" on_login sbatch --wait -o "$T/het.out" "$T/het.sh"
check_output "$(printf '%s\n' "$N1" "$N2" "$N3")" \
    "a script of a heterogeneous job has the hosts of all components" sort "$T/het.out"
head -c 300000 /dev/urandom > "$T/in"
check "stdin and stdout pass unchanged" on_login sh -c \
    'salloc -Q -N 1 "$2" --output raw -n 1 -- cat < "$1/in" > "$1/out" && cmp "$1/in" "$1/out"' sh \
    "$T" "$MLAUNCH"

# Environment: as without Slurm. The first node's ranks are beside mlaunch, the others are not.
export PLAIN=plain NAMED='n a"m$ed'
batch --nodes 2 -x NAMED -x GIVEN=1 run --output raw -n 2 -- sh -c \
    'echo "$MLAUNCH_RANK|$PLAIN|$NAMED|$GIVEN|$SLURM_JOB_ID|$SLURM_PROCID|$(pwd)"'
ends COMPLETED 0:0 "a job with variables ends well"
sort "$out" > "$T/lines"
check_output "0|plain|n a\"m\$ed|1|$job||$T
1||n a\"m\$ed|1|$job||$T" "variables and the submission's directory get to the ranks" cat \
    "$T/lines"
done_testing
