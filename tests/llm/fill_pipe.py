# SPDX-License-Identifier: MIT
"""Fills a pipe that nobody reads.

    fill_pipe.py DESCRIPTOR
"""
import os
import sys

pipe = int(sys.argv[1])
os.set_blocking(pipe, False)
try:
    while True:
        os.write(pipe, b"\n" * 4096)
except BlockingIOError:
    os.set_blocking(pipe, True)
