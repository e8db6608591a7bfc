# SPDX-License-Identifier: MIT
"""Makes a file below directories, one in the other.

    deep_make.py DIR COUNT
"""
import os
import sys

os.chdir(sys.argv[1])
for _ in range(int(sys.argv[2])):
    os.mkdir("d")
    os.chdir("d")
with open("f", "w") as f:
    f.write("at the end\n")
