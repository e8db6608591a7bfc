# SPDX-License-Identifier: MIT
"""A rank on each of three hosts (--elastic, --keep 2): its next host is lost, so it keeps with the
one behind that, and then it is lost itself. The one that is left restores its part.

    python_keep_next.py DIRECTORY

Files of DIRECTORY: all ranks make kept.N, N ranks being left, when they have kept; they keep on
until there is next.N.
"""
import array
import os
import sys

import mlaunch

SIZE = 40000


def part_of(rank, version):
    return array.array("q", [rank * 1000 + version]) * SIZE


def keep_until(w, version, name):
    """Keeps version after version until rank 0 of w sees that file, and returns the last one."""
    is_there = array.array("q", [0])
    while not is_there[0]:
        w.keep("part", part_of(w.id, version), version)
        version += 1
        if w.rank == 0:
            is_there[0] = os.path.exists(os.path.join(sys.argv[1], name))
        w.broadcast(is_there)
    return version - 1


def await_loss(w):
    with open(os.path.join(sys.argv[1], "kept.%d" % w.size), "a"):
        pass
    try:
        while True:
            w.barrier()
    except mlaunch.Error as e:
        if e.code != mlaunch.ERR_PEER:
            raise
    return w.repair()


w = mlaunch.init()
version = 0
for left in (3, 2):
    version = keep_until(w, version + 1, "next.%d" % left)
    w.barrier()
    w = await_loss(w)
    lost = list(w.change.left)
    assert w.kept("part", ids=lost) == version, (w.kept("part", ids=lost), version)
    for id in [w.id, *lost] if left == 2 else [w.id]:
        back = array.array("q", bytes(8 * SIZE))
        w.restore("part", back, id=id)
        assert back == part_of(id, version), (id, back[0])
        print("restored the part of", id, flush=True)
