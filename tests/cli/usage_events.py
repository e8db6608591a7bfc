# SPDX-License-Identifier: MIT
"""Checks what 70 ranks have used, by the events of their ends.

    usage_events.py EVENTS
"""
import json
import sys

ends = [e for e in map(json.loads, open(sys.argv[1])) if e["event"] == "exited"]
assert len(ends) == 70, ends
for e in ends:
    assert 0 <= e["user_seconds"] + e["system_seconds"] < 60 and 0 <= e["elapsed_seconds"] < 100, e
    assert 1 << 19 < e["peak_bytes"] < 1 << 30, e
