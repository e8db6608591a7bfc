# SPDX-License-Identifier: MIT
"""The members of a group of torch.distributed change: torch_reconfigure.py CASE…, in a job of four
ranks. Handles go from rank to rank by a file each in the directory $EXCHANGE."""

import datetime
import os
import signal
import sys
import threading
import time

import torch
import torch.distributed as dist

import mlaunch
import mlaunch.torch
import torch_newer

ME = int(os.environ["MLAUNCH_RANK"])
IS_NEWCOMER = os.environ["MLAUNCH_RESTART"] != "0"
SECONDS = datetime.timedelta(seconds=60)


def path_of(what, rank):
    return os.path.join(os.environ["EXCHANGE"], "%s.%d" % (what, rank))


def tell(what, text):
    with open(path_of(what, ME) + ".new", "w") as f:
        f.write(text)
    os.rename(path_of(what, ME) + ".new", path_of(what, ME))


def hear(what, rank):
    while not os.path.exists(path_of(what, rank)):
        time.sleep(0.01)
    with open(path_of(what, rank)) as f:
        return f.read()


def meet(what, ranks):
    """Returns once all of these ranks have called it."""
    tell(what, "")
    for rank in ranks:
        hear(what, rank)


def handles_of(pg, ranks, what="handle"):
    tell(what, torch_newer.Backend(pg).get_reconfigure_handle())
    return [hear(what, rank) for rank in ranks]


def default():
    return dist.distributed_c10d._get_default_group()


def works(pg, ids):
    """The group's members are these, in this order, and its calls are right."""
    rank, size = ids.index(ME), len(ids)
    assert (pg.rank(), pg.size()) == (rank, size), (pg.rank(), pg.size())
    assert (pg.getRank(), pg.getSize()) == (rank, size)
    t = torch.tensor([1.0 * ME, 1.0])
    pg.allreduce([t]).wait()
    assert t.tolist() == [sum(ids), size], t
    out = [torch.zeros(1, dtype=torch.int64) for _ in ids]
    pg.allgather([out], [torch.tensor([ME])]).wait()
    assert [int(o) for o in out] == ids
    got = torch.zeros(1)
    if size > 1:
        sent = pg.send([torch.tensor([1.0 * ME])], (rank + 1) % size, 0)
        pg.recv([got], (rank - 1) % size, 0).wait()
        sent.wait()
        assert got.item() == ids[(rank - 1) % size]
    if pg is default():
        assert dist.get_rank() == rank and dist.get_world_size() == size
        dist.broadcast(got, 0)
        assert size == 1 or got.item() == ids[-1]


def fails(code, part, call, *arguments):
    try:
        call(*arguments)
    except mlaunch.Error as e:
        assert e.code == code and part in e.text, repr(e)
    else:
        raise AssertionError("no error")


def reconfigure(pg, uuid, handles, timeout=SECONDS):
    work = torch_newer.Backend(pg).reconfigure(uuid, handles, timeout, {"hint": "none"})
    assert work.wait() and work.is_completed() and work.result() == []
    assert work.get_future().wait() == []


def start():
    if not dist.is_initialized():
        dist.init_process_group("mlaunch")
    pg = default()
    torch_of = torch_newer.Backend(pg)
    assert torch_of.supports_reconfigure and torch_of.supports_shrinking
    works(pg, [0, 1, 2, 3])
    return pg


def identity():
    pg = start()
    handles = handles_of(pg, range(4), "identity")
    reconfigure(pg, 1, handles)
    works(pg, [0, 1, 2, 3])
    reconfigure(pg, 2, [handles[i] for i in (2, 0, 3, 1)])
    works(pg, [2, 0, 3, 1])
    reconfigure(pg, 3, set(handles), None)
    works(pg, [0, 1, 2, 3])
    fails(mlaunch.ERR_ARGUMENT, "opts.uuid 2 was used", reconfigure, pg, 2, handles)
    fails(mlaunch.ERR_ARGUMENT, "lacks", reconfigure, pg, 9, handles[:ME] + handles[ME + 1:])
    fails(mlaunch.ERR_ARGUMENT, "twice", reconfigure, pg, 9, handles + handles)
    fails(mlaunch.ERR_ARGUMENT, "opts.handles has 'x'", reconfigure, pg, 9, handles + ["x"])
    fails(mlaunch.ERR_ARGUMENT, "job other", reconfigure, pg, 9, handles + ["mlaunch:other:1:0"])
    works(pg, [0, 1, 2, 3])


def merge():
    """Two groups become one, and that one two others."""
    start()
    pairs = [dist.new_group([0, 1]), dist.new_group([2, 3])]
    pg = pairs[ME // 2]
    works(pg, [[0, 1], [2, 3]][ME // 2])
    handles = handles_of(pg, range(4), "merge")
    reconfigure(pg, 5, [handles[i] for i in (3, 2, 1, 0)])
    works(pg, [3, 2, 1, 0])
    reconfigure(pg, 6, [handles[i] for i in (ME % 2, ME % 2 + 2)])
    works(pg, [ME % 2, ME % 2 + 2])
    works(default(), [0, 1, 2, 3])


def shrink():
    """Without rank 1, which waits in a call on the old group; then by shrink()."""
    pg = start()
    handles = handles_of(pg, range(4), "shrink")
    if ME == 1:
        fails(mlaunch.ERR_PEER, "the group has other members now", lambda: dist.barrier())
        return
    reconfigure(pg, 7, [handles[i] for i in (0, 2, 3)])
    works(pg, [0, 2, 3])
    if ME == 3:
        fails(mlaunch.ERR_ARGUMENT, "has this rank", pg.shrink, [2])
        fails(mlaunch.ERR_ARGUMENT, "has 3 ranks", pg.shrink, [3])
    else:
        small = torch_newer.Backend(pg).shrink([2])
        works(small, [0, 2])
        smallest = torch_newer.Backend(small).shrink([1 - small.rank()])
        works(smallest, [ME])
    meet("shrunk", (0, 2, 3))
    works(pg, [0, 2, 3])  # it is as before
    meet("worked", (0, 2, 3))
    if ME == 3:
        fails(mlaunch.ERR_PEER, "SHRINK_ABORT", lambda: dist.barrier())
    else:
        small = torch_newer.Backend(pg).shrink([2], torch_newer.SHRINK_ABORT)
        works(small, [0, 2])
        fails(mlaunch.ERR_PEER, "SHRINK_ABORT", lambda: dist.barrier())


def late():
    """Rank 3 does not come: the old groups work, and the next attempt succeeds."""
    pg = start()
    handles = handles_of(pg, range(4), "late")
    if ME != 3:
        fails(mlaunch.ERR_TIMEOUT, "rank 3 on host", reconfigure, pg, 21, handles,
              datetime.timedelta(seconds=0.5))
    meet("tried", range(4))
    works(pg, [0, 1, 2, 3])
    reconfigure(pg, 22, handles[::-1])
    works(pg, [3, 2, 1, 0])
    reconfigure(pg, 23, handles)


def grow():
    """Rank 1 dies, and another process takes its place; then rank 2 leaves as a third one comes."""
    if IS_NEWCOMER:
        dist.init_process_group("mlaunch", enable_reconfigure=True)
        pg = default()
        fails(mlaunch.ERR_STATE, "call reconfigure() first", lambda: dist.barrier())
        fails(mlaunch.ERR_STATE, "call reconfigure() first", pg.shrink, [])
    else:
        pg = start()
        handles = handles_of(pg, range(4))
        if ME == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        fails(mlaunch.ERR_PEER, "rank 1 ", lambda: dist.barrier())
        fails(mlaunch.ERR_PEER, "rank 1 ", reconfigure, pg, 1, handles)
        if ME == 0:
            works(pg.shrink([1, 2, 3]), [0])
        reconfigure(pg, 2, [handles[i] for i in (3, 0, 2)])  # without a repair
        works(pg, [3, 0, 2])
        meet("worked", (0, 2, 3))
        world = mlaunch.init().repair()  # waits for the newcomer
        assert world.ids == (0, 1, 2, 3), world.ids
        fails(mlaunch.ERR_PEER, "membership", lambda: dist.barrier())
    handles = handles_of(pg, range(4), "again")
    if not IS_NEWCOMER:
        fails(mlaunch.ERR_ARGUMENT, "lacks" if ME == 1 else "twice", reconfigure, pg, 9,
              handles + [hear("handle", 1)])  # the one that is dead
    # Grow and shrink at once: rank 1 comes in, rank 2 leaves.
    if ME != 2:
        reconfigure(pg, 3, [handles[i] for i in (1, 0, 3)])
        works(pg, [1, 0, 3])
    meet("grown", range(4))
    reconfigure(pg, 4, handles)
    works(pg, [0, 1, 2, 3])


def sleeps(thread):
    """This thread has slept through 100 looks at it."""
    for _ in range(100):
        try:
            with open("/proc/self/task/%d/stat" % thread) as f:
                state = f.read().rsplit(")", 1)[1].split()[0]
        except OSError:  # it has ended
            return False
        if state != "S":
            return False
        time.sleep(0.001)
    return True


def beside(pg, call):
    """What another thread's call gets that waits on the group while this one makes `call`."""
    came = []

    def wait():
        try:  # as dist.barrier(): the thread itself is in the library's call
            lane._run(("barrier",), None, None, None, [], (), None)
        except mlaunch.Error as e:
            came.append(e)
    lane, thread = pg._calls, threading.Thread(target=wait, daemon=True)
    thread.start()
    while thread.is_alive() and not (lane.lock.locked() and sleeps(thread.native_id)):
        time.sleep(0.01)
    made = call()
    thread.join(60)
    assert not thread.is_alive(), "the other thread's call still waits"
    assert came and came[0].code == mlaunch.ERR_PEER, came
    return made, came[0].text


def abort():
    """The calls of other threads end, on all ranks, as the group gets other members."""
    pg = start()
    handles = handles_of(pg, range(4), "abort")
    if ME == 3:  # it makes no call on the group, so the others' wait
        meet("aborted", range(4))
        return
    small, why = beside(pg, lambda: torch_newer.Backend(pg).shrink([3], torch_newer.SHRINK_ABORT))
    assert "SHRINK_ABORT" in why, why
    works(small, [0, 1, 2])
    if ME < 2:
        reconfigure_of = [handles[i] for i in (1, 0)]
        _, why = beside(small, lambda: reconfigure(small, 31, reconfigure_of))
        assert "other members" in why, why
        works(small, [1, 0])
    meet("aborted", range(4))


for case in sys.argv[1:]:
    globals()[case]()
    print(case, "done", flush=True)
