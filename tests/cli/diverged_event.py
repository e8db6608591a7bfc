# SPDX-License-Identifier: MIT
"""Checks the event of a rank that has made another call.

    diverged_event.py EVENTS
"""
import json
import sys

d = [e for e in map(json.loads, open(sys.argv[1])) if e["event"] == "diverged"]
assert len(d) == 1 and d[0]["ranks"] == [2] and d[0]["group"] == 0 and d[0]["call"] == 4, d
assert d[0]["text"].startswith("the ranks"), d
