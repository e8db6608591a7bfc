# SPDX-License-Identifier: MIT
"""Checks the events of a job that has outlived ranks.

    elastic_events.py EVENTS RANK… / ID…    RANK… have died, one after the other or together; ID…
                                            are the members of the last world
"""
import json
import sys

seen = [json.loads(line) for line in open(sys.argv[1])]
bar = sys.argv.index("/")
dead, members = ([int(w) for w in words] for words in (sys.argv[2:bar], sys.argv[bar + 1:]))
exited = {e["rank"]: e for e in seen if e["event"] == "exited"}
repaired = [e for e in seen if e["event"] == "repaired"]
assert sorted(r for r, e in exited.items() if e.get("signal") == 9) == dead, exited
assert all(exited[r]["status"] == 0 and not exited[r]["ended_by_us"] for r in members), exited
assert [e["membership"] for e in repaired] == list(range(1, len(repaired) + 1)), repaired
assert repaired[-1]["members"] == members and repaired[-1]["ms"] >= 0, repaired
assert sorted(r for e in repaired for r in e["left"]) == dead, repaired
assert not any(e["came"] for e in repaired), repaired
assert 1 <= len(repaired) <= len(dead) and "stopped" not in [e["event"] for e in seen], seen
assert seen[-1]["event"] == "finished" and seen[-1]["status"] == 0, seen[-1]
assert (seen[-1]["membership"], seen[-1]["members"]) == (len(repaired), len(members)), seen[-1]
