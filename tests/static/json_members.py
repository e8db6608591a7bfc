# SPDX-License-Identifier: MIT
"""Prints the names of all members in JSON.

    json_members.py LINES FILE…    LINES: a file with a value on each line
"""
import json
import sys

def members(j):
    for key, value in j.items() if isinstance(j, dict) else ((None, v) for v in j):
        yield from [key] * (key is not None)
        if isinstance(value, (dict, list)):
            yield from members(value)
texts = open(sys.argv[1]).read().splitlines() + [open(name).read() for name in sys.argv[2:]]
print(*sorted({m for text in texts for m in members(json.loads(text))}), sep="\n")
