#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""odd-agent.py: speaks an agent's protocol on stdin and stdout up to the point that $ODD names, and
then misbehaves."""
import json
import os
import signal
import struct
import sys

sys.dont_write_bytecode = True  # the source tree may be read-only
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../agent"))
from harness import (ABORTED, ANSWER, BYE, DONE, EXITED, FOLDED, HELLO, JOB, KILLED, LOST, NOTE,
                     OUTPUT, PING, PONG, QUERY, READY, REFUSED, START, STARTED, STOP)

# Sets a title, clears the screen, the same in one C1 character, turns the direction of text.
ESCAPES = "\033]0;title\007\033[2J\u009b2J\u202e\u2066\r\x7f"
# A buffer of an even size ends inside a character.
LONG = "é" * 600


def send(kind, payload=b""):
    if isinstance(payload, dict):
        payload = json.dumps(payload).encode()
    os.write(1, struct.pack(">IBBH", len(payload), 1, kind, 0) + payload)


def receive():
    header = sys.stdin.buffer.read(8)
    if len(header) < 8:
        sys.exit(0)
    size, _, kind, _ = struct.unpack(">IBBH", header)
    return kind, sys.stdin.buffer.read(size)


def finish():
    send(EXITED, {"rank": 0, "pid": 1, "status": 0})
    send(DONE, {"survivors": []})


def silent():
    while sys.stdin.buffer.read(1):
        pass
    sys.exit(0)


def main():
    odd = os.environ["ODD"]
    build = sys.argv[sys.argv.index("--build") + 1]
    if odd == "silent":
        silent()
    if odd == "garbage":
        os.write(1, b"Welcome to this host!\n")
        silent()
    if odd == "gone":
        sys.exit(7)
    if odd == "real-time":
        os.kill(os.getpid(), signal.SIGRTMIN + 1)
    if odd == "escapes-build":
        build = ESCAPES
    machine = "vax" if odd == "arch" else os.uname().machine
    send(HELLO, {"build": "0" * 16 if odd in ("build", "arch") else build, "pid": os.getpid(),
                 "arch": machine, "address": ""})
    if odd == "early":
        send(EXITED, {"rank": 0, "status": 0})
    while True:
        kind, _ = receive()
        if kind == PING:
            send(PONG)
        elif kind == BYE:
            sys.exit(0)
        elif kind == JOB and odd == "escapes-refuses":
            send(REFUSED, {"text": "no room" + ESCAPES, "status": 125})
        elif kind == START and odd == "escapes-lost":
            send(LOST, {"text": "its other half" + ESCAPES})
        elif kind == START and odd == "escapes-aborts":
            send(ABORTED, {"rank": 0, "status": 3, "why": "out of tea" + ESCAPES})
        elif kind == START and odd == "escapes-error":
            send(EXITED, {"rank": 0, "pid": 1, "status": 126, "error": "no such" + ESCAPES})
        elif kind == JOB and odd == "long-refuses":
            send(REFUSED, {"text": LONG, "status": 125})
        elif kind == START and odd == "long-error":
            send(EXITED, {"rank": 0, "pid": 1, "status": 126, "error": LONG})
        elif kind == START and odd == "long-lost":
            send(LOST, {"text": LONG})
        elif kind == START and odd == "escapes-core":
            send(EXITED, {"rank": 0, "pid": 1, "status": 0, "signal": 11,
                          "core_file": "/tmp/core" + ESCAPES})
        elif kind == JOB and odd == "never-ready":
            continue
        elif kind == START and odd == "no-done":
            send(STARTED, {"rank": 0, "pid": 1})
            send(EXITED, {"rank": 0, "pid": 1, "status": 0})
        elif kind == QUERY and odd.startswith("{"):
            send(ANSWER, json.loads(odd))
        elif kind == QUERY and odd == "many-jobs":
            jobs = range(int(os.environ["JOBS"]))
            send(ANSWER, {"jobs": [{"job": str(i), "ranks": [{"rank": 0}]} for i in jobs],
                          "orphans": []})
        elif kind == START and odd == "floods":
            send(STARTED, {"rank": 0, "pid": 1})
            for _ in range(2000):
                send(OUTPUT, struct.pack(">IB", 0, 1) + b"x" * 65535)
            finish()
        elif kind == START and odd == "floods-bytes":
            send(STARTED, {"rank": 0, "pid": 1})
            for _ in range(200000):  # 200 kB in all, but each costs memory to keep
                send(OUTPUT, struct.pack(">IB", 0, 1) + b"x")
            finish()
        elif kind == START and odd == "ends-twice":
            for _ in range(2):
                send(OUTPUT, struct.pack(">IB", 0, 1))
            finish()
        elif kind == START and odd == "notes":
            for _ in range(50000):
                send(NOTE, {"level": 1, "text": "n" * 400})
            open(os.environ["SENT"], "w", encoding="ascii").close()
            finish()
        elif kind == START and odd == "starts":
            for _ in range(60000):
                send(STARTED, {"rank": 0, "pid": 1})
            open(os.environ["SENT"], "w", encoding="ascii").close()
            finish()
        elif kind == START and odd == "escapes-last-words":
            send(NOTE, {"level": 1, "text": "a note" + ESCAPES})
            send(OUTPUT, struct.pack(">IB", 0, 2) + b"words \033[2J\n")
            send(EXITED, {"rank": 0, "pid": 1, "status": 3})
        elif kind == QUERY and odd == "escapes-answer":
            send(ANSWER, {"jobs": [{"job": "j" + ESCAPES, "user": ESCAPES, "command": ESCAPES,
                                    ESCAPES: 1, "ranks": [{"rank": 0, "name": ESCAPES}]}],
                          "orphans": [{"pid": 1, "name": ESCAPES, "directory": ESCAPES}],
                          "removed": [{"kind": ESCAPES, "path": ESCAPES}],
                          "left": [{"kind": ESCAPES, "path": ESCAPES, "text": ESCAPES}],
                          "found": "cannot", "text": ESCAPES,
                          "devices": [{"name": "d0" + ESCAPES, "error": "fails" + ESCAPES,
                                       "ports": []}]})
        elif kind == JOB and odd == "refuses":
            send(REFUSED, {"text": "no room here", "status": 125})
        elif kind == JOB and odd == "gone-later":
            sys.exit(8)
        elif kind == JOB:
            send(READY, {"coordinator": "", "warnings": ["a warning"] if odd == "warns" else []})
        elif kind == START and odd == "other-rank":
            send(STARTED, {"rank": 5, "pid": 1})
        elif kind == START and odd == "malformed":
            send(EXITED, {"rank": "zero"})
        elif kind == START and odd == "folded":
            send(FOLDED, struct.pack(">BIII", 1, 1, 0, 5) + b"x\n")
        elif kind == START and odd == "killed":
            send(KILLED, {"text": 1})
        elif kind == START and odd == "lost":
            send(LOST, {"text": "its other half is gone"})
        elif kind == START and odd == "warns":
            send(STARTED, {"rank": 0, "pid": 1})
            send(OUTPUT, struct.pack(">IB", 0, 1) + b"out\n")
            send(EXITED, {"rank": 0, "pid": 1, "status": 0})
            send(DONE, {"survivors": [{"pid": 9, "text": "in uninterruptible sleep"}]})
        elif kind == START and odd == "never-done":
            send(EXITED, {"rank": 0, "pid": 1, "status": 3})
        elif kind == STOP and odd.startswith(("lost", "other-rank", "escapes", "long")):
            send(DONE, {"survivors": []})


main()
