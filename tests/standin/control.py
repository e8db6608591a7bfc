#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""control.py SOCKET COMMAND: says the command to a fabric of the stand-in; prints what it answers,
with status 1 if that is an error."""
import socket
import sys


def main():
    path, command = sys.argv[1:]
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(path)
        s.sendall(command.encode() + b"\n")
        answer = s.makefile().readline().rstrip("\n")
    if answer != "ok":
        print(answer)
    return 1 if answer.startswith("error") or not answer else 0


sys.exit(main())
