# SPDX-License-Identifier: MIT
"""Ranks that keep their parts, of which one is killed and another process takes its place: it has
what the dead one had kept, and all end with the sums of a run without a death.

    python_keep_replaced.py STEPS
"""
import array
import os
import signal
import sys

import mlaunch

STEPS, DIES = int(sys.argv[1]), 5


def begin(w):
    """What this rank has at the newest step that all have, and that step."""
    part = array.array("q", [w.id]) * 1000
    step = w.kept("part")
    if step is not None:
        w.restore("part", part)
    return part, step or 0


w = mlaunch.init()
is_new = os.environ.get("MLAUNCH_RESTART", "0") != "0"
part, step = begin(w)
assert is_new == (step > 0), step
while step < STEPS:
    try:
        if step == DIES and w.id == 1 and not is_new:
            os.kill(os.getpid(), signal.SIGKILL)
        total = array.array("q", part)
        w.all_reduce(total)
        for i, value in enumerate(total):
            part[i] += value % 7 + w.id
        step += 1
        w.keep("part", part, step)
        w.barrier()
    except mlaunch.Error as e:
        if e.code != mlaunch.ERR_PEER:
            raise
        w = w.repair()
        part, step = begin(w)

parts = list(range(w.size))
for _ in range(STEPS):
    total = sum(parts)
    parts = [p + total % 7 + i for i, p in enumerate(parts)]
assert list(part) == [parts[w.id]] * len(part), (part[0], parts[w.id])
print("ended with", w.size)
