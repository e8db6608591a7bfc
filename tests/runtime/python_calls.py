# SPDX-License-Identifier: MIT
"""The program of one rank: makes every call of the Python module, on all kinds of buffers."""
import array
import ctypes
import inspect
import os
import signal
import sys
import time

import mlaunch
from mlaunch import Error

place = mlaunch.rank(), mlaunch.size()  # before init()

try:
    import numpy as np
except ImportError:
    np = None


def refused(code, part, call, *arguments, **named):
    try:
        call(*arguments, **named)
    except Error as e:
        assert e.code == code and part in str(e) and e.text == str(e), (e.code, str(e))
    else:
        raise AssertionError("no error: " + part)


def shorter(left, right):
    """In place: of two numbers the one that is closer to 0; and of equally close ones the left."""
    for i, value in enumerate(right):
        if abs(value) < abs(left[i]):
            left[i] = value


def numpy_operators(w):
    """Matrices of 2 by 2: their product depends on the order of ranks."""
    step = np.array([[1.0, w.rank + 1], [0, 2]])
    a = np.broadcast_to(step, (3000, 2, 2)).copy()
    product = mlaunch.Operator(np.matmul, shape=(2, 2))
    expected = [np.eye(2)]
    for rank in range(w.size):
        expected.append(expected[-1] @ np.array([[1.0, rank + 1], [0, 2]]))
    out = np.zeros_like(a)
    assert w.all_reduce(a, out, op=product) is out and (out == expected[-1]).all()
    assert (w.start_scan(a, out, op=product).wait() == expected[w.rank + 1]).all()
    w.start_exclusive_scan(a, out, op=product).wait()
    assert w.rank == 0 or (out == expected[w.rank]).all()
    pair = np.zeros(5, np.dtype([("value", "f8"), ("rank", "i4")]))
    pair["value"], pair["rank"] = -w.rank, w.rank
    w.all_reduce(pair, op=mlaunch.Operator(lambda a, b: np.where(a["value"] < b["value"], a, b)))
    assert (pair["rank"] == w.size - 1).all()
    refused(mlaunch.ERR_ARGUMENT, "data: 4 bytes are not a whole number of 16-byte", w.all_reduce,
            np.zeros(1, "f4"), op=product)


def operators(w):
    a = array.array("h", [w.rank + 1, -w.rank, 100] * 1000)
    assert w.all_reduce(a, op=mlaunch.Operator(shorter, commutative=True)) is a
    assert a == array.array("h", [1, 0, 100] * 1000)
    a, b = array.array("d", [w.rank] * w.size), array.array("d", [-1])
    first = mlaunch.Operator(lambda left, right: left)
    assert w.start_reduce_scatter(a, b, op=first).wait() is b and b[0] == 0
    w.reduce(a, root=w.size - 1, op=mlaunch.Operator(lambda left, right: right, shape=1))
    assert a[0] == w.rank
    if np:
        numpy_operators(w)
    refused(mlaunch.ERR_ARGUMENT, "mlaunch.Operator(", w.all_reduce, a, op=shorter)
    refused(mlaunch.ERR_ARGUMENT, "type: an Operator gets", w.all_reduce, a, op=first,
            type=mlaunch.INT8)
    refused(mlaunch.ERR_ARGUMENT, "function is 7", mlaunch.Operator, 7)


def fail():
    """An exception in an operator ends the job."""
    def wrong(left, right):
        raise ValueError("no such number")
    w = mlaunch.init()
    w.all_reduce(array.array("d", [1] * 10000), op=mlaunch.Operator(wrong))
    time.sleep(60)


def reductions(w):
    total = sum(range(w.size))
    for typecode in "bBhHiIlLqQfd":
        a = array.array(typecode, [w.rank, 1])
        assert w.all_reduce(a) is a and list(a) == [total, w.size], (typecode, a)
    a, out = array.array("d", [w.rank]), array.array("d", [7])
    assert w.all_reduce(a, out, op=mlaunch.MAX) is out
    assert list(out) == [w.size - 1] and list(a) == [w.rank]
    b = bytearray([1 << w.rank])
    assert w.all_reduce(memoryview(b), op=mlaunch.OR) and b[0] == (1 << w.size) - 1
    out = bytearray(1)
    w.all_reduce(bytes([w.rank + 1]), out, op=mlaunch.MIN)  # only read: bytes will do
    assert out[0] == 1
    c = (ctypes.c_int * 2)(w.rank, 2)
    w.all_reduce(c, op=mlaunch.PROD)
    assert list(c) == [0, 2 ** w.size]

    one = array.array("H", [0x3F80])  # bfloat16's 1
    w.all_reduce(one, type=mlaunch.BFLOAT16)
    assert one[0] == array.array("I", array.array("f", [w.size]).tobytes())[0] >> 16

    a = array.array("i", [w.rank])
    w.reduce(a, root=w.size - 1)
    assert a[0] == (total if w.rank == w.size - 1 else w.rank)
    w.reduce(bytes(array.array("i", [w.rank])), array.array("i", [0]) if w.rank == 0 else None,
             type=mlaunch.INT32)
    a, out = array.array("i", [w.rank]), array.array("i", [-1])
    assert w.scan(a, out) is out and out[0] == sum(range(w.rank + 1)) and a[0] == w.rank
    assert w.start_exclusive_scan(a, out, op=mlaunch.MAX).wait() is out
    assert out[0] == w.rank - 1 if w.rank else out[0] == 0
    assert w.exclusive_scan(a) is a and a[0] == sum(range(w.rank))
    a, out = array.array("q", [10 * j + w.rank for j in range(w.size)]), array.array("q", [0])
    assert w.reduce_scatter(a, out)[0] == 10 * w.rank * w.size + total


def movements(w):
    everyone = b"".join(b"r%d" % r for r in range(w.size))
    me = b"r%d" % w.rank
    assert w.all_gather(me, bytearray(2 * w.size)) == everyone
    assert w.broadcast(bytearray(me), root=w.size - 1) == b"r%d" % (w.size - 1)
    assert w.gather(me, bytearray(2 * w.size) if w.rank == 0 else None) == (
        everyone if w.rank == 0 else None)
    root = 1 % w.size
    assert w.scatter(everyone if w.rank == root else None, bytearray(2), root=root) == me
    a = bytearray(10 * w.rank + j for j in range(w.size))
    assert w.all_to_all(a) is a and list(a) == [10 * j + w.rank for j in range(w.size)]
    assert w.all_to_all(bytes(a), bytearray(w.size)) == bytes(
        10 * w.rank + j for j in range(w.size))

    counts = [r + 1 for r in range(w.size)]
    mine = array.array("h", [w.rank] * (w.rank + 1))
    whole = [r for r in range(w.size) for _ in range(r + 1)]
    out = array.array("h", [0] * len(whole))
    assert w.all_gather_v(mine, out, counts) is out and list(out) == whole
    out = array.array("h", [-1] * (2 * w.size * w.size))
    w.start_all_gather_v(mine, out, counts, [2 * w.size * r for r in range(w.size)]).wait()
    assert all(out[2 * w.size * r:2 * w.size * (r + 1)].tolist() ==
               [r] * (r + 1) + [-1] * (2 * w.size - r - 1) for r in range(w.size))
    # Rank i sends j + 1 of its numbers to rank j.
    data, out = array.array("q", [w.rank] * len(whole)), array.array("q", [0] * 99)
    for start in (False, True):
        call = w.start_all_to_all_v if start else w.all_to_all_v
        done = call(data, counts, out, [w.rank + 1] * w.size, None, range(0, 99, w.rank + 1)
                    [:w.size])
        assert (done.wait() if start else done) is out
        assert list(out[:w.size * (w.rank + 1)]) == [
            r for r in range(w.size) for _ in range(w.rank + 1)]

    right, left = (w.rank + 1) % w.size, (w.rank - 1) % w.size
    assert w.sendrecv(me, right, bytearray(2), left) == b"r%d" % left
    assert w.sendrecv(me, mlaunch.NOBODY, bytearray(2), mlaunch.NOBODY) == bytes(2)
    if w.size > 1:
        if w.rank == 0:
            w.send(b"", 1)
            w.send(array.array("d", [1.5]), 1)
        elif w.rank == 1:
            w.recv(bytearray(), 0)
            assert w.recv(array.array("d", [0]), 0)[0] == 1.5
    w.barrier()


def tags(w):
    right, left = (w.rank + 1) % w.size, (w.rank - 1) % w.size
    a, b, c = bytearray(9), bytearray(9), array.array("d", [0, 0])
    comes = w.start_recv_tag(c, tag=7)
    sent = [w.start_send_tag(b"one", right, 1), w.start_send_tag(b"three", right, 3),
            w.start_send_tag(array.array("d", [2.5]), right, 7)]
    status = w.recv_tag(a, left, 3)
    assert (status.source, status.tag, status.size) == (left, 3, 5) and a[:5] == b"three"
    status = w.probe(tag=1)
    assert repr(status) == "<mlaunch.Status: 3 bytes from rank %d with tag 1>" % left
    assert w.try_probe(left, 1).size == 3 and w.try_probe(left, 4) is None
    assert w.recv_tag(b).size == 3 and b[:3] == b"one"
    status = comes.wait()
    assert status.size == 8 and status.source == left and c.tolist() == [2.5, 0]
    for s in sent:
        assert s.wait() is None
    assert w.recv_tag(b, mlaunch.NOBODY).source == mlaunch.NOBODY
    w.send_tag(b"", mlaunch.NOBODY, 0)
    refused(mlaunch.ERR_ARGUMENT, "tag is -1, but tags are 0 and more", w.send_tag, b"", right, -1)
    w.barrier()


def objects(w):
    right, left = (w.rank + 1) % w.size, (w.rank - 1) % w.size
    mine = {"rank": w.rank, "words": ["x" * 1000] * w.rank}
    if w.rank % 2 or w.size == 1:
        w.send_object(mine, right)
        came = w.recv_object(left)
    else:
        came = w.recv_object(left)
        w.send_object(mine, right)
    assert came == {"rank": left, "words": ["x" * 1000] * left}, came
    for root in (0, w.size - 1):
        got = w.broadcast_object(mine if w.rank == root else None, root)
        assert got["rank"] == root and (got is mine) == (w.rank == root)
        all_ = w.gather_object(mine, root)
        assert all_ is None if w.rank != root else [o["rank"] for o in all_] == list(range(w.size))
    assert [o["words"] for o in w.all_gather_object(mine)] == [
        ["x" * 1000] * rank for rank in range(w.size)]
    assert w.all_gather_object(mine)[w.rank] is mine
    assert w.broadcast_object(w.size) == w.size and w.recv_object(mlaunch.NOBODY) is None
    w.send_object(None, mlaunch.NOBODY)
    # Another message than that of an object leaves the group in order.
    w.send(array.array("q", [1, 1]), w.rank)
    refused(mlaunch.ERR_ARGUMENT, "sent no object", w.recv_object, w.rank)
    # What can't be pickled fails before anything is sent.
    try:
        w.broadcast_object(lambda: 0, w.rank)
    except Exception as e:
        assert "local object" in str(e), e  # "pickle" only up to Python 3.12
    else:
        raise AssertionError("a lambda was pickled")
    w.barrier()


def names(w):
    """What help() and editors show, and what can be asked before init()."""
    assert place == (mlaunch.rank(), mlaunch.size()) == (w.rank, w.size)
    assert w.host() == w.host(w.rank)
    assert mlaunch.version().startswith(mlaunch.__version__ + " (")
    for name in ("all_reduce", "reduce", "reduce_scatter", "scan", "exclusive_scan", "all_gather",
                 "all_to_all", "all_gather_v", "all_to_all_v", "broadcast", "gather", "scatter",
                 "send", "recv", "sendrecv", "send_tag", "recv_tag", "barrier"):
        call, start = (inspect.signature(getattr(mlaunch.Group, prefix + name))
                       for prefix in ("", "start_"))
        assert list(call.parameters.values()) == list(start.parameters.values()), name
        assert start.return_annotation == "Request"
    assert "= mlaunch.SUM," in str(inspect.signature(mlaunch.Group.all_reduce))
    assert repr(mlaunch.FLOAT32) == "mlaunch.FLOAT32" and "%s" % mlaunch.ERR_PEER == "-5"
    assert mlaunch.SUM == 0 and mlaunch.COMPLEX64 == 13 and mlaunch.ERR_SYSTEM == -10
    assert all(hasattr(mlaunch, name) for name in mlaunch.__all__)


def groups(w):
    assert mlaunch.init() is w
    mlaunch.finalize()  # the second of two: w lives on
    assert isinstance(w.host(0), str) and w.host(0)
    refused(mlaunch.ERR_ARGUMENT, "rank", w.host, w.size)
    assert w.split(-1) is None
    with w.split(w.rank % 2, key=-w.rank) as half:
        ranks = [r for r in range(w.size - 1, -1, -1) if r % 2 == w.rank % 2]
        assert half.size == len(ranks) and ranks[half.rank] == w.rank
        a = array.array("i", [w.rank])
        assert half.all_reduce(a)[0] == sum(ranks)
    refused(mlaunch.ERR_STATE, "the group is gone", half.barrier)


def started(w):
    total, left, right = sum(range(w.size)), (w.rank - 1) % w.size, (w.rank + 1) % w.size
    a, got = array.array("d", [w.rank, 1] * 50000), bytearray(3)
    sums, comes = w.start_all_reduce(a), w.start_recv(got, left)
    refused_now(a.append, 1)  # held until it is done
    goes = w.start_send(bytes([w.rank] * 3), right)
    assert comes.wait() is got and got == bytes([left] * 3)
    while not sums.test():
        pass
    assert sums.wait() is a and a[0] == total and a[-1] == w.size
    a.append(1)
    assert goes.wait() is None and goes.test()
    b, out = bytearray([w.rank]), bytearray(w.size)
    assert w.start_all_gather(b, out).wait() == bytes(range(w.size))
    w.start_all_reduce(b)  # forgotten: done all the same, before the next call on the group
    w.barrier()
    assert b[0] == total % 256
    assert w.start_barrier().wait() is None
    assert w.should_stop() is w.should_stop(every=3) is False
    refused(mlaunch.ERR_ARGUMENT, "every is 0", w.should_stop, 0)
    refused(mlaunch.ERR_ARGUMENT, "root is", w.start_broadcast, b, root=w.size)
    refused(mlaunch.ERR_ARGUMENT, "2 needed", w.start_reduce, bytes(2), bytearray(1), root=w.rank)


def refused_now(call, *arguments):
    try:
        call(*arguments)
    except BufferError:
        return
    raise AssertionError("no error")


def slips(w):
    a = array.array("d", [1, 2])
    bad = mlaunch.ERR_ARGUMENT
    refused(bad, "data: bytes can't be used as a contiguous writable buffer", w.all_reduce, b"ab")
    refused(bad, "data: int can't be used", w.all_reduce, 3)
    refused(bad, "memoryview", w.all_reduce, memoryview(bytearray(8))[::2])
    refused(bad, "xor makes no sense for float64", w.all_reduce, a, op=mlaunch.XOR)
    refused(bad, "out: 8 bytes, 16 needed", w.all_reduce, a, array.array("d", [0]))
    refused(bad, "type is 99", w.all_reduce, a, type=99)
    refused(bad, "3 bytes are not a whole number of 2-byte elements", w.all_reduce, bytearray(3),
            type=mlaunch.FLOAT16)
    refused(bad, "out: 5 bytes", w.all_gather, b"ab", bytearray(5))
    ones = [1] * w.size
    refused(bad, "counts: 0 integers for", w.all_gather_v, b"a", bytearray(9), [])
    refused(bad, "counts is 1: give a list", w.all_gather_v, b"a", bytearray(9), 1)
    refused(bad, "data: 2 bytes, but counts", w.all_gather_v, b"ab", bytearray(9), ones)
    refused(bad, "out: 0 bytes, but the blocks end", w.all_gather_v, b"a", bytearray(), ones)
    refused(bad, "sends itself a block of 1 bytes", w.all_to_all_v, bytes(9), ones, bytearray(99),
            [2] * w.size)
    if w.size > 1:
        refused(bad, "overlap in out", w.all_gather_v, b"a", bytearray(9), ones, [0] * w.size)
    refused(bad, "the group has ranks", w.broadcast, a, root=99)
    for call, name, *arguments in (
            (w.all_reduce, "data", None), (w.reduce, "data", None),
            (w.reduce_scatter, "data", None, a), (w.reduce_scatter, "out", a, None),
            (w.all_gather, "data", None, a), (w.all_gather, "out", a, None),
            (w.all_to_all, "data", None), (w.broadcast, "data", None),
            (w.gather, "data", None, a, w.rank),
            (w.scatter, "data", None, a, w.rank), (w.scatter, "out", a, None, w.rank),
            (w.send, "data", None, 0), (w.recv, "out", None, 0),
            (w.sendrecv, "data", None, 0, a, 0), (w.sendrecv, "out", a, 0, None, 0),
            (w.start_all_reduce, "data", None)):
        refused(bad, name + ": NoneType can't be used as a contiguous", call, *arguments)
    refused(bad, "out: root needs one of %d x " % w.size, w.gather, a, None, w.rank)
    w.barrier()  # and nothing is broken by a slip


def arrays(w):
    total = sum(range(w.size))
    for dtype in ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8"):
        a = np.full((2, 3), w.rank, dtype)
        assert w.all_reduce(a) is a and (a == np.array(total).astype(dtype)).all(), (dtype, a)
    a, out = np.arange(4, dtype="f4") + w.rank, np.zeros(4, "f4")
    w.all_reduce(a, out)
    assert (out == np.arange(4) * w.size + total).all()
    assert w.all_gather(np.float64(w.rank), np.zeros(w.size)).tolist() == list(range(w.size))
    refused(mlaunch.ERR_ARGUMENT, "contiguous", w.all_reduce, np.zeros((3, 4))[:, ::2])
    refused(mlaunch.ERR_ARGUMENT, "byte order", w.all_reduce, np.zeros(3, ">f8"))
    refused(mlaunch.ERR_ARGUMENT, "no type for elements of complex128", w.all_reduce,
            np.zeros(3, "c16"))


def memory(w):
    a, b = mlaunch.alloc(8 * 100000, "d"), mlaunch.alloc(8 * 100000)
    assert len(a) == 100000 and a[0] == 0 and len(b) == 800000 and not b.readonly
    a[0], a[99999] = w.rank, 1.5
    w.all_reduce(a, b.cast("d"))
    assert b.cast("d")[0] == sum(range(w.size)) and b.cast("d")[99999] == 1.5 * w.size
    part = b.cast("d")[99990:]
    del a, b  # what uses it keeps it
    assert part[9] == 1.5 * w.size
    assert len(mlaunch.alloc(0)) == 0
    refused(mlaunch.ERR_MEMORY, "bytes", mlaunch.alloc, 1 << 60)
    if np:
        c = np.frombuffer(mlaunch.alloc(4 * 6), "f4").reshape(2, 3)
        c[:] = w.rank
        assert (w.all_reduce(c) == sum(range(w.size))).all()
    for _ in range(1000):  # freed: else 100 GB
        mlaunch.alloc(100 << 20)


def late_mismatch():
    """Two ranks that broadcast as roots and make no further call: finalize() is the last to notice.

    It has left the job all the same."""
    w = mlaunch.init()
    part = w.split(0, w.rank)
    w.broadcast(bytearray(64), root=w.rank)
    mark = os.environ["MLAUNCH_JOB_DIR"] + "/sent.%d"
    open(mark % w.rank, "w").close()
    while not os.path.exists(mark % (1 - w.rank)):
        time.sleep(0.01)
    refused(mlaunch.ERR_MISMATCH, "broadcast of 64 bytes from rank", mlaunch.finalize)
    again = mlaunch.init()
    parts = [again.split(0, again.rank) for _ in range(2)]
    refused(mlaunch.ERR_STATE, "the group is gone", part.barrier)
    assert again is not w and part not in parts
    refused(mlaunch.ERR_STATE, "the group is gone", w.barrier)
    mlaunch.finalize()
    refused(mlaunch.ERR_STATE, "the group is gone", again.barrier)
    refused(mlaunch.ERR_STATE, "without ml_init", mlaunch.finalize)


def interrupted():
    """Ctrl-C while rank 0 waits: the wait ends as it would, then KeyboardInterrupt is raised; group
    and request are as after any wait."""
    w = mlaunch.init()
    data = array.array("q", [0])
    for starts in (True, False):
        if w.rank == 1:
            pid = w.recv(data, 0)[0]
            while not sleeps(pid):
                time.sleep(0.01)
            os.kill(pid, signal.SIGINT)
            w.send(array.array("q", [7]), 0)
        else:
            w.send(array.array("q", [os.getpid()]), 1)
            try:
                w.start_recv(data, 1).wait() if starts else w.recv(data, 1)
                time.sleep(60)
            except KeyboardInterrupt:
                assert data[0] == 7 and not mlaunch._call._calls, (data, mlaunch._call._calls)
                data.append(0)  # nothing holds it any more
                data.pop()
        w.barrier()
    mlaunch.finalize()


def sleeps(pid):
    """The process's main thread has slept through 100 looks at it."""
    for _ in range(100):
        with open("/proc/%d/stat" % pid) as f:
            if f.read().rsplit(")", 1)[1].split()[0] != "S":
                return False
        time.sleep(0.001)
    return True


if sys.argv[1:] == ["interrupted"]:
    interrupted()
    sys.exit()
if sys.argv[1:] == ["late-mismatch"]:
    late_mismatch()
    sys.exit()
if sys.argv[1:] == ["fail"]:
    fail()

world = mlaunch.init()
memory(world)
reductions(world)
operators(world)
movements(world)
tags(world)
objects(world)
names(world)
groups(world)
started(world)
slips(world)
if np:
    arrays(world)
if len(sys.argv) > 1 and sys.argv[1] == "abort":
    if world.rank == 0:
        mlaunch.abort(9, "no more to do")
    world.barrier()
if len(sys.argv) > 1 and sys.argv[1] == "die":
    if world.rank == 0:
        sys.exit(3)
    refused(mlaunch.ERR_PEER, "rank 0", world.start_recv(bytearray(1), 0).wait)
    refused(mlaunch.ERR_PEER, "rank 0", world.barrier)
    sys.exit(4)
mlaunch.finalize()
refused(mlaunch.ERR_STATE, "the group is gone", world.barrier)
if world.rank == 0:
    print("all calls are right%s" % (", with numpy" if np else ""))
