# SPDX-License-Identifier: MIT
"""Prints whether the rows of a bench of put, get or atomic are right, its name, and its ranks.

    one_sided_result.py FILE
"""
import json
import sys

r = json.load(open(sys.argv[1]))
rows = r["results"]
print(len(rows) == (1 if r["op"] == "atomic" else 2) and all(
    x["errors"] == 0 and x["messages_per_s"] > 0 and x["algbw_GBps"] > 0
    and 0 < x["time_us_min"] <= x["time_us_med"] <= x["time_us_p99"] for x in rows),
      r["op"], r["ranks"])
