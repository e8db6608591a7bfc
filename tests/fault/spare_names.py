#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""spare_names.py: a rank of a job of --elastic, in which rank 2 is on another host than rank 0.
Once other processes have come, rank 0 asks for what rank 2 has kept: the error names its host."""
import os

import mlaunch

w = mlaunch.init()
print("up\n", end="", flush=True)
has_come = os.environ["MLAUNCH_RESTART"] != "0"
while not has_come:
    try:
        w.barrier()
    except mlaunch.Error as e:
        if e.code != mlaunch.ERR_PEER:
            raise
        w = w.repair()
        has_come = 2 in w.change.came
w.keep("value", b"x", 1)
w.kept("value")
if w.rank == 0:
    try:
        w.restore("value", id=2)
    except mlaunch.Error as e:
        print(f"error: {e}\n", end="", flush=True)  # in one write, for others write, too
w.barrier()
mlaunch.finalize()
