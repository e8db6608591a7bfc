#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""silent_fuse.py DIR: mounts a file system on DIR that accepts requests and never answers them.
A process that asks for a file there sleeps, uninterruptibly after a SIGKILL, until this program
ends. Prints "mounted", and "asked" for each request."""
import ctypes
import os
import struct
import sys

INIT = 26
IN_HEADER = "<IIQQIIII"  # len, opcode, unique, nodeid, uid, gid, pid, padding

libc = ctypes.CDLL(None, use_errno=True)
fuse = os.open("/dev/fuse", os.O_RDWR)
options = f"fd={fuse},rootmode=40000,user_id={os.getuid()},group_id={os.getgid()}"
if libc.mount(b"silent", sys.argv[1].encode(), b"fuse", 0, options.encode()):
    sys.exit(f"cannot mount: {os.strerror(ctypes.get_errno())}")
while True:
    request = os.read(fuse, 1 << 20)
    _, opcode, unique, *_ = struct.unpack_from(IN_HEADER, request)
    if opcode == INIT:
        body = struct.pack("<IIIIHHIIHHI28x", 7, 31, 4096, 0, 0, 0, 4096, 1, 0, 0, 0)
        os.write(fuse, struct.pack("<IiQ", 16 + len(body), 0, unique) + body)
        print("mounted", flush=True)
    else:
        print("asked", flush=True)
