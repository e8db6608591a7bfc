#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""slow_files.py SOURCE DIR MS MBIT: shows SOURCE's files at DIR, read-only, as a file server on a
slow line would: each question takes MS milliseconds, and what is read passes at MBIT megabits a
second in all. What is known of a file is not asked again for 3 s, and what was read is kept, as NFS
does it. Prints "mounted". It speaks FUSE's protocol itself, since its library is rarely there."""
import ctypes
import errno
import os
import stat
import struct
import sys
import threading
import time

LOOKUP, FORGET, GETATTR, READLINK, OPEN, READ, STATFS, RELEASE = 1, 2, 3, 5, 14, 15, 17, 18
FLUSH, INIT, OPENDIR, READDIR, RELEASEDIR, ACCESS, BATCH_FORGET = 25, 26, 27, 28, 29, 34, 42
IN_HEADER = "<IIQQIIII"  # len, opcode, unique, nodeid, uid, gid, pid, padding
KNOWN_S, READ_MOST, KEEP_CACHE = 3, 1 << 17, 2

source, target = os.fsencode(sys.argv[1]), sys.argv[2]
delay_s, bytes_s = float(sys.argv[3]) / 1e3, float(sys.argv[4]) * 1e6 / 8
paths = {1: source}  # by node, which is the inode but for the root's
lock = threading.Lock()
line_free_at = 0.0


def wait(size):
    """The way there and back, and the turn of `size` bytes on the line."""
    global line_free_at
    with lock:
        line_free_at = max(line_free_at, time.monotonic()) + size / bytes_s
        until = line_free_at + delay_s
    time.sleep(max(0, until - time.monotonic()))


def attributes(path):
    s = os.lstat(path)
    return struct.pack("<QQQQQQIIIIIIIIII", s.st_ino, s.st_size, s.st_blocks, int(s.st_atime),
                       int(s.st_mtime), int(s.st_ctime), 0, 0, 0, s.st_mode, s.st_nlink, s.st_uid,
                       s.st_gid, 0, 4096, 0)


def looked_up(node, body):
    path = os.path.join(paths[node], body.rstrip(b"\0"))
    found = os.lstat(path).st_ino
    paths[found] = path
    return struct.pack("<QQQQII", found, 0, KNOWN_S, KNOWN_S, 0, 0) + attributes(path)


def listed(node, body):
    _, offset, size = struct.unpack_from("<QQI", body)
    out = b""
    for i, e in enumerate(sorted(os.scandir(paths[node]), key=lambda e: e.name)):
        one = struct.pack("<QQII", e.inode(), i + 1, len(e.name), 0) + e.name
        one += b"\0" * (-len(one) % 8)
        if i >= offset and len(out) + len(one) <= size:
            out += one
        elif i >= offset:
            break
    return out


def read(node, body):
    _, offset, size = struct.unpack_from("<QQI", body)
    with open(paths[node], "rb") as f:
        return os.pread(f.fileno(), size, offset)


def answer(opcode, node, body):
    if opcode == LOOKUP:
        return looked_up(node, body)
    if opcode == GETATTR:
        return struct.pack("<QII", KNOWN_S, 0, 0) + attributes(paths[node])
    if opcode == READLINK:
        return os.readlink(paths[node])
    if opcode in (OPEN, OPENDIR):
        return struct.pack("<QII", 0, KEEP_CACHE, 0)
    if opcode == READDIR:
        return listed(node, body)
    if opcode == READ:
        return read(node, body)
    if opcode in (RELEASE, RELEASEDIR, FLUSH, ACCESS):
        return b""
    if opcode == STATFS:
        return struct.pack("<QQQQQIIII24x", 0, 0, 0, 0, 0, 4096, 255, 4096, 0)
    raise OSError(errno.ENOSYS, "")


def serve(request):
    _, opcode, unique, node, *_ = struct.unpack_from(IN_HEADER, request)
    try:
        error, body = 0, answer(opcode, node, request[40:])
    except OSError as e:
        error, body = -e.errno, b""
    if opcode not in (RELEASE, RELEASEDIR, FLUSH):
        wait(len(body) if opcode == READ else 0)
    os.write(fuse, struct.pack("<IiQ", 16 + len(body), error, unique) + body)


libc = ctypes.CDLL(None, use_errno=True)
fuse = os.open("/dev/fuse", os.O_RDWR)
assert stat.S_ISDIR(os.stat(source).st_mode)
options = f"fd={fuse},rootmode=40000,user_id=0,group_id=0,allow_other"
if libc.mount(b"slow", target.encode(), b"fuse", 1, options.encode()):
    sys.exit(f"cannot mount: {os.strerror(ctypes.get_errno())}")
while True:
    request = os.read(fuse, 1 << 20)
    opcode, unique = struct.unpack_from("<IQ", request, 4)
    if opcode == INIT:
        body = struct.pack("<IIIIHHIIHHI28x", 7, 31, READ_MOST, 1, 64, 48, 4096, 1, 32, 0, 0)
        os.write(fuse, struct.pack("<IiQ", 16 + len(body), 0, unique) + body)
        print("mounted", flush=True)
    elif opcode not in (FORGET, BATCH_FORGET):
        threading.Thread(target=serve, args=(request,), daemon=True).start()
