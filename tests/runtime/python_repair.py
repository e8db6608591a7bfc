# SPDX-License-Identifier: MIT
"""Run by python.t with `mlaunch -n 4 --elastic MIN`: rank 1 dies, and the others go on."""
import array
import os
import signal

import mlaunch


def refused(call, text):
    try:
        call()
    except mlaunch.Error as e:
        assert e.code == mlaunch.ERR_PEER and text in str(e), e
    else:
        raise AssertionError("%s has not failed" % call)


def until_broken(group):
    while True:
        group.barrier()


def sum_ids(group):
    total = array.array("q", [group.id])
    group.all_reduce(total)
    return total[0]


def main(w):
    old, me = w, w.rank
    assert w.ids == (0, 1, 2, 3) and w.id == me and not w.changed()
    assert w.change == mlaunch.Change(0, (), ())
    assert w.agree(~(1 << me)) == (1 << 64) - 16
    part, window = w.split(me % 2), w.window(64)
    window.memory[:] = bytes([me]) * 64
    w.barrier()
    if me == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    refused(lambda: until_broken(w), "rank 1 was killed by signal 9")
    assert w.changed()
    assert w.agree(6 + w.id) == (6 & 8 & 9), "those that live agree, also in a broken group"

    w = old.repair()
    assert w.change == mlaunch.Change(1, (1,), ())
    assert (w.ids, w.id, w.rank, w.size) == ((0, 2, 3), me, (0, 2, 3).index(me), 3)
    assert not w.changed() and sum_ids(w) == 5
    assert mlaunch.init() is w
    mlaunch.finalize()
    for call in (old.barrier, old.repair, old.changed, lambda: old.ids, old.host, part.barrier,
                 lambda: old.start_barrier().wait(), window.flush, lambda: old.split(0)):
        refused(call, "membership 0")
    assert bytes(window.memory) == bytes([me]) * 64
    part.free()
    window.free()
    with w.split(0) as part:
        assert part.change == w.change and part.ids == w.ids and sum_ids(part) == 5

    # Nobody dies, but one rank has lost its data.
    if w.rank == 0:
        w.revoke("it has lost its data")
    else:
        refused(lambda: until_broken(w), "has called ml_revoke")
        refused(w.barrier, "it has lost its data")
    w = w.repair()
    assert w.change == mlaunch.Change(2, (), ()) and sum_ids(w) == 5
    if w.rank == 0:
        print("those that live have gone on")


with mlaunch.init() as world:
    main(world)
try:
    mlaunch.finalize()
except mlaunch.Error as e:
    assert e.code == mlaunch.ERR_STATE, e  # the end of the block has left the job
else:
    raise AssertionError("the block has not left the job")
