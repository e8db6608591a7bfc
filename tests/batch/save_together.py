#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""save_together.py FILE: a rank with four workers without handlers, as a DataLoader's, that makes
steps until the job is asked to stop, and then writes to FILE.RANK its step and how many workers
live."""
import os, signal, sys, time

import mlaunch

w = mlaunch.init()
workers = []
for _ in range(4):
    pid = os.fork()
    if pid == 0:
        while True:
            signal.pause()
    workers.append(pid)
step = 0
while not w.should_stop(every=10):
    step += 1
    time.sleep(0.01)
alive = 0
for pid in workers:
    os.kill(pid, signal.SIGSTOP)
    _, status = os.waitpid(pid, os.WUNTRACED)
    alive += os.WIFSTOPPED(status)
    os.kill(pid, signal.SIGKILL)
with open(f"{sys.argv[1]}.{w.rank}", "w") as file:
    print(step, alive, "of 4 workers", file=file)
mlaunch.finalize()
