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

check_output "$first" "--bind-to cpus: one rank, one CPU" list --bind-to "cpus:$first"
check_output $'0 '"$last"$'\n1 '"$first" "… each rank has its own list" sh -c '"$@" | sort' sh \
    "$MLAUNCH" -n 2 --bind-to "cpus:$last,$first" --output raw -- sh -c \
    'echo "$MLAUNCH_RANK $(sed -n "s/^Cpus_allowed_list:\t//p" /proc/self/status)"'
check_status 125 "a CPU that is not there" "$MLAUNCH" --bind-to cpus:1023 -- true
check_match 'this job may not use CPU 1023' "$ERR" "is named"
check_status 125 "more cores than there are" "$MLAUNCH" --cpus-per-rank 1024 -- true
check_match 'a rank is to get 1024 cores, but there (is|are) [0-9]+ that' "$ERR" \
    "are refused with both numbers"
check_output "$own" "--map-by socket binds to sockets, here to all of one" sh -c \
    '"$@" | head -n 1' sh "$MLAUNCH" --map-by socket --cpus-per-rank "${#cpus[@]}" --output raw -- \
    sed -n 's/^Cpus_allowed_list:\t//p' /proc/self/status

# The report, of programs that end at once too.
check "--report-bindings" "$MLAUNCH" -n 2 --bind-to "cpus:$first,$last" --report-bindings -- true
check_match "^mlaunch: rank 0 on host localhost: (core|hardware thread) $first\b.*, memory node" \
    "$ERR" "has a line for rank 0"
check_match "^mlaunch: rank 1 on host localhost: (core|hardware thread) $last\b" "$ERR" \
    "and for rank 1"
check "… without binding" "$MLAUNCH" --report-bindings -- true
check_match '^mlaunch: rank 0 on host localhost: .*, not bound' "$ERR" "says so"
# On a machine that is described to hwloc there are CPUs which this one lacks.
check "… of what the kernel did otherwise" env HWLOC_SYNTHETIC='core:512 pu:1' "$MLAUNCH" \
    --cpus-per-rank 512 --report-bindings -- true
check_match '; differs: CPUs 0-511 were asked for$' "$ERR" "names what was asked for"
check "the events" "$MLAUNCH" --report-bindings --events "$T/events" -- true
check_match '"event": *"started".*"binding": *"(core|hardware)' "$T/events" "have it too"

# Memory, and threads.
check "--mem-bind local" "$MLAUNCH" --mem-bind local --report-bindings -- true
check_match ', not bound, memory nodes? [0-9,-]+ only$' "$ERR" "is the kernel's word"
check "--mem-bind nodes" "$MLAUNCH" --mem-bind nodes:0 --report-bindings -- sh -c 'exit 0'
check_match ', memory node 0 only$' "$ERR" "takes a list"
check_status 125 "a node that is not there" "$MLAUNCH" --mem-bind nodes:1000 -- true
check_match 'cannot bind its memory to node 1000: Invalid argument' "$ERR" "is named"
check_output 3 "--threads 3" env -u OMP_NUM_THREADS "$MLAUNCH" --threads 3 --output raw -- \
    printenv OMP_NUM_THREADS
check_output $'8\n8' "--threads auto, on a described machine" env -u MKL_NUM_THREADS \
    HWLOC_SYNTHETIC='core:16 pu:2' "$MLAUNCH" -n 2 --threads auto --output raw -- \
    printenv MKL_NUM_THREADS
check_output 5 "the user's variable wins" "$MLAUNCH" --threads 3 -x OMP_NUM_THREADS=5 --output \
    raw -- printenv OMP_NUM_THREADS

# GPUs, of a machine that is described to hwloc; what is beside them is in the unit tests.
check_output $'0:0,1\n1:2,3' "--gpus-per-rank" env -u CUDA_VISIBLE_DEVICES \
    HWLOC_XMLFILE="$SOURCE/tests/unit/launcher/agent/binding/ompi14169.xml" sh -c '"$@" | sort' sh \
    "$MLAUNCH" -n 2 --gpus-per-rank 2 --report-bindings --output raw -- sh -c \
    'echo "$MLAUNCH_RANK:$CUDA_VISIBLE_DEVICES"'
check_match '^mlaunch: rank 1 on host localhost: .*, GPU 2 .0000:aa:00.0., GPU 3 .0000:bb:00.0.$' \
    "$ERR" "is in the report"
DGX="$SOURCE/tests/unit/launcher/agent/binding/dgx.xml"
check_output $'0:mlx5_0,mlx5_1\n1:mlx5_2,mlx5_3' "the RDMA devices beside the GPUs" env \
    -u CUDA_VISIBLE_DEVICES HWLOC_XMLFILE="$DGX" sh -c '"$@" | sort' sh "$MLAUNCH" -v -n 2 \
    --gpus-per-rank 2 --output raw -- sh -c 'echo "$MLAUNCH_RANK:$MLAUNCH_NEAR_DEVICES"'
check_match '^mlaunch: rank 1 on host localhost: .*, GPU 3 .0000:41:00.0, near port mlx5_3.$' \
    "$ERR" "-v names them"
check_output 7 "the user's variable wins" env \
    HWLOC_XMLFILE="$SOURCE/tests/unit/launcher/agent/binding/ompi14169.xml" "$MLAUNCH" \
    --gpus-per-rank 1 -x CUDA_VISIBLE_DEVICES=7 --output raw -- printenv CUDA_VISIBLE_DEVICES
check_status 125 "more GPUs than there are" env \
    HWLOC_XMLFILE="$SOURCE/tests/unit/launcher/agent/binding/ompi14169.xml" "$MLAUNCH" -n 5 \
    --gpus-per-rank 1 -- true
check_match 'gpus-per-rank 1: 5 ranks there need 5, but there are 4 that this job may use' "$ERR" \
    "are refused with both numbers"
check_status 125 "--bind-to gpu without one" env HWLOC_SYNTHETIC=core:2 "$MLAUNCH" --bind-to gpu \
    -- true
check_match 'hwloc finds no GPU that this job may use' "$ERR" "is refused"

# A job that does not bind ranks does not pay for hwloc: it does not see that the machine which is
# described to hwloc is none.
: > "$T/none.xml"
check_status 125 "hwloc is asked to bind" env HWLOC_XMLFILE="$T/none.xml" "$MLAUNCH" --bind-to core \
    -- true
check_match 'hwloc finds no processors that this job may use' "$ERR" "… and knows no machine"
check "hwloc is not asked without need" env HWLOC_XMLFILE="$T/none.xml" "$MLAUNCH" -- true

check "the plan" "$MLAUNCH" -n 4 --map-by ppr:2:numa:PE=3 --mem-bind nodes:0,1 --threads auto \
    --dry-run -- true
check_match '^binding: core, 3 a rank, ranks dealt out by numa, 2 on each; memory: nodes 0,1; threads: auto$' "$OUT" "says it"
check_status 125 "--cpus-per-rank and whole nodes" "$MLAUNCH" --cpus-per-rank 2 --bind-to numa -- true
check_match 'both say how much a rank gets' "$ERR" "exclude each other"
check_status 125 "--map-by and lists" "$MLAUNCH" --map-by numa --bind-to cpus:0 -- true
check_match 'both say where each rank runs' "$ERR" "exclude each other"
check_status 125 "--bind-to none --cpus-per-rank" "$MLAUNCH" --bind-to none --cpus-per-rank 1 -- true
check_match 'leave one of them out' "$ERR" "exclude each other"
done_testing
