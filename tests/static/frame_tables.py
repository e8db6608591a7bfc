#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""frame_tables.py: the tables that say what becomes of each frame in each state, as mlaunch and the
agent have them in C, and the section of doc/protocol.md that has them for people.

    frame_tables.py           prints the section
    frame_tables.py --check   compares it with the document, and every row with its table

A row has one letter a state; each letter but those for taken, refused and no channel is a reason,
which the comment above the table gives. Each frame of agent_protocol.h has one row, but for those
that are taken before any table is asked: HELLO, ANSWER and PONG by the session, DOOR by the door.
"""
import re
import sys

DOCUMENT = "doc/protocol.md"
BEGIN, END = "### Frames by state\n", "### Copies of what ranks keep\n"
PROTOCOL = "launcher/wire/protocol/agent_protocol.h"
SESSION = {"HELLO", "ANSWER", "PONG", "DOOR"}
SIDES = [
    ("AGENT_", "launcher/run/round/job_round_frames.c", "launcher/run/elastic/lives.h",
     "HOST_LIVES", "mlaunch, by the state of the host whose agent sends the frame"),
    ("LAUNCH_", "launcher/agent/agent_frames.c", "launcher/agent/run/agent.h", None,
     "the agent, by its own state"),
]


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def rows_of(text, prefix):
    """[(frame, cells)], in the order of the table."""
    block = re.search(r"#define FRAMES\(ROW\)(.*?)\n\n", text, re.S).group(1)
    return [(name.removeprefix(prefix), cells) for name, cells in
            re.findall(r"ROW\((\w+),[^\"]*\"([^\"]*)\"", block)]


def states_of(text, last):
    """The enumerators of the states, without what they have in common."""
    if last:
        body = re.search(r"enum host_life \{(.*?)\};", text, re.S).group(1)
        names = re.findall(r"\bHOST_(\w+),", body)
        return [n for n in names if "HOST_" + n != last]
    body = re.search(r"enum agent_state \{(.*?)\};", text, re.S).group(1)
    return [re.sub(r"^(HAS_SAID|IS)_", "", n) for n in re.findall(r"\bAGENT_(\w+)", body)]


def reasons_of(text):
    """The lines of the comment above the table that explain its letters, whole sentences."""
    comment = re.findall(r"/\*.*?\*/", text[:text.index("#define FRAMES")], re.S)
    comment = next(c for c in reversed(comment) if "clang-format" not in c)
    lines = [l.strip(" *") for l in comment.splitlines()]
    return [re.match(r"(\w|-)[: ] *(.*)", l).groups() for l in lines
            if re.match(r"(\w|-)(:|  )", l)]


def split_legend(legend):
    """One line may explain several letters: "t: taken. r: refused, …". """
    out = []
    for letter, words in legend:
        parts = re.split(r"\. (?=(?:\w|-): )", words)
        out.append((letter, parts[0].rstrip(".")))
        out += [(p[0], p[3:].rstrip(".")) for p in parts[1:]]
    return out


def section(problems):
    frames = re.search(r"enum agent_frame \{(.*?)\n\};", read(PROTOCOL), re.S).group(1)
    out = [BEGIN,
           "Written by tests/static/frame_tables.py from both tables in C; a test compares them.",
           ""]
    for prefix, source, header, last, title in SIDES:
        text = read(source)
        rows, states = rows_of(text, prefix), states_of(read(header), last)
        legend = split_legend(reasons_of(text))
        known = set(re.findall(r"^ +" + prefix + r"(\w+)\b", frames, re.M))
        have = {name for name, _ in rows}
        for name in sorted(known - have - SESSION):
            problems.append(f"{source}: no row for {prefix}{name}")
        for name, cells in rows:
            if len(cells) != len(states):
                problems.append(f"{source}: {name} has {len(cells)} cells for {len(states)} states")
            for letter in cells:
                if letter not in {l for l, _ in legend}:
                    problems.append(f"{source}: {name}: nothing explains {letter!r}")
        out += [f"What becomes of a frame at {title}:", ""]
        out += [f"* `{letter}` {words}" for letter, words in legend]
        out += ["", "| frame | " + " | ".join(s.lower().replace("_", " ") for s in states) + " |",
                "|---|" + "---|" * len(states)]
        out += [f"| {name} | " + " | ".join(cells) + " |" for name, cells in rows]
        out.append("")
    return "\n".join(out)


def main():
    problems = []
    written = section(problems)
    if "--check" in sys.argv:
        text = read(DOCUMENT)
        there = text[text.index(BEGIN):text.index(END)] if BEGIN in text else ""
        if there.strip() != written.strip():
            problems.append(f"{DOCUMENT}: the section differs from what this program prints")
    else:
        print(written)
    for problem in problems:
        print(problem, file=sys.stderr)
    return bool(problems)


sys.exit(main())
