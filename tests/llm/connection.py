# SPDX-License-Identifier: MIT
"""connection.py: a connection of a test's client to a server on the loopback interface."""
import socket


def dial(port):
    return socket.create_connection(("127.0.0.1", port), timeout=60)


def hear(s):
    """All that comes until the connection ends."""
    text = b""
    while True:
        try:
            piece = s.recv(65536)
        except ConnectionResetError:
            return text
        if not piece:
            return text
        text += piece
