#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""table.py SOURCE BUILD: from the counts of gcov, a table of the rooms on standard error, and on
standard output the lines that were never run, grouped by what they answer."""
import collections
import json
import os
import re
import subprocess
import sys

ROOMS = ("common", "coordinator", "launcher", "runtime", "rdma")
GROUPS = [  # the first that matches the line names its group
    ("out of memory", re.compile(r"ML_ERR_MEMORY|out of memory|!\w*\(?(calloc|malloc|strdup)")),
    ("the system refuses", re.compile(r"fault_os|errno|strerror|ML_ERR_SYSTEM|perror")),
    ("other errors", re.compile(r"fault_|log_error|log_warn|goto (fail|bad)|return -1|ML_ERR_")),
    ("other lines", re.compile("")),
]


def counts_read(source, build):
    """{path: {line: count}}, summed over all objects that were made of it"""
    counts = collections.defaultdict(collections.Counter)
    notes = [os.path.join(place, name) for place, _, names in os.walk(build)
             for name in names if name.endswith(".gcno")]
    for note in notes:
        if not os.path.relpath(note, build).startswith(ROOMS):
            continue
        text = subprocess.run(["gcov", "--json-format", "--stdout", note], cwd=build,
                              capture_output=True, check=False).stdout
        for document in text.splitlines():
            said = json.loads(document)
            for entry in said["files"]:
                path = os.path.join(said["current_working_directory"], entry["file"])
                path = os.path.relpath(os.path.realpath(path), source)
                if path.startswith(ROOMS):
                    for line in entry["lines"]:
                        counts[path][line["line_number"]] += line["count"]
    return counts


def main(source, build):
    source = os.path.realpath(source)
    counts = counts_read(source, os.path.realpath(build))
    rooms = collections.defaultdict(lambda: [0, 0])
    missing = collections.defaultdict(list)
    for path, lines in sorted(counts.items()):
        with open(os.path.join(source, path), encoding="utf-8") as f:
            text = f.read().splitlines()
        room = os.path.dirname(path)
        for number, count in sorted(lines.items()):
            rooms[room][0] += 1
            rooms[room][1] += count > 0
            if not count:
                line = text[number - 1].strip()
                group = next(name for name, pattern in GROUPS if pattern.search(line))
                missing[group].append(f"{path}:{number}: {line}")
    rooms["all"] = [sum(n) for n in zip(*rooms.values())]
    print("| room | lines | run | % |\n|---|---|---|---|", file=sys.stderr)
    for room, (lines, run) in rooms.items():
        print(f"| {room} | {lines} | {run} | {100 * run / lines:.1f} |", file=sys.stderr)
    for group, lines in missing.items():
        print(f"{group}: {len(lines)} lines", file=sys.stderr)
        print(f"== {group}", *lines, sep="\n")


main(*sys.argv[1:])
