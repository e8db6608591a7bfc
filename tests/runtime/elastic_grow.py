# SPDX-License-Identifier: MIT
"""elastic_grow.py MLAUNCH: a loop of mlaunch.elastic on two ranks, in which rank 0 adds two more.
All end once the four have done ten steps together, and each then has the whole curve: newcomers get
the state of the others."""
import os
import subprocess
import sys

import mlaunch
import mlaunch.elastic

state = {"values": bytearray(8), "curve": []}
mlaunch.init()
grow = None
for step in mlaunch.elastic.steps(10**6, state=state):
    with step as w:
        if step.number == 3 and w.id == 0:
            grow = subprocess.Popen([sys.argv[1], "grow", os.environ["MLAUNCH_JOB"], "-H",
                                     "localhost:2"])
        share = bytearray(8)
        w.all_reduce((1 << w.id).to_bytes(8, sys.byteorder), share, type=mlaunch.UINT64)
        members = int.from_bytes(share, sys.byteorder)
        state["values"][0] = (state["values"][0] + members) % 256
        state["curve"].append((step.number, members))
    if sum(members == 15 for _, members in state["curve"]) == 10:
        break

world = mlaunch.init()
assert world.size == 4 and list(world.ids) == [0, 1, 2, 3]
assert [number for number, _ in state["curve"]] == list(range(len(state["curve"])))
assert state["curve"][0][1] == 3 and state["curve"][-1][1] == 15
assert state["values"][0] == sum(members for _, members in state["curve"]) % 256
if grow:
    assert grow.wait() == 0
print("done", world.id)
mlaunch.finalize()
mlaunch.finalize()
