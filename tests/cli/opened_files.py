# SPDX-License-Identifier: MIT
"""opened_files.py DIR: prints the name of each file below DIR that any process opens, whatever
mounts or namespaces it sees it through, from the line "watching" on until the file DIR/end is
opened."""
import ctypes
import os
import struct
import sys

IN_OPEN, IN_Q_OVERFLOW, IN_ISDIR, EVENT = 0x20, 0x4000, 0x40000000, "<iIII"

libc = ctypes.CDLL(None, use_errno=True)
fd = libc.inotify_init()
watched = {}
for place, _, _ in os.walk(sys.argv[1]):
    watch = libc.inotify_add_watch(fd, os.fsencode(place), IN_OPEN)
    if watch < 0:
        sys.exit("cannot watch %s: %s" % (place, os.strerror(ctypes.get_errno())))
    watched[watch] = place
print("watching", flush=True)
while True:
    read = os.read(fd, 1 << 16)
    while read:
        watch, mask, _, size = struct.unpack_from(EVENT, read)
        name = read[16:16 + size].rstrip(b"\0").decode()
        read = read[16 + size:]
        if mask & IN_Q_OVERFLOW:
            sys.exit("too many files were opened")
        if name == "end":
            sys.exit()
        if not mask & IN_ISDIR:
            print(os.path.join(watched[watch], name), flush=True)
