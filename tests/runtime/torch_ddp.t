#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# DistributedDataParallel over the backend mlaunch and over gloo (torch_ddp.py), on this host; the
# example of README.md; and the package as torch loads it by itself.
# shellcheck disable=SC2154 # variables of torch.sh
TEST_TIER=full
. "${0%/*}/../lib/test.sh"
. "${0%/*}/torch.sh"

# Sums of two are the same in any order, so that the losses are the same, bit by bit.
"$MLAUNCH" -n 2 -x GLOO_SOCKET_IFNAME=lo --output raw -- "$PYTHON" "$DDP" gloo > "$T/gloo"
check_output "$(cat "$T/gloo")" "DistributedDataParallel has the losses of gloo" "$MLAUNCH" -n 2 \
    --output raw -- "$PYTHON" "$DDP" mlaunch
check_output 10 "the losses of gloo are ten" grep -c . "$T/gloo"

awk '/^### torch/ { found = 1 } found && /^```$/ { exit } on { print } found && /^```p/ { on = 1 }' \
    "$SOURCE/README.md" > "$T/train.py"
check "README's example of torch trains" "$MLAUNCH" -n 2 -- "$PYTHON" "$T/train.py"
check_match 'DistributedDataParallel' "$T/train.py" \
    "README's example of torch has DistributedDataParallel"

# What torch does from 2.5 on at the end of its import, with the package as pip installs it.
cp -rL "$BUILD/runtime/python" "$T/package"
cat > "$T/autoload.py" << 'PY'
import importlib.metadata, sys, torch
import torch.distributed as dist
points = importlib.metadata.entry_points(group="torch.backends")
for point in points:
    point.load()()
sys.stdout.write("%d %s\n" % (len(points), "mlaunch" in sys.modules))
if "mlaunch" in sys.modules:
    dist.init_process_group("mlaunch")
    t = torch.ones(1)
    dist.all_reduce(t)
    sys.stdout.write("sum %d\n" % t)
PY
if (cd "$T/package" && "$PYTHON" -c 'import setuptools; setuptools.setup()' egg_info) > "$OUT" 2>&1; then
    export PYTHONPATH=$T/package
    check_output "1 False" "torch loads nothing outside of a job" "$PYTHON" "$T/autoload.py"
    check "torch loads the backend in a job" "$MLAUNCH" -n 2 --output raw -- "$PYTHON" \
        "$T/autoload.py"
    if [ "$(grep -c '^sum 2$' "$OUT")" = 2 ]; then
        pass "the backend that torch loads in a job works"
    else
        fail "the backend that torch loads in a job works"
    fi
    unset PYTHONPATH
else
    skip "torch loads the backend in a job" "no setuptools beside this torch"
fi
done_testing
