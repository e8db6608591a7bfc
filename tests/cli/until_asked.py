#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""until_asked.py [EVERY] [STATUS]: a rank that makes steps until the job is asked to stop, and then
says in which step and ends with that status. Rank 0 has two workers without handlers, as a
DataLoader's, and says how many of them live at the end."""
import os, signal, sys, time

import mlaunch

every, status = (int(a) for a in (sys.argv[1:] + ["1", "0"][len(sys.argv) - 1:]))
w = mlaunch.init()
workers = []
for _ in range(2 if w.rank == 0 else 0):
    pid = os.fork()
    if pid == 0:
        while True:
            signal.pause()
    workers.append(pid)
print("ready", flush=True)
step = 0
while not w.should_stop(every):
    step += 1
    time.sleep(0.001)
alive = 0
for pid in workers:
    os.kill(pid, signal.SIGSTOP)
    _, ended = os.waitpid(pid, os.WUNTRACED)
    alive += os.WIFSTOPPED(ended)
    os.kill(pid, signal.SIGKILL)
print("stopped in step", step, *(["with", alive, "of 2 workers"] if workers else []), flush=True)
mlaunch.finalize()
sys.exit(status)
