#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# DistributedDataParallel outlives ranks and takes in others (mlaunch.torch.steps,
# mlaunch.torch.repair); a script that repairs nothing gets an exception.
TEST_TIER=full
. "${0%/*}/../lib/test.sh"
. "${0%/*}/torch.sh"

check "two of four ranks are killed, and the job ends well" "$MLAUNCH" -n 4 --oversubscribe \
    --elastic 2 -- "$PYTHON" "$SOURCE/tests/runtime/torch_elastic.py"
sed 's/:[^ ]*//g' "$OUT" > "$T/members"
steps="0123 0123 0123 023 023 023 23 23 23 23"
check_output "[2] $steps
[3] $steps" "the others do their steps without the two that were killed" sort "$T/members"

check "ranks are replaced with --restarts, and the job ends well" "$MLAUNCH" -n 4 --oversubscribe \
    --elastic 2 --restarts 1 --replace-wait 60 -- "$PYTHON" "$SOURCE/tests/runtime/torch_elastic.py"
sed 's/:[^ ]*//g' "$OUT" > "$T/members"
all="0123 0123 0123 0123"
check_output "[0] $all
[1] $all 0123 0123 0123
[2] $all 0123 0123 0123 0123 0123 0123
[3] $all 0123 0123 0123 0123 0123 0123" \
    "ranks that replace others do the steps that are left" sort "$T/members"

# Two more ranks come while the others train.
check "mlaunch grow adds two ranks to two, and the job ends well" "$MLAUNCH" -n 2 --oversubscribe \
    --elastic 2 -- "$PYTHON" "$SOURCE/tests/runtime/torch_elastic.py" "$MLAUNCH"
sed 's/:[^ ]*//g' "$OUT" > "$T/members"
check_output 2 "the first two ranks go on with those that were added" \
    grep -cE '^\[[01]\]( 01){4,}( 01[23])*( 0123){5}$' "$T/members"
check_output 2 "the ranks that were added are in all steps from then on" \
    grep -cE '^\[[23]\]( 01[23])*( 0123){5}$' "$T/members"

# The exception is one for C++ too, which waits for the gradients.
cat > "$T/dies.py" << 'EOF'
import os, signal, torch, torch.distributed as dist, mlaunch.torch
dist.init_process_group("mlaunch")
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(20, 50))
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if dist.get_rank() == 1:
    os.kill(os.getpid(), signal.SIGKILL)
try:
    model(torch.ones(4, 20)).sum().backward()
except RuntimeError as e:
    print("raised", e)
    mlaunch.torch.repair()
    print("repaired", dist.get_world_size())
EOF
dies() { run "$MLAUNCH" -n 2 --oversubscribe "$@" -- "$PYTHON" "$T/dies.py"; }
dies --elastic 1
cp "$OUT" "$T/said"
check_output 1 "a death is an exception of DistributedDataParallel" \
    grep -c 'raised.* rank 1 was killed by signal 9 (Killed) on host' "$T/said"
check_output "[0] repaired 1" "repair() makes the group of those that live" \
    grep repaired "$T/said"
dies
check_match "mlaunch.Error: this job does not go on without a rank: start it with mlaunch --elastic" \
    "$ERR" "the exception without --elastic says what is missing"
done_testing
