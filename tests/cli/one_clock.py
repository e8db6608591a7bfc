# SPDX-License-Identifier: MIT
"""Checks that all calls of a record began within a minute.

    one_clock.py RECORD
"""
import json
import sys

times = [json.loads(line)["start_ns"] for line in open(sys.argv[1])]
assert max(times) - min(times) < 60e9, (min(times), max(times))
