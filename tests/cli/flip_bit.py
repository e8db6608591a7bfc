# SPDX-License-Identifier: MIT
"""Changes one bit of a file.

    flip_bit.py FILE
"""
import sys

with open(sys.argv[1], "r+b") as f:
    f.seek(30000)
    byte = f.read(1)[0]
    f.seek(30000)
    f.write(bytes([byte ^ 1]))
