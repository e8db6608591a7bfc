# SPDX-License-Identifier: MIT
"""elastic_steps.py ID:STEP...: a loop of mlaunch.elastic in which these ranks are killed in these
steps, before the ranks meet or behind it. The curve that is left is the one of a run that has had
the same members in the same steps, which each rank computes by itself."""
import ctypes
import os
import signal
import sys

import mlaunch
import mlaunch.elastic

STEPS = 40
try:
    import numpy
    values = numpy.zeros(100)
except ImportError:
    import array
    values = array.array("d", [0.0] * 100)
try:
    import torch
    torch.manual_seed(1)
    module = torch.nn.Linear(4, 2)
    optimizer = torch.optim.Adam(module.parameters())
except ImportError:
    torch = module = optimizer = None

deaths = dict(word.split(":") for word in sys.argv[1:])
mine = int(deaths.get(os.environ["MLAUNCH_RANK"], -1))
if os.environ["MLAUNCH_RESTART"] != "0":
    mine = -1



class Point(ctypes.Structure):
    _fields_ = [("x", ctypes.c_double), ("number", ctypes.c_int)]


state = {"values": values, "curve": [], "inner": {"count": bytearray(8)}, "points": (Point * 2)(),
         "empty": (ctypes.c_double * 3 * 0)()}
if torch:
    state.update(module=module, optimizer=optimizer, tensor=torch.zeros(3, 3))
world = mlaunch.init()
for step in mlaunch.elastic.steps(STEPS, state=state):
    with step as w:
        if step.number == mine and mine % 2:
            os.kill(os.getpid(), signal.SIGKILL)
        for i in range(100):
            values[i] += 1  # half of the step is done when it fails
        share = bytearray(8)
        w.all_reduce((1 << w.id).to_bytes(8, sys.byteorder), share, type=mlaunch.UINT64)
        members = int.from_bytes(share, sys.byteorder)
        for i in range(100):
            values[i] += members - 1
        state["curve"].append((step.number, members, float(values[0])))
        state["inner"]["count"][0] += 1
        state["points"][1].x += members
        if torch:
            optimizer.zero_grad()
            module(torch.full((4,), float(members))).sum().backward()
            optimizer.step()
            state["tensor"] += members
        if step.number == mine:
            os.kill(os.getpid(), signal.SIGKILL)  # it has met the others, and is ahead of them

world = mlaunch.init()
total, ids = 0.0, sum(1 << i for i in world.ids)
assert [number for number, _, _ in state["curve"]] == list(range(STEPS)), state["curve"]
for number, members, value in state["curve"]:
    total += members
    assert value == total, (number, members, value, total)
assert float(values[0]) == float(values[99]) == total
assert state["curve"][0][1] == 15 and state["curve"][-1][1] == ids
assert state["inner"]["count"][0] == STEPS
if torch:
    assert float(state["tensor"][2, 2]) == total
    # The same as without any death, given the members of each step.
    torch.manual_seed(1)
    other = torch.nn.Linear(4, 2)
    by = torch.optim.Adam(other.parameters())
    for _, members, _ in state["curve"]:
        by.zero_grad()
        other(torch.full((4,), float(members))).sum().backward()
        by.step()
    assert torch.equal(other.weight, module.weight)
everybody = bytearray(8 * world.size)
world.all_gather(int(total).to_bytes(8, sys.byteorder), everybody)
assert len({bytes(everybody[i:i + 8]) for i in range(0, len(everybody), 8)}) == 1
print("done", world.size, "torch" if torch else "")
mlaunch.finalize()
mlaunch.finalize()
