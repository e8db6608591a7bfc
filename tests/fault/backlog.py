# SPDX-License-Identifier: MIT
"""Usage: backlog.py ADDRESS

Sends UDP packets to the address without an end. The socket's buffer holds only a few, and is
emptied by the queue behind it: so that queue always has a few packets in it.
"""

import socket
import sys

with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
    s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1)  # the kernel takes its least, 4,608 bytes
    while True:
        s.sendto(b"x", (sys.argv[1], 9))
