# SPDX-License-Identifier: MIT
"""The program of one rank: pools, and transfers from rank 0 (the producer) to the last rank (the
consumer). The names are those of the tests of a connector that users move from."""
import contextlib
import ctypes
import gc
import hashlib
import sys
import threading

import mlaunch
from mlaunch import Error, Pool, Transfer

try:
    import numpy as np
except ImportError:
    np = None
torch = None

# Another package of the process uses the same functions of Python, with types of its own.
for function in "PyBytes_FromStringAndSize", "PyBytes_AsString", "PyObject_GetBuffer":
    getattr(ctypes.pythonapi, function).argtypes = []
ctypes.pythonapi.PyBytes_AsString.restype = ctypes.c_char

KIB, MIB = 1 << 10, 1 << 20


def refused(code, part, call, *arguments, **named):
    try:
        call(*arguments, **named)
    except Error as e:
        assert e.code == code and part in str(e), (e.code, str(e))
    else:
        raise AssertionError("no error: " + part)


def together(count, work):
    """Runs work(0), work(1), … in threads; raises what one of them has raised."""
    failed = []

    def run(i):
        try:
            work(i)
        except BaseException as e:
            failed.append(e)
    threads = [threading.Thread(target=run, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]


def pattern(size, seed=0):
    piece = bytes((i * 7 + seed * 31 + (i >> 8) * 3) & 255 for i in range(min(size, 64 * KIB)))
    return (piece * (size // len(piece) + 1))[:size]


def md5(data):
    return hashlib.md5(data).hexdigest()


# ---- BufferAllocator, AllocatorInvariants ----

def basic_alloc_free():
    pool = Pool(1024)
    a, b = pool.alloc(100), pool.alloc(100)
    assert (a.offset, b.offset, len(a)) == (0, 128, 100)
    a.release()
    assert pool.alloc(64).offset == 0


def alignment():
    pool = Pool(1024, 128)
    kept = [pool.alloc(1 + i) for i in range(8)]
    assert [b.offset for b in kept] == list(range(0, 1024, 128))
    refused(mlaunch.ERR_ARGUMENT, "a power of two", Pool, 1024, 48)
    refused(mlaunch.ERR_ARGUMENT, "size is 0", pool.alloc, 0)


def exhaustion_and_recovery():
    pool = Pool(1024)
    all_ = pool.alloc(1024)
    refused(mlaunch.ERR_MEMORY, "0 of 1024 bytes are free", pool.alloc, 1)
    all_.release()
    assert pool.left() == (1024, 1024)
    assert pool.alloc(1024).offset == 0


def thread_safety():
    pool = Pool(10 * 1024)

    def work(i):
        for round_ in range(100):
            with pool.alloc(1 + (round_ * 37) % 1000) as b:
                b.memory[:] = bytes([i]) * b.size
                assert b.tobytes() == bytes([i]) * b.size
    together(10, work)
    assert pool.left() == (10 * 1024, 10 * 1024)


def double_free_exact_is_safe():
    pool = Pool(1024)
    a, b = pool.alloc(64), pool.alloc(64)
    a.release()
    a.release()
    c = pool.alloc(64)
    a.release()  # not c's memory
    assert (c.offset, b.offset) == (0, 64) and pool.left()[0] == 1024 - 128
    c.memory[0] = 1
    refused(mlaunch.ERR_STATE, "was released", lambda: a.memory)


def double_free_after_merge_is_safe():
    pool = Pool(1024)
    a, b = pool.alloc(64), pool.alloc(64)
    for buffer in (a, b, b, a):
        buffer.release()
    assert pool.left() == (1024, 1024)


def merge_adjacent_blocks():
    pool = Pool(192)
    a, b, c = (pool.alloc(64) for _ in range(3))
    for buffer in (b, a, c):
        buffer.release()
    whole = pool.alloc(192)
    assert whole.offset == 0


def fragmentation_and_defrag():
    pool = Pool(256)
    a, b, c, d = (pool.alloc(64) for _ in range(4))
    b.release()
    d.release()
    refused(mlaunch.ERR_MEMORY, "at most 64 of them in one piece", pool.alloc, 128)
    a.release()
    c.release()
    assert pool.alloc(256).offset == 0


# ---- ManagedBuffer ----

def tensor_view():
    pool = Pool(4 * KIB)
    buffer = pool.alloc(96)
    view = buffer.memory.cast("f")
    view[:] = memoryview(bytes(96)).cast("f")
    view[5] = 1.5
    if np:
        a = buffer.numpy("f4", (4, 6))
        assert a[0, 5] == 1.5 and a.base is not None
        a[3, 5] = 2
        assert view[23] == 2 and buffer.numpy().shape == (96,)
        assert buffer.numpy("f8", 3).shape == (3,) and buffer.numpy("i8", (-1, 3)).shape == (4, 3)
        refused(mlaunch.ERR_ARGUMENT, "too small", buffer.numpy, "f8", 13)
    if torch:
        t = buffer.torch(torch.float32, (4, 6))
        assert t[0, 5] == 1.5
        t[0, 0] = 9
        assert view[0] == 9 and buffer.torch().numel() == 96
    # The last view gives the memory back.
    view = None
    del buffer
    if np:
        assert a[3, 5] == 2 and pool.left()[0] < pool.size
        del a
    t = None
    gc.collect()
    assert pool.left()[0] == pool.size


def context_manager_releases():
    with Pool(1024) as pool:
        with pool.alloc(1024) as buffer:
            buffer.memory[0] = 7
        assert pool.left()[0] == 1024
    refused(mlaunch.ERR_STATE, "the pool was closed", pool.alloc, 1)
    pool.close()


def to_bytes():
    buffer = Pool(64).alloc(5)
    buffer.memory[:] = b"12345"
    assert buffer.tobytes() == b"12345"


# ---- BasicConnector ----

def initialization(w):
    with Transfer(w, pool_size=MIB) as t:
        about = t.health()
        assert about["healthy"] and about["pool_size"] >= MIB and about["keys"] == 0
        assert (about["rank"], about["ranks"]) == (w.rank, w.size)
        w.barrier()


def put_kinds(w):
    with Transfer(w, pool_size=MIB, allow_objects=True) as t:
        assert t.put("b", b"abc") == {"key": "b", "rank": w.rank, "kind": "bytes", "size": 3}
        assert t.put("o", {"a": 1})["kind"] == "object"
        if np:
            assert t.put("t", np.zeros((3, 4)))["size"] == 96
        refused(mlaunch.ERR_ARGUMENT, "has put it already", t.put, "b", b"abd")
        for key in (None, "", b"b"):
            refused(mlaunch.ERR_ARGUMENT, "key is", t.put, key, b"abc")
        assert t.health()["keys"] == 2 + bool(np)
        w.barrier()


def cleanup_releases_buffer(w):
    with Transfer(w, pool_size=MIB) as t:
        before = t.health()["pool_left"]
        t.put("k", bytes(1000))
        assert t.health()["pool_left"] < before
        assert t.cleanup("k") and not t.cleanup("k") and not t.cleanup("other")
        assert t.health()["pool_left"] == before
        w.barrier()


def pool_exhaustion_and_recovery(w):
    with Transfer(w, pool_size=64 * KIB, slots=4) as t:
        whole = t.health()["pool_left"]
        t.put("full", bytes(whole))
        refused(mlaunch.ERR_MEMORY, "no room for a block of 1 bytes", t.put, "more", b"1")
        assert t.cleanup("full")
        for i in range(4):
            t.put(str(i), b"1")
        refused(mlaunch.ERR_MEMORY, "slots=4", t.put, "4", b"1")
        assert t.cleanup("3") and t.put("4", b"1")
        w.barrier()


# ---- EndToEnd ----

def producer(w):
    return w.rank == 0


def consumer(w):
    return w.rank == w.size - 1


def end_to_end_bytes(w):
    with Transfer(w, pool_size=MIB) as t:
        if producer(w):
            t.put("bytes", b"some bytes")
            t.put("one", bytearray(b"x"))
            t.put("view", memoryview(b"0123456789")[2:5])
        if consumer(w):
            got = t.get("bytes", 0)
            assert got == b"some bytes" and type(got) is bytes
            assert t.get("one", 0) == b"x" and t.get("view", 0) == b"234"
        w.barrier()


def end_to_end_tensor(w):
    if not np:
        return
    with Transfer(w, pool_size=MIB) as t:
        for type_ in "?", "i1", "u2", "f2", "i8", "f8", "c16", ">f4", "M8[ns]", "S5":
            a = np.arange(60).reshape(3, 4, 5).astype(type_)
            if producer(w):
                t.put(type_, a)
                t.put("t" + type_, a.transpose())
            if consumer(w):
                b, c = t.get(type_, 0), t.get("t" + type_, 0)
                assert b.dtype == a.dtype and b.shape == a.shape and (b == a).all(), type_
                assert c.shape == (5, 4, 3) and (c == a.transpose()).all(), type_
        if producer(w):
            t.put("number", np.float64(1.5))
            refused(mlaunch.ERR_ARGUMENT, "has 9 dimensions", t.put, "9", np.zeros((1,) * 9))
        if consumer(w):
            assert t.get("number", 0) == 1.5
        w.barrier()
    if not torch:
        return
    with Transfer(w, pool_size=MIB) as t:
        for type_ in torch.float32, torch.bfloat16, torch.int64, torch.bool:
            a = torch.arange(24).reshape(4, 6).to(type_)
            if producer(w):
                t.put(str(type_), a)
                t.put("t" + str(type_), a.t())
            if consumer(w):
                b, c = t.get(str(type_), 0), t.get("t" + str(type_), 0)
                assert b.dtype == a.dtype and torch.equal(a, b) and torch.equal(c, a.t())
        if producer(w):
            buffer = t.buffer(96)
            mine = buffer.torch(torch.float32, (4, 6))
            mine.copy_(torch.arange(24).reshape(4, 6))
            t.put("in place", mine, buffer=buffer)
        if consumer(w):
            assert t.get("in place", 0)[3, 5] == 23
        w.barrier()


def end_to_end_object(w):
    thing = {"list": [1, 2, 3], "text": "x" * 10000}
    with Transfer(w, pool_size=MIB, allow_objects=True) as t:
        if producer(w):
            t.put("object", thing)
        if consumer(w):
            assert t.get("object", 0) == thing
        w.barrier()
    # Without both ranks' consent nothing is pickled, and the key stays.
    with Transfer(w, pool_size=MIB, allow_objects=producer(w) and w.size > 1) as t:
        if producer(w):
            t.put("object", thing) if w.size > 1 else None
        elif consumer(w):
            refused(mlaunch.ERR_ARGUMENT, "allow_objects=True", t.put, "object", thing)
            refused(mlaunch.ERR_ARGUMENT, "allow_objects=True", t.get, "object", 0)
            assert len(t.get("object", 0, out=bytearray(20000))) == 20000
        w.barrier()


def zero_copy(w):
    with Transfer(w, pool_size=4 * MIB) as t:
        whole = t.health()["pool_left"]
        if producer(w):
            buffer = t.buffer(MIB)
            buffer.memory[:] = pattern(MIB)
            t.put("buffer", buffer)
            refused(mlaunch.ERR_STATE, "or put", lambda: buffer.memory)
            refused(mlaunch.ERR_ARGUMENT, "was released, or put", t.put, "again", buffer)
            buffer.release()  # does nothing: it is the transfer's
            if np:
                buffer = t.buffer(1000)
                a = buffer.numpy("f8", (5, 25))
                a[:] = 3
                t.put("array", a, buffer=buffer)
            with t.buffer(100) as other:
                refused(mlaunch.ERR_ARGUMENT, "at the start of the buffer", t.put, "x", b"1",
                        buffer=other)
            with Pool(100).alloc(5) as foreign:
                refused(mlaunch.ERR_ARGUMENT, "not of this Transfer", t.put, "x", foreign)
        if consumer(w):
            room = t.buffer(MIB)
            assert t.get("buffer", 0, out=room) is room and room.tobytes() == pattern(MIB)
            room.release()
            if np:
                assert (t.get("array", 0) == np.full((5, 25), 3.0)).all()
        w.barrier()
        assert t.health()["pool_left"] == whole
        w.barrier()


def large(w, size=100 * 1000 * 1000):
    with Transfer(w, pool_size=size + MIB) as t:
        if producer(w):
            data = pattern(size)
            t.put("large", data)
            t.put("md5", md5(data).encode())
        if consumer(w):
            got = t.get("large", 0)
            assert len(got) == size and md5(got).encode() == t.get("md5", 0)
        w.barrier()


def mixed_types(w):
    things = [b"bytes", {"an": "object"}]
    if np:
        things += [np.ones((4, 5), t) for t in ("f4", "f2", "i8")]
    with Transfer(w, pool_size=MIB, allow_objects=True) as t:
        for i, thing in enumerate(things):
            if producer(w):
                t.put(str(i), thing)
        for i, thing in reversed(list(enumerate(things))):
            if consumer(w):
                got = t.get(str(i), 0)
                same = got == thing
                assert type(got) is type(thing) and (same if i < 2 else same.all())
        w.barrier()


def concurrent_puts(w):
    with Transfer(w, pool_size=8 * MIB) as t:
        if producer(w):
            together(10, lambda i: t.put("c%d" % i, pattern(100000 + i, i)))
        if consumer(w):
            together(10, lambda i: check_bytes(t.get("c%d" % i, 0), 100000 + i, i))
        w.barrier()
        assert t.health()["keys"] == 0
        # One of the threads that put the same key succeeds, and one of those that get it.
        outcomes = []

        def attempt(call):
            try:
                call()
                outcomes.append(0)
            except Error as e:
                outcomes.append(e.code)
        if producer(w):
            together(4, lambda i: attempt(lambda: t.put("same", b"%d" % i)))
            assert sorted(outcomes) == [mlaunch.ERR_ARGUMENT] * 3 + [0], outcomes
        w.barrier()
        outcomes.clear()
        if consumer(w):
            together(4, lambda i: attempt(lambda: t.get("same", 0, timeout=0.05)))
            assert sorted(outcomes) == [mlaunch.ERR_TIMEOUT] * 3 + [0], outcomes
        w.barrier()


def check_bytes(data, size, seed):
    assert len(data) == size and md5(data) == md5(pattern(size, seed)), (len(data), size, seed)


def auto_cleanup(w):
    with Transfer(w, pool_size=MIB) as t:
        if producer(w):
            t.put("k", bytes(100000))
        w.barrier()
        if consumer(w):
            t.get("k", 0)
        w.barrier()
        if producer(w):
            about = t.health()
            assert (about["keys"], about["puts"], about["bytes_put"]) == (0, 1, 100000), about
            t.put("k", b"again")  # the key is free
            assert t.cleanup("k")
        w.barrier()


# ---- Lifecycle ----

def close_releases_resources(w):
    t = Transfer(w, pool_size=MIB)
    t.put("left behind", b"1")
    t.close()
    assert not t.health()["healthy"]
    for call in (lambda: t.put("k", b"1"), lambda: t.get("k", 0), lambda: t.cleanup("k"),
                 lambda: t.buffer(1)):
        refused(mlaunch.ERR_STATE, "the transfer was closed", call)


def context_manager(w):
    with Transfer(w, pool_size=MIB) as t:
        w.barrier()
    refused(mlaunch.ERR_STATE, "closed", t.put, "k", b"1")


def double_close_safe(w):
    t = Transfer(w, pool_size=MIB)
    t.close()
    t.close()


# ---- StressCorrectness ----

def producers_and_consumer(w):
    """Ten threads of each rank but the last put, more than the pools have room for."""
    with Transfer(w, pool_size=MIB) as t:
        if not consumer(w):
            def put(i):
                for round_ in range(10):
                    t.put("%d.%d" % (i, round_), pattern(50000 + i * round_, i), timeout=60)
            together(10, put)
        else:
            def get(i):
                for round_ in range(10):
                    for source in range(w.size - 1):
                        check_bytes(t.get("%d.%d" % (i, round_), source), 50000 + i * round_, i)
            together(10, get)
        w.barrier()


def both_directions(w):
    with Transfer(w, pool_size=2 * MIB) as t:
        right, left = (w.rank + 1) % w.size, (w.rank - 1) % w.size

        def put(i):
            for n in range(20):
                t.put("%d to %d, %d" % (w.rank, right, n), pattern(60000 + n, w.rank), timeout=60)

        def get(i):
            for n in range(20):
                check_bytes(t.get("%d to %d, %d" % (left, w.rank, n), left), 60000 + n, left)
        together(2, lambda i: (put, get)[i](i))
        w.barrier()
        assert t.health()["keys"] == 0


def one_element(w):
    with Transfer(w, pool_size=MIB) as t:
        if producer(w):
            t.put("1", b"\x07")
        if consumer(w):
            assert t.get("1", 0) == b"\x07"
        w.barrier()


def empty_bytes_rejected(w):
    with Transfer(w, pool_size=MIB) as t:
        data = bytearray()
        refused(mlaunch.ERR_ARGUMENT, "no bytes", t.put, "k", data)
        data.append(1)  # it is not held any more
        if np:
            refused(mlaunch.ERR_ARGUMENT, "no bytes", t.put, "k", np.zeros((0, 3)))
        assert t.health()["keys"] == 0
        w.barrier()


def rapid_cycles(w):
    with Transfer(w, pool_size=MIB) as t:
        whole = t.health()["pool_left"]
        for i in range(50):
            t.put("k", bytes(500000 + i))
            assert t.cleanup("k")
        assert t.health()["pool_left"] == whole
        w.barrier()


# ---- ours ----

def waits_for_a_key(w):
    with Transfer(w, pool_size=MIB, ttl=30) as t:
        if consumer(w):
            refused(mlaunch.ERR_TIMEOUT, "has put nothing under the key 'never'", t.get, "never", 0,
                    timeout=0.05)
        w.barrier()
        if consumer(w) and not producer(w):
            assert t.get("late", 0) == b"late"
        if producer(w):
            if not consumer(w):  # once the other rank has said in the directory that it waits
                assert t._window.wait_signal(mlaunch.transfer._WAITERS, 1, 30)
            t.put("late", b"late")
        w.barrier()


def too_old(w):
    with Transfer(w, pool_size=64 * KIB, ttl=0) as t:
        whole = t.health()["pool_left"]
        t.put("old", bytes(whole))
        t.put("new", bytes(whole))  # takes the place of what is too old
        assert t.health()["expired"] == 2
        w.barrier()


def an_error_leaves_the_key(w):
    with Transfer(w, pool_size=MIB) as t:
        if producer(w):
            t.put("k", b"0123456789")
        if consumer(w):
            refused(mlaunch.ERR_ARGUMENT, "out has 5 bytes, 10", t.get, "k", 0, out=bytearray(5))
            refused(mlaunch.ERR_ARGUMENT, "read-only", t.get, "k", 0, out=bytes(10))
            refused(mlaunch.ERR_ARGUMENT, "source is", t.get, "k", w.size)
            out = bytearray(12)
            assert t.get("k", 0, out=out) is out and out == b"0123456789\0\0"
        w.barrier()


def dead_producer(w):
    """The consumer waits for a key of a rank that dies."""
    t = Transfer(w, pool_size=MIB)
    if producer(w):
        mlaunch.finalize()  # leaves without close()
        return
    refused(mlaunch.ERR_PEER, "rank 0", t.get, "k", 0)
    with contextlib.suppress(Error):
        t.close()
    print("the dead producer was noticed")


ALONE = (basic_alloc_free, alignment, exhaustion_and_recovery, thread_safety,
         double_free_exact_is_safe, double_free_after_merge_is_safe, merge_adjacent_blocks,
         fragmentation_and_defrag, tensor_view, context_manager_releases, to_bytes)
TOGETHER = (initialization, put_kinds, cleanup_releases_buffer, pool_exhaustion_and_recovery,
            end_to_end_bytes, end_to_end_tensor, end_to_end_object, zero_copy, mixed_types,
            concurrent_puts, auto_cleanup, close_releases_resources, context_manager,
            double_close_safe, producers_and_consumer, both_directions, one_element,
            empty_bytes_rejected, rapid_cycles, waits_for_a_key, too_old, an_error_leaves_the_key)


def main():
    global torch
    if "torch" in sys.argv:
        import torch
    if "dead" in sys.argv:
        dead_producer(mlaunch.init())
        return
    if mlaunch.rank() == 0:
        for test in ALONE:
            test()
    w = mlaunch.init()
    for test in TOGETHER:
        test(w)
    if w.size == 2:
        large(w)
    if "long" in sys.argv and w.size == 2:
        large(w, 500 * 1000 * 1000)
    mlaunch.finalize()
    if mlaunch.rank() == 0:
        print("all transfers are right" + (", with numpy" if np else "")
              + (", with torch" if torch else ""))


main()
