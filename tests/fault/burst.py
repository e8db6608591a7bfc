#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""burst.py PORT PID FILE COUNT: that many strangers who are connected to 127.0.0.1:PORT, the
listener of the process PID, say at one time what is in FILE: the process is stopped while they do.
Prints how many of them it has accepted."""
import os
import resource
import signal
import socket
import sys
import time

LIMIT_S = 60


def sockets(pid):
    count = 0
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            count += os.readlink(f"/proc/{pid}/fd/{fd}").startswith("socket:")
        except OSError:  # it has closed it
            pass
    return count


port, pid, count = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[4])
with open(sys.argv[3], "rb") as f:
    words = f.read()
resource.setrlimit(resource.RLIMIT_NOFILE, (count + 100, count + 100))
before = sockets(pid)
strangers = [socket.create_connection(("127.0.0.1", port)) for _ in range(count)]
for s in strangers:
    s.sendall(words[:1])  # the kernel keeps those that say nothing
until = time.monotonic() + LIMIT_S
while sockets(pid) < before + count and time.monotonic() < until:
    time.sleep(0.01)
print(sockets(pid) - before)
os.kill(pid, signal.SIGSTOP)
try:
    for s in strangers:
        s.sendall(words[1:])
finally:
    os.kill(pid, signal.SIGCONT)
for s in strangers:  # each is answered, or its connection ends
    s.settimeout(LIMIT_S)
    try:
        s.recv(1)
    except ConnectionError:
        pass
