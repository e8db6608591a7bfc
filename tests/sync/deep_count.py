# SPDX-License-Identifier: MIT
"""Prints how many directories are one in the other, the text of the file there, and all names.

    deep_count.py DIR
"""
import os
import sys

os.chdir(sys.argv[1])
n = 0
while os.path.isdir("d"):
    os.chdir("d")
    n += 1
print(n, open("f").read().strip() if os.path.exists("f") else "", *sorted(os.listdir()))
