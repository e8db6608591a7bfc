# SPDX-License-Identifier: MIT
"""Checks how often ranks have waited for others, in the events and in the table.

    late_ranks.py EVENTS TABLE
"""
import json
import re
import sys

ends = [e for e in map(json.loads, open(sys.argv[1])) if e["event"] == "exited"]
kept = {e["rank"]: e["kept_waiting"] for e in ends}
# The first barrier may also have been waited for.
assert 1 <= kept[2] <= 2 and 2 <= kept[1] <= 3 and 3 <= kept[0] <= 4 and 3 <= kept[3] <= 4, kept
assert all(e["calls"] == 4 and e["wait_seconds"] > 0.2 for e in ends), ends
last = {int(l.split()[0]): int(l.split()[-2]) for l in open(sys.argv[2]) if re.match(" +[0-3] ", l)}
assert last[2] in (2, 3) and last[1] in (1, 2) and last[0] <= 1 and last[3] <= 1, last
