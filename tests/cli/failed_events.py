# SPDX-License-Identifier: MIT
"""Checks the events of a job of two ranks, of which one exits with status 3.

    failed_events.py EVENTS
"""
import json
import sys

seen = [json.loads(line) for line in open(sys.argv[1])]
assert all(isinstance(e["time"], float) and e["job"] for e in seen), seen
names = [e["event"] for e in seen]
assert names[:2] == ["connected", "launched"] and names[-1] == "finished", names
assert names.count("started") == 2 and names.count("exited") == 2 and "stopped" in names, names
first = next(e for e in seen if e["event"] == "exited")
assert first["status"] == 3 and first["pid"] > 0 and first["host"], first
assert seen[-1]["status"] == 3, seen[-1]
