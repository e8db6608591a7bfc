# SPDX-License-Identifier: MIT
"""Ranks of two hosts whose parts are on both (--elastic, --keep 2): one host is lost, and those
that live restore its ranks' parts too, at the version that all have.

    python_keep_copies.py FILE

FILE is made once all have kept; the host is killed then.
"""
import array
import os
import sys

import mlaunch

SIZE = 40000


def part_of(rank, version):
    return array.array("q", [rank * 1000 + version]) * SIZE


w = mlaunch.init()
for version in range(1, 6):
    w.barrier()
    w.keep("part", part_of(w.id, version), version)
w.barrier()
if w.rank == 0:
    # Only rank 0 goes on, by one version.
    w.keep("part", part_of(0, 6), 6)
    with open(sys.argv[1], "w"):
        pass
try:
    while True:
        w.barrier()
except mlaunch.Error as e:
    if e.code != mlaunch.ERR_PEER:
        raise
    w = w.repair()
lost = list(w.change.left)
version = w.kept("part", ids=lost)
for rank in [w.id, *lost]:
    back = array.array("q", bytes(8 * SIZE))
    w.restore("part", back, id=rank)
    assert back == part_of(rank, 5), (rank, back[0])
print("restored", version, "of", [w.id, *lost], flush=True)
# The next host is gone: what is kept from now on is on this one alone, and nobody waits for it.
w.keep("part", part_of(w.id, 7), 7)
assert w.kept("part") == 7
