#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""regression.py [FILE]: how wide is an iris's petal, given its length? Fits a straight line to
Fisher's flowers, which are divided among the ranks, with one all_reduce.

    mlaunch -n 4 -- python3 examples/regression.py

Sums are of whole millimetres, so any number of ranks finds the same line. R's
lm(Petal.Width ~ Petal.Length, iris) finds -0.3631 + 0.4158 x.
"""
import array
import os
import sys

import mlaunch

world = mlaunch.init()
path = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__), "iris.csv")
with open(path) as file:
    lines = file.readlines()[1:]

sums = array.array("q", [0] * 5)  # n, x, y, x * x, x * y
for line in lines[world.rank::world.size]:
    x, y = (round(10 * float(field)) for field in line.split(",")[2:4])
    for i, term in enumerate((1, x, y, x * x, x * y)):
        sums[i] += term
world.all_reduce(sums)

n, sx, sy, sxx, sxy = sums
slope = (n * sxy - sx * sy) / (n * sxx - sx * sx)
if world.rank == 0:
    print("%d flowers: petal width = %.4f + %.4f * petal length (cm)" % (
        n, (sy - slope * sx) / n / 10, slope))
mlaunch.finalize()
