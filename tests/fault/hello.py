#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""hello.py BUILD JOB PURPOSE [SIZE]: prints a HELLO, the first frame of a handshake
(doc/protocol.md), for which nobody needs the secret. With SIZE it has about that many bytes, and as
many values as fit into them."""
import json
import struct
import sys

build, job, purpose = sys.argv[1:4]
hello = json.dumps({"build": build, "job": job, "purpose": purpose, "rank": 1, "generation": 0,
                    "group": 2, "nonce": "5a" * 32}).encode()
if len(sys.argv) > 4:
    room = int(sys.argv[4]) - len(hello)
    hello = hello[:-1] + b', "x":[0' + b",0" * ((room - 10) // 2) + b"]}"
sys.stdout.buffer.write(struct.pack(">IBBH", len(hello), 1, 1, 0) + hello)
