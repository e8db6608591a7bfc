# SPDX-License-Identifier: MIT
"""Prints what a Python expression makes of JSON: the words of a tuple, or one value.

    json_show.py EXPRESSION [FILE [WORD…]]    FILE: else standard input

In the expression j is the JSON, and w is the list of the words.
"""
import json
import sys

with open(sys.argv[2], encoding="utf-8") if len(sys.argv) > 2 else sys.stdin as f:
    names = {"j": json.load(f), "w": sys.argv[3:], "json": json}
value = eval(sys.argv[1], names)
print(*value if isinstance(value, tuple) else (value,))
