# SPDX-License-Identifier: MIT
"""Checks the pieces of a labelled line of 3 MB.

    long_line.py FILE
"""
import sys

lines = open(sys.argv[1], encoding="utf-8").read().splitlines()
assert [l[:6] for l in lines] == ["[0] xx", "[0] … ", "[0] … "], [l[:8] for l in lines]
assert sum(l.count("x") for l in lines) == 3000000
