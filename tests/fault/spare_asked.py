#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""spare_asked.py STOP: a rank of a job of --elastic that says once that its host knows that the job
was asked to stop, and goes on until the file STOP exists. should_stop() has the answer of all."""
import array
import os
import sys

import mlaunch



def host_is_asked():
    try:
        with open(os.path.join(os.environ["MLAUNCH_JOB_DIR"], "stop"), "rb") as f:
            return any(f.read())
    except FileNotFoundError:
        return False


w = mlaunch.init()
sys.stdout.write("up\n")  # at once
is_asked = False
while True:
    try:
        if not is_asked and host_is_asked():
            is_asked = True
            sys.stdout.write("asked\n")
        sums = array.array("q", [os.path.exists(sys.argv[1]), w.changed()])
        w.all_reduce(sums)
        if sums[0] == w.size:
            break
        if sums[1]:
            w = w.repair()
    except mlaunch.Error as e:
        if e.code != mlaunch.ERR_PEER:
            raise
        w = w.repair()
mlaunch.finalize()
