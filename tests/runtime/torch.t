#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The backend mlaunch of torch.distributed (torch_calls.py), and DistributedDataParallel over it and
# over gloo (torch_ddp.py), on this host and on two.
TEST_LIMIT=400
. "${0%/*}/../lib/test.sh"
[ "$SANITIZE" = no ] || skip_all "a sanitized library beside torch's own"
PYTHON=
for p in $(command -v python3) /usr/bin/python3; do
    if "$p" -c 'import torch.distributed as d; d.Backend' 2> /dev/null; then PYTHON=$p; fi
done
[ -n "$PYTHON" ] || skip_all "no torch here (python3-torch)"
export PYTHONDONTWRITEBYTECODE=1 PYTHONWARNINGS=ignore OMP_NUM_THREADS=1
CALLS=$SOURCE/tests/runtime/torch_calls.py
DDP=$SOURCE/tests/runtime/torch_ddp.py

for way in "-n 2" "-n 4 --oversubscribe --backend tcp --local net"; do
    # shellcheck disable=SC2086
    check "all calls, $way" "$MLAUNCH" $way --output raw -- "$PYTHON" "$CALLS"
    check_match '^all calls of torch are right' "$OUT" "said so"
done
check_status 137 "a rank that is killed is named, soon, by the others" "$MLAUNCH" -n 3 \
    --oversubscribe --output raw -- "$PYTHON" "$CALLS" die
check_match '^rank 0, soon: rank 1 .*killed by signal 9' "$OUT" "by rank 0"
check_match '^rank 2, soon: rank 1 .*killed by signal 9' "$OUT" "by rank 2"
check "groups of some of the ranks beside gloo" "$MLAUNCH" -n 3 --oversubscribe -x \
    GLOO_SOCKET_IFNAME=lo --output raw -- "$PYTHON" "$CALLS" beside
check_output False "import mlaunch does not import torch" "$MLAUNCH" -n 1 --output raw -- \
    "$PYTHON" -c 'import mlaunch, sys; print("torch" in sys.modules)'
check_error 1 'world_size 2, but the job has 1 rank' "another number of ranks is refused" \
    "$MLAUNCH" -n 1 -- "$PYTHON" -c 'import torch.distributed as dist, mlaunch.torch
dist.init_process_group("mlaunch", rank=0, world_size=2, store=dist.HashStore())'

# Sums of two are the same in any order, so that the losses are the same, bit by bit.
"$MLAUNCH" -n 2 -x GLOO_SOCKET_IFNAME=lo --output raw -- "$PYTHON" "$DDP" gloo > "$T/gloo"
check_output "$(cat "$T/gloo")" "DistributedDataParallel has the losses of gloo" "$MLAUNCH" -n 2 \
    --output raw -- "$PYTHON" "$DDP" mlaunch
check_output 10 "… ten of them" grep -c . "$T/gloo"

awk '/^### torch/ { found = 1 } found && /^```$/ { exit } on { print } found && /^```p/ { on = 1 }' \
    "$SOURCE/README.md" > "$T/train.py"
check "the README's example trains" "$MLAUNCH" -n 2 -- "$PYTHON" "$T/train.py"
check_match 'DistributedDataParallel' "$T/train.py" "… with the backend"

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
    check "torch loads the backend in a job" "$MLAUNCH" -n 2 --output raw -- "$PYTHON" "$T/autoload.py"
    if [ "$(grep -c '^sum 2$' "$OUT")" = 2 ]; then pass "… and it works"; else fail "… and it works"; fi
    unset PYTHONPATH
else
    skip "torch loads the backend by itself" "no setuptools beside this torch"
fi

. "${0%/*}/../lib/hosts.sh"
hosts_up 2
# Each rank needs more than a second of a processor to load torch.
each=1
if is_long; then each=2; fi
hosts() { "$MLAUNCH" --ssh-config "$NETNS_SSH_CONFIG" -H "$H1,$H2" \
    -x GLOO_SOCKET_IFNAME=eth0 --ppn $each --oversubscribe --output raw -- "$PYTHON" "$DDP" "$1"; }
losses() { # of four ranks, whose sums may be added up in another order
    awk '{ print $1, substr($2, 1, 9) }' "$1"
}
# The gloo of torch 1.13 aborts now and then when its process exits ("terminate called without an
# active exception").
hosts_gloo() { hosts gloo > "$T/hosts" || hosts gloo > "$T/hosts"; }
check "a script for gloo, on two hosts, ranks on each: $each" hosts_gloo
losses "$T/hosts" > "$T/gloo"
check "… and for mlaunch" hosts mlaunch
losses "$OUT" > "$T/mlaunch"
check_output "" "… with nearly the same losses" diff "$T/gloo" "$T/mlaunch"
check_output 10 "… ten of them" grep -c . "$T/mlaunch"
done_testing
