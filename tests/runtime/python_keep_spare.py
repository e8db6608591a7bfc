# SPDX-License-Identifier: MIT
"""Ranks that keep their parts until there is FILE, also while a host is lost and another one takes
its place (--elastic, --restarts, --keep 2): then all restore the version that they had.

    python_keep_spare.py FILE
"""
import array
import os
import sys

import mlaunch

SIZE = 40000


def part_of(rank, version):
    return array.array("q", [rank * 1000000 + version]) * SIZE


def restore(w):
    """The version that all have, or 0."""
    version = w.kept("part")
    if version is None:
        return 0
    back = array.array("q", bytes(8 * SIZE))
    w.restore("part", back)
    assert back == part_of(w.id, version), (w.id, version, back[0])
    print("restored", flush=True)
    return version


w = mlaunch.init()
is_new = os.environ.get("MLAUNCH_RESTART", "0") != "0"
version = restore(w)
assert is_new == (version > 0), version
is_over = array.array("q", [0])
while not is_over[0]:
    try:
        w.keep("part", part_of(w.id, version + 1), version + 1)
        version += 1
        is_over[0] = w.rank == 0 and os.path.exists(sys.argv[1])
        w.broadcast(is_over)
        w.barrier()
    except mlaunch.Error as e:
        if e.code != mlaunch.ERR_PEER:
            raise
        is_over[0] = 0
        w = w.repair()
        version = restore(w)
