# SPDX-License-Identifier: MIT
"""Prints a TCP port of 127.0.0.1 that is free, below those that connections get by themselves."""
import random
import socket

while True:
    port = random.randrange(20000, 32000)
    try:
        socket.create_server(("127.0.0.1", port)).close()
    except OSError:
        continue
    break
print(port)
