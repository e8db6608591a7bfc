# SPDX-License-Identifier: MIT
"""Ranks that keep their parts in a job that is started again: each run begins where all parts of
the last one were, and the last run ends with the sums of a run without a death.

    python_keep_restarts.py STEPS DIES FILE

In the first run rank 1 kills itself after DIES steps, in the second at once, having kept another
part as version DIES. If FILE is not "", each run but the last waits for its end before it dies.
"""
import array
import os
import signal
import sys
import time

import mlaunch

STEPS, DIES, FILE = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
RUN = int(os.environ["MLAUNCH_RESTART"])


def die():
    if FILE:
        print("waits", flush=True)
    while FILE and os.path.exists(FILE):
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGKILL)


w = mlaunch.init()
if RUN == 1:
    # A version of this run is not one of the last run, whatever its number is.
    if w.rank == 1:
        w.keep("part", array.array("q", [-1]) * 1000, DIES)
        die()
    w.barrier()
part = array.array("q", [w.id]) * 1000
step = w.kept("part") or 0
if step:
    w.restore("part", part)
print("began at", step, flush=True)
while step < STEPS:
    if RUN == 0 and step == DIES and w.rank == 1:
        die()
    total = array.array("q", part)
    w.all_reduce(total)
    for i, value in enumerate(total):
        part[i] += value % 7 + w.id
    step += 1
    w.keep("part", part, step)
    w.barrier()

parts = list(range(w.size))
for _ in range(STEPS):
    total = sum(parts)
    parts = [p + total % 7 + i for i, p in enumerate(parts)]
assert list(part) == [parts[w.id]] * len(part), (part[0], parts[w.id])
print("ended well")
