#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The options that bind ranks, as the kernel shows it: cores, lists, the report.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
grep -q '^#define HAVE_HWLOC 1' "$BUILD/config.h" || skip_all "built without hwloc"

own=$(sed -n 's/^Cpus_allowed_list:\t//p' /proc/self/status)
mapfile -t cpus < <(tr , '\n' <<< "$own" | while IFS=- read -r a b; do seq "$a" "${b:-$a}"; done)
first=${cpus[0]} last=${cpus[-1]}
list() { "$MLAUNCH" --output raw "$@" -- sed -n 's/^Cpus_allowed_list:\t//p' /proc/self/status; }

check_output "$first" "--bind-to cpus binds a rank to one CPU" list --bind-to "cpus:$first"
check_output $'0 '"$last"$'\n1 '"$first" "--bind-to cpus gives each rank a CPU of the list" \
    sh -c '"$@" | sort' sh "$MLAUNCH" -n 2 --bind-to "cpus:$last,$first" --output raw -- sh -c \
    'echo "$MLAUNCH_RANK $(sed -n "s/^Cpus_allowed_list:\t//p" /proc/self/status)"'
check_status 125 "a CPU that is not there is refused" "$MLAUNCH" --bind-to cpus:1023 -- true
check_match 'this job may not use CPU 1023' "$ERR" "the CPU that is not there is named"
check_status 125 "more cores than the machine has are refused" \
    "$MLAUNCH" --cpus-per-rank 1024 -- true
check_match 'a rank is to get 1024 cores, but there (is|are) [0-9]+ that' "$ERR" \
    "a refusal names the cores that are asked for and those that are there"
check_output "$own" "--map-by socket binds to sockets, here to all of one" sh -c \
    '"$@" | head -n 1' sh "$MLAUNCH" --map-by socket --cpus-per-rank "${#cpus[@]}" --output raw -- \
    sed -n 's/^Cpus_allowed_list:\t//p' /proc/self/status

# The report, of programs that end at once too.
check "ranks run with --report-bindings" \
    "$MLAUNCH" -n 2 --bind-to "cpus:$first,$last" --report-bindings -- true
check_match "^mlaunch: rank 0 on host localhost: (core|hardware thread) $first\b.*, memory node" \
    "$ERR" "the report has a line for rank 0"
check_match "^mlaunch: rank 1 on host localhost: (core|hardware thread) $last\b" "$ERR" \
    "the report has a line for rank 1"
check "a rank without binding runs with --report-bindings" "$MLAUNCH" --report-bindings -- true
check_match '^mlaunch: rank 0 on host localhost: .*, not bound' "$ERR" \
    "the report says that a rank is not bound"
# On a machine that is described to hwloc there are CPUs which this one lacks.
check "a rank runs that the kernel binds otherwise" env HWLOC_SYNTHETIC='core:512 pu:1' "$MLAUNCH" \
    --cpus-per-rank 512 --report-bindings -- true
check_match '; differs: CPUs 0-511 were asked for$' "$ERR" \
    "the report names the CPUs that were asked for"
check "a rank runs with --report-bindings and --events" \
    "$MLAUNCH" --report-bindings --events "$T/events" -- true
check_match '"event": *"started".*"binding": *"(core|hardware)' "$T/events" \
    "the started event has the binding"

# Memory, and threads.
check "a rank runs with --mem-bind local" "$MLAUNCH" --mem-bind local --report-bindings -- true
check_match ', not bound, memory nodes? [0-9,-]+ only$' "$ERR" \
    "the report has the kernel's memory nodes for --mem-bind local"
check "a rank runs with --mem-bind nodes" \
    "$MLAUNCH" --mem-bind nodes:0 --report-bindings -- sh -c 'exit 0'
check_match ', memory node 0 only$' "$ERR" "--mem-bind nodes takes a list"
check_status 125 "a memory node that is not there is refused" \
    "$MLAUNCH" --mem-bind nodes:1000 -- true
check_match 'cannot bind its memory to node 1000: Invalid argument' "$ERR" \
    "the memory node that is not there is named"
check_output 3 "--threads sets OMP_NUM_THREADS" \
    env -u OMP_NUM_THREADS "$MLAUNCH" --threads 3 --output raw -- printenv OMP_NUM_THREADS
check_output $'8\n8' "--threads auto shares the cores of a described machine" \
    env -u MKL_NUM_THREADS HWLOC_SYNTHETIC='core:16 pu:2' \
    "$MLAUNCH" -n 2 --threads auto --output raw -- printenv MKL_NUM_THREADS
check_output 5 "the user's OMP_NUM_THREADS wins over --threads" \
    "$MLAUNCH" --threads 3 -x OMP_NUM_THREADS=5 --output raw -- printenv OMP_NUM_THREADS

# GPUs, of a machine that is described to hwloc; what is beside them is in the unit tests.
check_output $'0:0,1\n1:2,3' "--gpus-per-rank gives each rank its own GPUs" \
    env -u CUDA_VISIBLE_DEVICES \
    HWLOC_XMLFILE="$SOURCE/tests/unit/launcher/agent/binding/ompi14169.xml" sh -c '"$@" | sort' sh \
    "$MLAUNCH" -n 2 --gpus-per-rank 2 --report-bindings --output raw -- sh -c \
    'echo "$MLAUNCH_RANK:$CUDA_VISIBLE_DEVICES"'
check_match '^mlaunch: rank 1 on host localhost: .*, GPU 2 .0000:aa:00.0., GPU 3 .0000:bb:00.0.$' \
    "$ERR" "the report has the GPUs"
DGX="$SOURCE/tests/unit/launcher/agent/binding/dgx.xml"
check_output $'0:mlx5_0,mlx5_1\n1:mlx5_2,mlx5_3' "ranks know the RDMA devices beside their GPUs" \
    env -u CUDA_VISIBLE_DEVICES HWLOC_XMLFILE="$DGX" sh -c '"$@" | sort' sh "$MLAUNCH" -v -n 2 \
    --gpus-per-rank 2 --output raw -- sh -c 'echo "$MLAUNCH_RANK:$MLAUNCH_NEAR_DEVICES"'
check_match '^mlaunch: rank 1 on host localhost: .*, GPU 3 .0000:41:00.0, near port mlx5_3.$' \
    "$ERR" "-v names the RDMA devices beside the GPUs"
check_output 7 "the user's CUDA_VISIBLE_DEVICES wins over --gpus-per-rank" env \
    HWLOC_XMLFILE="$SOURCE/tests/unit/launcher/agent/binding/ompi14169.xml" "$MLAUNCH" \
    --gpus-per-rank 1 -x CUDA_VISIBLE_DEVICES=7 --output raw -- printenv CUDA_VISIBLE_DEVICES
check_status 125 "more GPUs than the machine has are refused" env \
    HWLOC_XMLFILE="$SOURCE/tests/unit/launcher/agent/binding/ompi14169.xml" "$MLAUNCH" -n 5 \
    --gpus-per-rank 1 -- true
check_match 'gpus-per-rank 1: 5 ranks there need 5, but there are 4 that this job may use' "$ERR" \
    "a refusal names the GPUs that are needed and those that are there"
check_status 125 "--bind-to gpu is refused without a GPU" \
    env HWLOC_SYNTHETIC=core:2 "$MLAUNCH" --bind-to gpu -- true
check_match 'hwloc finds no GPU that this job may use' "$ERR" \
    "the refusal of --bind-to gpu says that there is no GPU"

# A job that does not bind ranks does not pay for hwloc: it does not see that the machine which is
# described to hwloc is none.
: > "$T/none.xml"
check_status 125 "--bind-to core fails on a machine that hwloc can't read" \
    env HWLOC_XMLFILE="$T/none.xml" "$MLAUNCH" --bind-to core -- true
check_match 'hwloc finds no processors that this job may use' "$ERR" \
    "hwloc's failure is told to who asks to bind"
check "hwloc is not asked without need" env HWLOC_XMLFILE="$T/none.xml" "$MLAUNCH" -- true

check "the plan is made with options of binding" \
    "$MLAUNCH" -n 4 --map-by ppr:2:numa:PE=3 --mem-bind nodes:0,1 --threads auto --dry-run -- true
check_match '^binding: core, 3 a rank, ranks dealt out by numa, 2 on each; memory: nodes 0,1; threads: auto$' \
    "$OUT" "the plan says how ranks are bound"
check_status 125 "--cpus-per-rank is refused with whole nodes" \
    "$MLAUNCH" --cpus-per-rank 2 --bind-to numa -- true
check_match 'both say how much a rank gets' "$ERR" \
    "the refusal says that both say how much a rank gets"
check_status 125 "--map-by is refused with a list of CPUs" \
    "$MLAUNCH" --map-by numa --bind-to cpus:0 -- true
check_match 'both say where each rank runs' "$ERR" \
    "the refusal says that both say where each rank runs"
check_status 125 "--cpus-per-rank is refused with --bind-to none" \
    "$MLAUNCH" --bind-to none --cpus-per-rank 1 -- true
check_match 'leave one of them out' "$ERR" "the refusal says to leave one of them out"
done_testing
