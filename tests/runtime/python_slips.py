# SPDX-License-Identifier: MIT
"""The slips of one rank's program, which the Python module refuses with a message, and what an
Error is: it can be copied, pickled and sent from a worker, and its traceback shows one frame of the
package.

python_slips.py types: ranks whose data has other types.
python_slips.py at-exit: a call at the interpreter's end, which no Python code makes.
"""
import array
import atexit
import copy
import ctypes
import multiprocessing
import os
import pickle
import sys
import threading
import traceback
import types

import mlaunch
import switching_threads
from mlaunch import ERR_ARGUMENT, Error

try:
    import numpy as np
except ImportError:
    np = None


def refused(parts, call, *arguments, **named):
    """`call` raises ERR_ARGUMENT with all of parts in its sentence, from one frame of the module,
    which has the name of the call."""
    try:
        call(*arguments, **named)
    except Error as e:
        if "buffer" in str(e) or "moved" in str(e):
            assert isinstance(e, TypeError) and isinstance(e, mlaunch.BufferTypeError), e
        assert e.code == ERR_ARGUMENT and all(part in str(e) for part in parts), (parts, str(e))
        frames = [f.name for f in traceback.extract_tb(e.__traceback__)
                  if os.path.basename(os.path.dirname(f.filename)) == "mlaunch"]
        assert frames == [call.__name__], (frames, call.__name__)
        assert e.__cause__ is None and (e.__context__ is None or e.__suppress_context__), e
    else:
        raise AssertionError("no error: %s" % (parts,))


def formats(w):
    """out has other elements than data, or another size; type= says how to read both."""
    three, all_ = array.array("q", [1, 2, 3]), array.array("d", [0] * 3 * w.size)
    out = array.array("d", [0] * 3)
    differ = ["data", "int64", "out", "float64"]
    for name in ("all_reduce", "all_gather", "all_to_all", "reduce", "gather", "reduce_scatter",
                 "scatter"):
        data = array.array("q", [1, 2, 3] * w.size) if name in (
            "all_to_all", "reduce_scatter", "scatter") else three
        into = all_ if name in ("all_gather", "all_to_all", "gather") else out
        root = {"root": w.rank} if name in ("reduce", "gather", "scatter") else {}
        for prefix in ("", "start_"):
            refused(differ, getattr(w, prefix + name), data, into, **root)
            if name in ("all_reduce", "reduce", "reduce_scatter"):
                refused(["type="], getattr(w, prefix + name), data, into, **root)
            else:
                refused(["cast('B')"], getattr(w, prefix + name), data, into, **root)
        assert not any(into)
    refused(["data", "float64", "out", "float32"], w.all_reduce, array.array("d", [1] * 3),
            array.array("f", [0] * 6))
    refused(["out", "32 bytes", "24"], w.all_reduce, three, array.array("q", [0] * 4))
    refused(["out", "16 bytes", "24"], w.all_reduce, three, array.array("q", [0] * 2))
    refused(["out", "32 bytes", "24"], w.all_reduce, three, array.array("d", [0] * 4),
            type=mlaunch.INT64)
    refused(["out", "32 bytes", "24"], w.reduce, three, array.array("q", [0] * 4), root=w.rank)
    w.all_reduce(three, out, type=mlaunch.INT64)
    assert list(memoryview(out).cast("B").cast("q")) == [w.size, 2 * w.size, 3 * w.size]
    # Two names of one type, and bytes, which are any type's.
    w.all_reduce(array.array("l", [1]), memoryview(bytearray(8)).cast("q"))
    w.all_gather(array.array("d", [w.rank]), bytearray(8 * w.size))
    w.all_gather(bytes(8), array.array("d", [0] * w.size))


def kinds(w):
    """Arguments of the wrong kind."""
    a = array.array("d", [1, 2])
    for root in ("0", 0.5, None, []):
        refused(["root", repr(root), "integer"], w.broadcast, a, root=root)
        refused(["root", repr(root), "integer"], w.start_reduce, a, root=root)
    refused(["root", "4294967296"], w.broadcast, a, root=1 << 32)
    refused(["to", "'1'"], w.send, a, "1")
    refused(["source", "None"], w.recv, a, None)
    refused(["rank", "'b'"], w.host, "b")
    refused(["color", "0.5"], w.split, 0.5)
    refused(["color", "4294967296"], w.split, 1 << 32)
    refused(["color", "2147483648"], w.split, 1 << 31)
    refused(["key", "2147483648"], w.split, 0, 1 << 31)
    refused(["size", "-1"], mlaunch.alloc, -1)
    refused(["size", "'8'"], mlaunch.alloc, "8")
    for op in (99, -1, "sum", None, 0.0, mlaunch.FLOAT32):
        refused(["op", "mlaunch.SUM"], w.all_reduce, a, op=op)
    refused(["op", "mlaunch.MAX"], w.all_reduce, a, op=max)
    for kind in (99, "f4", float):
        refused(["type", "mlaunch.FLOAT64"], w.all_reduce, a, type=kind)
    refused(["out", "op=mlaunch.MAX"], w.all_reduce, a, mlaunch.MAX)
    refused(["list", "numpy.array(data)"], w.all_reduce, [1, 2])
    refused(["float", "numpy.array(data)"], w.all_reduce, 1.5)
    refused(["str", "encode()"], w.broadcast, "text", root=w.rank)
    refused(["dict", "broadcast_object"], w.broadcast, {}, root=w.rank)
    refused(["bytes", "read-only", "bytearray"], w.all_reduce, b"ab")
    refused(["None"], w.all_reduce, None)
    # As torch's, of which this needs only the names.
    tensor = types.new_class("Tensor")
    tensor.__module__, tensor.numpy = "torch", lambda self: None
    refused(["data", "torch.Tensor", "data.numpy()"], w.all_reduce, tensor())
    refused(["out", "torch.Tensor", "out.numpy()"], w.recv, tensor(), 0)


class Named(ctypes.Structure):
    _fields_ = [("number", ctypes.c_int), ("name", ctypes.c_char_p)]


class Longer(Named):
    _fields_ = [("size", ctypes.c_int)]


class Either(ctypes.Union):
    _fields_ = [("number", ctypes.c_int), ("place", ctypes.c_void_p)]


class Foreign(ctypes.BigEndianStructure if sys.byteorder == "little"
              else ctypes.LittleEndianStructure):
    _fields_ = [("byte", ctypes.c_byte), ("number", ctypes.c_int)]


def unmovable(w):
    """Buffers with pointers in them, and those in another byte order: no call takes them."""
    foreign = ctypes.c_int.__ctype_be__ if sys.byteorder == "little" else ctypes.c_int.__ctype_le__
    buffers = [("pointers", kind, (kind * w.size)()) for kind in (
        ctypes.c_char_p, ctypes.c_wchar_p, ctypes.c_void_p, ctypes.py_object, Named, Longer, Either,
        ctypes.POINTER(ctypes.c_int), ctypes.CFUNCTYPE(None), Named * 2)]
    buffers.append(("pointers", "P", memoryview(bytearray(8 * w.size)).cast("P")))
    buffers += [("byte order", kind, (kind * w.size)()) for kind in (foreign, Foreign)]
    if np:
        order = ">" if sys.byteorder == "little" else "<"
        buffers += [("pointers", kind, np.zeros(w.size, kind)) for kind in (
            "O", [("a", "i4"), ("b", "O")], [("a", [("b", "O")], (2,))])]
        buffers += [("byte order", kind, np.zeros(w.size, kind)) for kind in (
            order + "f8", order + "U3", [("a", "i1"), ("b", order + "i2")])]
    for part, kind, data in buffers:
        refused([part], w.broadcast, data, w.rank)
        refused([part], w.broadcast, data, w.rank + 1)
        refused([part], w.start_broadcast, data)
        for name in ("all_gather", "all_to_all", "gather", "scatter", "sendrecv"):
            named = {"to": 0, "source": 0} if name == "sendrecv" else {}
            if name in ("gather", "scatter"):
                named["root"] = w.rank
            for prefix in ("", "start_"):
                refused([part], getattr(w, prefix + name), data, out=bytearray(0), **named)
                refused([part], getattr(w, prefix + name), bytes(0), out=data, **named)
        refused([part], w.all_gather_v, data, bytearray(0), [0] * w.size)
        refused([part], w.all_to_all_v, data, [0] * w.size, bytearray(0), [0] * w.size)
        refused([part], w.send, data, w.rank)
        refused([part], w.recv, data, w.rank)
        refused([part], w.send_tag, data, w.rank, 1)
        refused([part], w.start_recv_tag, data)
        refused([part], w.keep, "unmovable", data, 1)
        refused([part], w.restore, "unmovable", data)
        refused([part], w.all_reduce, data, op=mlaunch.Operator(lambda left, right: left))
        refused([part], w.all_reduce, data, type=mlaunch.INT8)
        try:
            w.window(memory=data)
        except TypeError as e:
            assert part in str(e), (kind, e)
        else:
            raise AssertionError("no error: a window of %s" % (kind,))
    with w.window(64) as window:
        for part, _, data in buffers:
            refused([part], window.put, data, w.rank)
            refused([part], window.get, data, w.rank)
            refused([part], window.start_get, data, w.rank)
            refused([part], window.put_signal, data, w.rank, 0, 0)
    if np:
        for kind in ("c16", "g", "S5", "U3", "V7", [("O", "i4"), ("P", "c8")]):
            data = np.zeros(2, kind)
            assert w.broadcast(data) is data


def arrays(w):
    refused(["data", "int64", "out", "float64"], w.all_reduce, np.array([1, 2, 3]), np.zeros(3))
    refused(["data", "int64", "out", "float64"], w.all_gather, np.array([1, 2, 3]),
            np.zeros((w.size, 3)))
    refused(["complex128", "data.view('float64')"], w.all_reduce, np.zeros(2, "c16"))
    masked = np.ma.masked_array(np.ones(2), [True, False])
    refused(["mask", "data = data.filled(0)", "data.data"], w.all_reduce, masked)
    refused(["out", "mask"], w.all_gather, np.ones(2), masked)
    refused(["out: root needs one of %d x 16 bytes" % w.size], w.gather, np.ones(2), root=w.rank)
    refused(["'g'", "astype"], w.all_reduce, np.zeros(2, "g"))
    refused(["op", "mlaunch.MAX"], w.all_reduce, np.zeros(2), op=np.maximum)
    refused(["type", "mlaunch.FLOAT32"], w.all_reduce, np.zeros(2), type=np.float32)
    refused(["contiguous", "ascontiguousarray"], w.all_reduce, np.zeros((2, 2)).T[1:])
    refused(["C's order", "data = numpy.ascontiguousarray(data)"], w.all_reduce,
            np.zeros((2, 3), order="F"))
    for kind in ("M8[s]", "m8[s]"):
        refused(["times", "data.view('int64')"], w.all_reduce, np.zeros(2, kind))
    refused(["float64", "numpy.array(data)"], w.all_reduce, np.float64(1))
    z = np.array([1 + 2j, 3j])
    w.all_reduce(z.view("float64"))
    assert z.tolist() == [w.size * (1 + 2j), w.size * 3j]
    w.broadcast(z, root=np.int64(w.size - 1))
    assert w.all_gather(z, np.zeros(2 * w.size, "c16"))[0] == w.size * (1 + 2j)


def moved(group, call, kind):
    """Makes a call that only moves data, with buffers of `kind`."""
    one, all_ = memoryview(bytearray(24)).cast(kind), memoryview(bytearray(24 * group.size)).cast(
        kind)
    right, left = (group.rank + 1) % group.size, (group.rank - 1) % group.size
    if call in ("broadcast", "all_to_all"):
        getattr(group, call)(all_)
    elif call == "scatter":
        group.scatter(all_, one)
    elif call == "start_recv":
        received = group.start_recv(one, left)
        group.send(one, right)
        received.wait()
    elif call == "sendrecv":
        group.sendrecv(one, right, memoryview(bytearray(24)).cast(kind), left)
    else:
        getattr(group, call)(one, all_)


def types_that_differ(w):
    """One rank's data has another type than the others': all ranks get the mismatch. Bytes fit."""
    for i, call in enumerate(("broadcast", "all_gather", "all_to_all", "gather", "scatter",
                              "sendrecv", "start_recv")):
        odd = w.rank == i % w.size
        group = w.split(0)
        moved(group, call, "B" if odd else "d")
        w.barrier()  # nobody is in a call on the group when it breaks
        try:
            moved(group, call, "q" if odd else "d")
            group.barrier()  # for the ranks that only sent
        except Error as e:
            assert e.code == mlaunch.ERR_MISMATCH, (call, str(e))
            assert "int64" in str(e) and "float64" in str(e), (call, str(e))
        else:
            raise AssertionError("no mismatch: " + call)
        group.free()
    if w.rank == 0:
        print("types that differ are noticed")


def fail_in_worker(w):
    w.barrier()  # a forked child can't


def errors(w):
    e = Error(mlaunch.ERR_PEER, "rank 1 is gone")
    for again in (copy.copy(e), copy.deepcopy(e), pickle.loads(pickle.dumps(e))):
        assert (again.code, again.text, str(again)) == (e.code, e.text, "rank 1 is gone"), again
    if w.rank == 0:
        with multiprocessing.get_context("fork").Pool(1) as pool:
            try:
                pool.apply(fail_in_worker_of, ())
            except Error as came:
                assert came.code == mlaunch.ERR_STATE and "forked child" in came.text, came
            else:
                raise AssertionError("no error came from the worker")

    def interrupted(*_):
        raise KeyboardInterrupt
    check, mlaunch._group._integer = mlaunch._group._integer, interrupted
    try:
        w.host(0)
    except KeyboardInterrupt as e:
        assert [f.name for f in traceback.extract_tb(e.__traceback__)] == ["errors", "host"]
    mlaunch._group._integer = check


def handles(w):
    """What belongs to this process can't go to another one."""
    pool = mlaunch.Pool(4096)
    with w.window(8) as window, mlaunch.Transfer(w, 1 << 16) as transfer:
        request = w.start_barrier()
        for what in (w, window, request, pool, pool.alloc(8), transfer):
            for copied in (pickle.dumps, copy.copy, copy.deepcopy, lambda one: pickle.dumps([one])):
                try:
                    copied(what)
                except TypeError as e:
                    name = "mlaunch.%s belongs to the process" % type(what).__name__
                    assert name in str(e), e
                else:
                    raise AssertionError("no error: %r" % what)
        request.wait()


def turns(w):
    """Threads that use one group take turns, and each call is made with its own type."""
    def work(number):
        for _ in range(200):
            if number:
                data = array.array("d", [1.5] * 8)
                assert w.all_gather(data, array.array("d", [0] * 8 * w.size))[0] == 1.5
            else:
                w.host()
                w.try_probe()
    threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
    if w.rank:  # the calls of two threads match those of one on the other ranks
        threads = [threading.Thread(target=lambda: (work(1), work(1)))]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    w.barrier()


def turns_of_objects(w):
    """Calls on objects, each of which is several calls on buffers, take one turn each."""
    objects = [b"short", b"long" * 1000]
    came, failed = [], []

    def move(mine):
        if w.rank == 0:
            w.send_object(mine, 1)
        elif w.rank == 1:
            came.append(w.recv_object(0))

    def work(mine):
        try:
            for call in (move, lambda mine: [w.broadcast_object(mine)], w.all_gather_object,
                         w.gather_object):
                barrier.wait()
                for _ in range(50):
                    assert set(call(mine) or ()) <= set(objects)
        except BaseException as e:  # pylint: disable=broad-except
            failed.append(repr(e))
            barrier.abort()
    barrier = threading.Barrier(2)
    threads = [threading.Thread(target=work, args=(mine,)) for mine in objects]
    switching_threads.run(threads)
    assert not failed, failed
    assert w.rank != 1 or sorted(came) == sorted(objects * 50)


def without_lines(w):
    """Code that has no lines makes calls all the same."""
    code = compile("w.try_probe()", "made", "exec")
    if hasattr(code, "co_linetable"):
        exec(code.replace(co_linetable=b""), {"w": w})


def fail_in_worker_of():
    fail_in_worker(world)


world = mlaunch.init()
if sys.argv[1:] == ["types"]:
    types_that_differ(world)
    sys.exit()
if sys.argv[1:] == ["at-exit"]:
    atexit.register(print, "left")
    atexit.register(world.barrier)
    sys.exit()
formats(world)
kinds(world)
unmovable(world)
if np:
    arrays(world)
errors(world)
handles(world)
turns(world)
turns_of_objects(world)
without_lines(world)
world.barrier()  # and nothing is broken by a slip
mlaunch.finalize()
if world.rank == 0:
    print("all slips are refused%s" % (", with numpy" if np else ""))
