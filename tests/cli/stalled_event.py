# SPDX-License-Identifier: MIT
"""Checks the event of a stall in which rank 3 is missing.

    stalled_event.py EVENTS HOST    HOST: rank 3's
"""
import json
import sys

events = [e for e in map(json.loads, open(sys.argv[1])) if e["event"] == "stalled"]
assert len(events) == 1 and events[0]["cause"] == "call" and events[0]["deadlock"] == [], events
waiting, missing = events[0]["groups"]
assert waiting["ranks"] == [0, 1, 2] and waiting["waits_for"] == [3] and waiting["number"] == 2
assert waiting["call"] == "barrier" and waiting["at"].endswith("train.py:11"), waiting
assert missing["ranks"] == [3] and missing["place"] == "in train.py:5 read", missing
assert missing["host"] == sys.argv[2] and missing["stack"][0].endswith(":5 in read"), missing
