# SPDX-License-Identifier: MIT
"""A rank: rank 0 writes a line in two parts, between which rank 1 writes one.

    line_in_parts.py BEGUN OVER    files by which they tell each other
"""
import os
import sys
import time

if os.environ["MLAUNCH_RANK"] == "0":
    os.write(1, b"loss=")
    open(sys.argv[1], "w").close()
    while not os.path.exists(sys.argv[2]):
        time.sleep(0.02)
    os.write(1, b"0.5 done\n")
else:
    while not os.path.exists(sys.argv[1]):
        time.sleep(0.02)
    time.sleep(0.4)  # the silence after which a terminal shows parts
    os.write(1, b"other\n")
    open(sys.argv[2], "w").close()
