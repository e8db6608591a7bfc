# SPDX-License-Identifier: MIT
"""hostile_clients.py PORT: clients that a server must survive, all on the loopback interface."""
import json
import os
import socket
import sys
import time

from connection import dial, hear

PORT = int(sys.argv[1])
LONG = os.environ.get("MLAUNCH_TEST_LONG")


def post(path, body, head=""):
    return (f"POST {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{head}"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}").encode()


def ask(request):
    with dial(PORT) as s:
        s.sendall(request)
        return hear(s)


def healthy():
    assert b'"ok":true' in ask(b"GET /health HTTP/1.1\r\nConnection: close\r\n\r\n")


# One byte of a next request while this one waits, and then it goes.
with dial(PORT) as s:
    s.sendall(post("/v1/completions", json.dumps({"prompt": "x", "max_tokens": 100000})) + b"G")
healthy()

# 4 MiB are read, one byte more is refused.
for extra, status in ((0, b"HTTP/1.1 400 "), (1, b"HTTP/1.1 413 ")):
    body = " " * (4 * 1024 * 1024 + extra)
    assert ask(post("/v1/completions", body)).startswith(status), (extra, status)
# curl and others ask first.
answer = ask(post("/v1/completions", " " * (4 * 1024 * 1024 + 1), "Expect: 100-continue\r\n"))
assert answer.startswith(b"HTTP/1.1 413 "), answer[:100]
assert b'"error"' in answer, answer
healthy()

# Headers without end.
with dial(PORT) as s:
    try:
        s.sendall(b"GET /health HTTP/1.1\r\nX: " + b"x" * (1 << 20))
        answer = hear(s)
    except (BrokenPipeError, ConnectionResetError):
        answer = b""
    assert b" 200 " not in answer[:20]
healthy()

# Connections that say nothing, half a head, or a head and no body, more than the server keeps, each
# made again when it is closed: others are answered meanwhile. In a process of its own, as they have
# to be made at their own pace.
HALVES = (b"", b"GET /health HTTP/1.1\r\nX", post("/v1/completions", "x" * 1000)[:-999])
for half in HALVES:
    pid = os.fork()
    if pid == 0:
        many = []
        while True:
            try:
                s = dial(PORT)
                s.sendall(half)
                many.append(s)
            except OSError:
                pass
            if len(many) == 600:
                many.pop(0).close()
    try:
        while b"llm_connections 25" not in ask(
                b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"):
            pass
        for i in range(3):
            healthy()
    finally:
        os.kill(pid, 9)
        os.waitpid(pid, 0)
healthy()

# A half request is over after some seconds, and a keep-alive connection goes on after its answer.
for half in HALVES[:2]:
    with dial(PORT) as s:
        s.sendall(half)
        assert hear(s) == b"", half
with dial(PORT) as s:
    for i in range(3):
        s.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert b'"ok":true' in s.recv(4096)

# Heads that two servers may understand differently, and what is too long: all are answered in JSON,
# and the connection is closed, so that nothing behind is a next request.
COMPLETION = b"POST /v1/completions HTTP/1.1\r\n"
CHUNKS = b"Transfer-Encoding: chunked\r\n\r\n" + (b"10000\r\n" + b" " * 65536 + b"\r\n") * 65
for text, status in (
        (COMPLETION + b"Content-Length: 3\r\nContent-Length: 40\r\n\r\n{}x", 400),
        (COMPLETION + b"Content-Length : 3\r\n\r\n{}x", 400),
        (COMPLETION + b"Content-Length: +3\r\n\r\n{}x", 400),
        (COMPLETION + b"Transfer-Encoding: xchunked\r\n\r\n3\r\n{}x\r\n0\r\n\r\n", 501),
        (COMPLETION + b"\r\n", 411),
        (COMPLETION + b"Content-Length: 9223372036854775808\r\n\r\n", 413),
        (COMPLETION + CHUNKS, 413),
        (b"GET /health HTTP/1.1\r\nContent-Length: 3\r\n\r\n{}x", 400),
        (b"GET /health HTTP/1.1\r\nX: " + b"x" * 20000 + b"\r\n\r\n", 431),
        (b"GET /health FTP\r\n\r\n", 400),
        (b"TRACE /health HTTP/1.1\r\n\r\n", 501)):
    answer = ask(text + b"GET /health HTTP/1.1\r\n\r\n")
    head, _, body = answer.partition(b"\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 %d " % status), (text[:100], answer[:200])
    error = json.loads(body)["error"]
    assert error["code"] == status and error["message"], body
    assert answer.count(b"HTTP/1.1 ") == 1, answer
# The same behind a request that is right: that one is answered, and nothing after it.
answer = ask(b"GET /health HTTP/1.1\r\n\r\n"
             b"GET /health HTTP/1.1\r\nContent-Length: 3\r\n\r\n{}x"
             b"GET /health HTTP/1.1\r\n\r\n")
assert answer.count(b"HTTP/1.1 200 ") == 1 and answer.count(b"HTTP/1.1 ") == 1, answer
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

# A head that comes byte by byte has no more time than others.
if LONG:
    with dial(PORT) as s:
        begin = time.monotonic()
        s.settimeout(1)
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
        assert 4 < time.monotonic() - begin < 600, time.monotonic() - begin
    healthy()
