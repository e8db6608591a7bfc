# SPDX-License-Identifier: MIT
"""counted.py FILE COMMAND…: runs the command, passes its own standard input on to it, and writes
into FILE how many bytes that were."""
import os
import select
import subprocess
import sys

child = subprocess.Popen(sys.argv[2:], stdin=subprocess.PIPE)
to, count = child.stdin.fileno(), 0
try:
    while True:
        select.select([0], [], [])
        piece = os.read(0, 1 << 16)
        if not piece:
            break
        count += len(piece)
        while piece:
            piece = piece[os.write(to, piece):]
except BrokenPipeError:
    pass
child.stdin.close()
status = child.wait()
with open(sys.argv[1], "w") as f:
    f.write(f"{count}\n")
sys.exit(status)
