# SPDX-License-Identifier: MIT
"""elastic_end.py DIRECTORY: the last step of a loop of mlaunch.elastic. Rank 0 has done it, and
rank 1 fails in it, because rank 2 dies: rank 0 is still there for the next one."""
import os
import signal
import sys
import time

import mlaunch
import mlaunch.elastic

place = os.path.join(sys.argv[1], "rank 0 has done its last step")
state = {"steps": []}
world = mlaunch.init()
for step in mlaunch.elastic.steps(3, state=state):
    with step as w:
        state["steps"].append(step.number)
        if step.number < 2 or w.size < 3:
            w.barrier()
        elif w.rank == 0:
            open(place, "w").close()
        else:
            while not os.path.exists(place):
                time.sleep(0.01)
            if w.rank == 2:
                os.kill(os.getpid(), signal.SIGKILL)
            w.recv(bytearray(1), 2)
world = mlaunch.init()
assert world.ids == (0, 1), world.ids
assert state["steps"] == [0, 1, 2], state
world.barrier()
print("done")
mlaunch.finalize()
mlaunch.finalize()
