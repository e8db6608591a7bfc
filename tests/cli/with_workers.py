#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""with_workers.py: a rank with two workers that have no handlers, as a DataLoader's. Says which
signals it gets, and after SIGUSR1 how many workers live; ends at SIGTERM."""
import os, signal, sys

HEARD = (signal.SIGUSR1, signal.SIGTERM)
workers = []
for _ in range(2):
    pid = os.fork()
    if pid == 0:
        while True:
            signal.pause()
    workers.append(pid)
told, tell = os.pipe()
os.set_blocking(tell, False)
signal.set_wakeup_fd(tell)
for n in HEARD:
    signal.signal(n, lambda n, f: None)
print("ready", flush=True)
while True:
    name = signal.Signals(os.read(told, 1)[0]).name
    if name == "SIGTERM":
        sys.exit(0)
    if name == "SIGUSR1":
        # Its own signal to one of them comes behind any that was sent to the process group.
        alive = 0
        for pid in workers:
            os.kill(pid, signal.SIGSTOP)
            _, status = os.waitpid(pid, os.WUNTRACED)
            alive += os.WIFSTOPPED(status)
        print("got SIGUSR1,", alive, "of 2 workers live", flush=True)
