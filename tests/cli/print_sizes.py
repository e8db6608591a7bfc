#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""print_sizes.py LINES: prints the size of its terminal, and again whenever it has changed, until
it has that many lines."""
import os
import signal
import sys

told, tell = os.pipe()
os.set_blocking(tell, False)
signal.set_wakeup_fd(tell)
signal.signal(signal.SIGWINCH, lambda *_: None)
while True:
    size = os.get_terminal_size()
    print(size.lines, size.columns)
    if size.lines == int(sys.argv[1]):
        break
    os.read(told, 1)
