#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""pmi_speak.py STEP…: speaks PMI-1 over PMI_FD as a rank, well or badly, and prints the answers.

A step is a line to be sent, whose answer is read; with > in front, no answer is read; with = the
text is sent as it is (with Python's escapes), without a newline. "init" stands for the opening
line, NAME in a line for the name of the key-value space, N*STEP repeats a step, "close" closes the
socket, "sleep" waits to be ended, "RANK:STEP" is for that rank alone.
"""
import os
import re
import socket
import sys
import time

sock = socket.socket(fileno=int(os.environ["PMI_FD"]))
name = "none"


def step(text):
    global name
    if text == "close":
        sock.close()
    elif text == "sleep":
        time.sleep(60)
    elif text[0] in "=>":
        data = text[1:].encode().decode("unicode_escape").encode("latin-1")
        sock.sendall(data if text[0] == "=" else data + b"\n")
    else:
        if text == "init":
            text = "cmd=init pmi_version=1 pmi_subversion=1"
        sock.sendall(text.replace("NAME", name).encode() + b"\n")
        answer = b""
        while not answer.endswith(b"\n"):
            piece = sock.recv(4096)
            if not piece:
                sys.exit("the socket was closed")
            answer += piece
        answer = answer.decode().strip()
        os.write(1, (answer + "\n").encode())  # at once, because other ranks also write
        if "kvsname=" in answer:
            name = answer.split("kvsname=")[1]


for argument in sys.argv[1:]:
    rank = re.match(r"(\d+):", argument)
    if rank and rank[1] != os.environ["PMI_RANK"]:
        continue
    argument = argument[rank.end():] if rank else argument
    times = re.match(r"(\d+)\*", argument)
    for _ in range(int(times[1]) if times else 1):
        step(argument[times.end():] if times else argument)
