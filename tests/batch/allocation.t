#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The environments that batch systems give their jobs, in data/*.env. The first line of each says
# what mlaunch makes of it, or how it refuses. @DIR@ is the folder of the node files.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
here=$SOURCE/tests/batch/data

# planned ENV: hosts and slots of the plan in this environment, in one line; or what is refused.
planned() {
    local -a set
    mapfile -t set < <(grep -v '^#' "$1" | sed "s|@DIR@|$here|")
    if env "${set[@]}" "$MLAUNCH" --dry-run --agent-launcher ssh -- true > "$T/plan" \
        2> "$T/errors"; then
        sed -n 's/^host [0-9]*: \([^ ]*\) (.*, \([0-9]*\) slots*).*/\1:\2/p' "$T/plan" |
            paste -sd' ' -
    else
        echo "$? $(sed "s|$here|@DIR@|" "$T/errors")"
    fi
}

for file in "$here"/*.env; do
    check_output "$(sed -n '1s/^# //p' "$file")" \
        "the environment $(basename "$file" .env) gives its hosts" planned "$file"
done

# alone NAME=VALUE WORDS: a job whose hosts cannot be read runs here, with these words of warning.
alone() {
    check_error 0 "^mlaunch: warning: $2" "$1 alone is warned of" env "$1" "$MLAUNCH" --dry-run -- true
    check_match '^host 0: localhost ' "$OUT" "$1 alone leaves this machine"
    check "$1 with named hosts runs there" env "$1" "$MLAUNCH" --dry-run -H localhost -- true
    check_output "" "$1 with named hosts needs no warning" cat "$ERR"
}
alone SLURM_JOB_ID=7 'this is Slurm job 7, but SLURM_JOB_NODELIST, which has its hosts, is not set; using this machine alone'
alone PBS_JOBID=12.server 'this is PBS job 12.server, but PBS_NODEFILE, '
alone LSB_JOBID=77 'this is LSF job 77, but LSB_MCPU_HOSTS, '
alone FLUX_URI=local:///run/flux/local 'FLUX_URI, which is set here, belongs to Flux, .*-H "\$\(flux hostlist\)"'
alone HYDRA_HOST_FILE=/etc/mpi/hostfile 'HYDRA_HOST_FILE, .* give that file to --hostfile'
alone OMPI_MCA_orte_default_hostfile=/etc/mpi/hostfile 'OMPI_MCA_orte_default_hostfile, .*--hostfile'
check "a serial job of SGE runs here" env JOB_ID=9 "$MLAUNCH" --dry-run -- true
check_output "" "a serial job of SGE has no list of hosts, and needs no warning" cat "$ERR"
check "an allocation whose host is this machine is read" env SLURM_JOB_ID=7 \
    SLURM_JOB_NODELIST="$(hostname)" FLUX_URI=local:///x "$MLAUNCH" --dry-run -- true
check_no_match 'using this machine alone' "$ERR" "an allocation that is read needs no warning"

# An explicit list wins; a host outside the allocation is used, with a warning.
export SLURM_JOB_NODELIST='n[1-2]' SLURM_TASKS_PER_NODE='2(x2)' SLURM_JOB_ID=7
check_error 0 '^mlaunch: warning: --hosts: host x is outside the allocation \(Slurm job 7\); using it anyway' \
    "a host outside the allocation is warned of" "$MLAUNCH" --dry-run -H n1,x -- true
check_match '^host 1: x ' "$OUT" "a host outside the allocation is used"
check_no_match 'n2' "$OUT" "hosts that are not named are not used"
echo y slots=2 > "$T/hostfile"
check_error 0 '^mlaunch: warning: .*hostfile: host y is outside the allocation \(Slurm job 7\); using it anyway' \
    "a hostfile's host outside the allocation is warned of" "$MLAUNCH" --dry-run \
    --hostfile "$T/hostfile" -- true
check_match '^host 0: y ' "$OUT" "a hostfile's host outside the allocation is used"
check "hosts inside the allocation can be named" "$MLAUNCH" --dry-run -H n2 -- true
check_output "" "hosts inside the allocation need no warning" cat "$ERR"
check_error 0 "srun in PATH|^$" "without srun there is SSH, and a warning" env PATH=/nonexistent \
    "$MLAUNCH" --dry-run -- true
check_match '^host 0: n1 \(SSH, 2 slots\)' "$OUT" "the plan says that SSH starts the agents"
check_error 125 'SLURM_JOB_NODELIST: cannot parse .n\[1-.' \
    "a list of hosts that makes no sense is refused" env \
    SLURM_JOB_NODELIST='n[1-' "$MLAUNCH" -- true
check_error 0 'SLURM_JOB_NODELIST: cannot parse .n\[1-.; using the hosts of --hosts' \
    "a list that makes no sense does not stop named hosts" \
    env SLURM_JOB_NODELIST='n[1-' "$MLAUNCH" --dry-run -H a -- true
done_testing
