# SPDX-License-Identifier: MIT
"""Checks a trace by the rules of Chrome's JSON form ("Trace Event Format"): the members that each
phase must have, slices of a row that nest, arrows that begin and end within slices.

    trace_check.py FILE RANKS ARROWS    prints how many slices each rank has
"""
import collections
import json
import sys

NUMBER = (int, float)
MEMBERS = {
    "M": {"args": dict},
    "X": {"ts": NUMBER, "dur": NUMBER, "tid": int, "cat": str},
    "B": {"ts": NUMBER, "tid": int, "cat": str},
    "C": {"ts": NUMBER, "args": dict},
    "s": {"ts": NUMBER, "tid": int, "cat": str, "id": str},
    "f": {"ts": NUMBER, "tid": int, "cat": str, "id": str, "bp": str},
}
NAMES = {"process_name", "process_sort_index", "process_labels", "thread_name", "thread_sort_index"}
SLACK = 1000  # us that clocks of two hosts may differ


def check_members(event):
    for name, kind in {"name": str, "pid": int, **MEMBERS[event["ph"]]}.items():
        assert isinstance(event[name], kind), event
    if event["ph"] == "M":
        assert event["name"] in NAMES, event
    elif event["ph"] == "C":
        assert all(isinstance(v, NUMBER) for v in event["args"].values()), event
    if "ts" in event:
        assert event["ts"] >= -SLACK and event.get("dur", 0) >= 0, event


def slices_of(events):
    """The slices of each row, (begin, end), in the order in which they begin."""
    rows = collections.defaultdict(list)
    for e in events:
        if e["ph"] in "XB":
            end = e["ts"] + e["dur"] if e["ph"] == "X" else float("inf")
            rows[e["pid"], e["tid"]].append((e["ts"], end, e))
    for row in rows.values():
        row.sort(key=lambda s: s[:2])
        for (_, end, one), (begin, _, other) in zip(row, row[1:]):
            assert end <= begin + 0.002, ("slices overlap", one, other)  # a double's precision
    return rows


def check_arrows(events, rows):
    """True arrows: one begin and one end, each within a slice. Returns how many there are."""
    begins = {e["id"]: e for e in events if e["ph"] == "s"}
    ends = [e for e in events if e["ph"] == "f"]
    assert len(begins) == sum(e["ph"] == "s" for e in events), "an arrow begins twice"
    for end in ends:
        begin = begins[end["id"]]
        assert (begin["cat"], begin["name"]) == (end["cat"], end["name"]), (begin, end)
        assert end["bp"] == "e" and end["ts"] >= begin["ts"] - SLACK, (begin, end)
    for e in [*begins.values(), *ends]:
        inside = [s for s in rows[e["pid"], e["tid"]] if s[0] <= e["ts"] <= s[1]]
        assert inside and any(s[2]["cat"] == "message" for s in inside), e
    return len(ends)


def main():
    path, ranks, arrows = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    with open(path, encoding="utf-8") as file:
        trace = json.load(file)
    events = trace["traceEvents"]
    for event in events:
        check_members(event)
    rows = slices_of(events)
    named = {(e["pid"], e.get("tid")) for e in events if e["ph"] == "M"}
    assert {pid for pid, _ in rows} == set(range(ranks)), rows.keys()
    assert all(row in named and (row[0], None) in named for row in rows), named
    assert check_arrows(events, rows) == arrows, check_arrows(events, rows)
    times = [s[0] for row in rows.values() for s in row]
    assert max(times) - min(times) < 60e6, "the ranks' clocks differ"
    for rank in range(ranks):
        counts = [e["args"]["bytes"] for e in events if e["ph"] == "C" and e["pid"] == rank]
        assert counts and counts == sorted(counts) and counts[-1] > 0, counts
    slices = collections.Counter()
    for (pid, _), row in rows.items():
        slices[pid] += len(row)
    print(*(slices[rank] for rank in range(ranks)))


main()
