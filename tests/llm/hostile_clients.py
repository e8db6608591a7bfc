# SPDX-License-Identifier: MIT
"""hostile_clients.py PORT: clients that a server must survive, all on the loopback interface."""
import json
import os
import socket
import sys
import time

PORT = int(sys.argv[1])
LONG = os.environ.get("MLAUNCH_TEST_LONG")


def dial():
    return socket.create_connection(("127.0.0.1", PORT), timeout=60)


def post(path, body, head=""):
    return (f"POST {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{head}"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}").encode()


def hear(s):
    text = b""
    while True:
        try:
            piece = s.recv(65536)
        except ConnectionResetError:
            return text
        if not piece:
            return text
        text += piece


def ask(request):
    with dial() as s:
        s.sendall(request)
        return hear(s)


def healthy():
    assert b'"ok":true' in ask(b"GET /health HTTP/1.1\r\nConnection: close\r\n\r\n")


# One byte of a next request while this one waits, and then it goes.
with dial() as s:
    s.sendall(post("/v1/completions", json.dumps({"prompt": "x", "max_tokens": 100000})) + b"G")
healthy()

# 4 MiB are read, one byte more is refused.
for extra, status in ((0, b"HTTP/1.1 400 "), (1, b"HTTP/1.1 413 ")):
    body = " " * (4 * 1024 * 1024 + extra)
    assert ask(post("/v1/completions", body)).startswith(status), (extra, status)
# curl and others ask first.
answer = ask(post("/v1/completions", " " * (4 * 1024 * 1024 + 1), "Expect: 100-continue\r\n"))
assert answer.startswith(b"HTTP/1.1 413 "), answer[:100]
healthy()

# Headers without end.
with dial() as s:
    try:
        s.sendall(b"GET /health HTTP/1.1\r\nX: " + b"x" * (1 << 20))
        answer = hear(s)
    except (BrokenPipeError, ConnectionResetError):
        answer = b""
    assert b" 200 " not in answer[:20]
healthy()

# 300 connections that say nothing; those beyond the limit wait until others go.
many = [dial() for i in range(300)]
many[0].sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
assert b'"ok":true' in many[0].recv(4096)
for s in many:
    s.close()
healthy()

# A reader that takes nothing: the others are answered meanwhile.
slow = socket.socket()
slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
slow.connect(("127.0.0.1", PORT))
slow.sendall(post("/v1/completions",
                  json.dumps({"prompt": "x", "max_tokens": 100000, "stream": True})))
answer = ask(post("/v1/completions", json.dumps({"prompt": "y", "max_tokens": 8})))
assert b'"completion_tokens":8' in answer, answer
slow.close()

# A request that comes byte by byte is cut after a minute.
if LONG:
    with dial() as s:
        begin = time.monotonic()
        s.settimeout(2)
        s.sendall(b"GET /health HTTP/1.1\r\n")
        while time.monotonic() < begin + 600:
            try:
                s.sendall(b"X")
                if not s.recv(1):
                    break
            except socket.timeout:
                continue
            except OSError:
                break
        assert 50 < time.monotonic() - begin < 600, time.monotonic() - begin
    healthy()
