# SPDX-License-Identifier: MIT
"""A rank: all call barrier(), but rank 1 much later."""
import mlaunch
import time

w = mlaunch.init()
if w.rank == 1:
    time.sleep(200)
w.barrier()
