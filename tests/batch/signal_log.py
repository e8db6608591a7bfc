#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""signal_log.py FILE: a rank that writes to FILE.RANK each SIGTERM and SIGCONT it gets, and ends
when nothing has come for a second after SIGTERM, as if it had written its checkpoint."""
import os, signal, sys

LOG = open(f"{sys.argv[1]}.{os.environ['MLAUNCH_RANK']}", "w", buffering=1)
HEARD = (signal.SIGTERM, signal.SIGCONT)

signal.pthread_sigmask(signal.SIG_BLOCK, HEARD)
print("ready", file=LOG)
asked = False
while True:
    info = signal.sigtimedwait(HEARD, 1 if asked else 300)
    if info is None:
        break
    name = signal.Signals(info.si_signo).name
    asked = asked or name == "SIGTERM"
    print(name, file=LOG)
print("saved" if asked else "was never asked", file=LOG)
