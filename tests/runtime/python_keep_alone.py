# SPDX-License-Identifier: MIT
"""Rank 0 of two keeps a part with --keep 2, step by step.

    python_keep_alone.py DIR

It keeps versions 1 and 2 at once, and makes DIR/kept.2. When there is DIR/go.3, it keeps version 3,
makes DIR/kept.3, and so on up to version 5. DIR/go.6 ends the job.
"""
import os
import sys
import time

import mlaunch

w = mlaunch.init()
if w.id == 0:
    w.keep("part", bytes(1000), 1)
    for version in range(2, 6):
        w.keep("part", bytes([version]) * 100000, version)
        with open(f"{sys.argv[1]}/kept.{version}", "w"):
            pass
        while not os.path.exists(f"{sys.argv[1]}/go.{version + 1}"):
            time.sleep(0.02)
w.barrier()
