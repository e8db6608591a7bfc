#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tidy_system.py DIR [LEFT]: removes what is in DIR, as systemd-tmpfiles does with what is old
there. It locks each directory first, by flock, and leaves one alone that somebody else has locked,
with all that is in it. LEFT stays."""
import fcntl
import os
import sys


def tidy(path, left):
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(fd)
        return
    for entry in list(os.scandir(path)):
        if entry.path == left:
            continue
        if entry.is_dir(follow_symlinks=False):
            tidy(entry.path, left)
        else:
            os.unlink(entry.path)
    os.close(fd)
    try:
        os.rmdir(path)
    except OSError:
        pass  # something in it stays


for name in os.listdir(sys.argv[1]):
    path = os.path.join(sys.argv[1], name)
    if path != sys.argv[-1] and os.path.isdir(path) and not os.path.islink(path):
        tidy(path, sys.argv[-1])
