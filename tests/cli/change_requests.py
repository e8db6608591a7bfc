#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""change_requests.py JOB: sends what is no request to the socket of that job's mlaunch
(job_socket.h), and fails unless each is refused in a sentence, or its connection closed."""
import json
import os
import socket
import sys

BAD = [
    b"\n",
    b"[]\n",
    b"{}\n",
    b'{"what":"shrink"}\n',
    b'{"what":"shrink","ranks":7}\n',
    b'{"what":"shrink","ranks":""}\n',
    b'{"what":"shrink","ranks":"99999999999"}\n',
    b'{"what":"shrink","ranks":"2-1"}\n',
    b'{"what":"shrink","ranks":"' + b"0," * 900 + b'0"}\n',
    b'{"what":"melt","ranks":"1"}\n',
    b"\xff\x00\n",
    b"x" * 100000,
]


def connect():
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(30)
    s.connect(f"\0mlaunch-{os.geteuid()}-{sys.argv[1]}")
    return s


def ask(request):
    """The answers until the end of the connection."""
    s = connect()
    said = b""
    try:
        s.sendall(request)
    except (BrokenPipeError, ConnectionResetError):
        pass  # it has been refused before its end
    try:
        while piece := s.recv(4096):
            said += piece
    except (BrokenPipeError, ConnectionResetError):
        pass
    return said


for bad in BAD:
    lines = ask(bad).splitlines()
    assert len(lines) == 1, (bad[:40], lines)
    answer = json.loads(lines[0])
    assert answer["status"] == 1 and answer["text"], (bad[:40], answer)
idle = [connect() for _ in range(16)]
assert ask(b"{}\n") == b"", "no more than 16 connections are served at once"
for s in idle:
    s.close()
