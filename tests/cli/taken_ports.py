#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""taken_ports.py PORT…: listens on them, says so, and stays until its input ends."""
import socket
import sys

doors = [socket.create_server(("", int(port))) for port in sys.argv[1:]]
print(len(doors), flush=True)
sys.stdin.read()
