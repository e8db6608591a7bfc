# SPDX-License-Identifier: MIT
"""Groups: the ranks of a job, the calls that they make together, and joining and leaving."""

from __future__ import annotations

import array
import ctypes
import os
import pickle
import threading
import typing
import weakref

from . import _buffer
from ._argument import (ANY, Buffer, Counts, ERR_ARGUMENT, ERR_PEER, ERR_STATE, Error, NOBODY, Op,
                        SUM, Type, UINT8, _SIZES, _constant, _integer, _need, _operation, _public,
                        _uint64)
from ._buffer import _Buffer, _NONE, _blocks, _elements, alloc
from ._call import Request, Status, _Bound, _Held, _Started, _calls, _say_place, _say_stream, _sweep
from ._library import _check, _int, _lib, _number, _pointer, _size
from ._operator import Operator
from ._window import Window, _windows

_OBJECT = int.from_bytes(b"mlobject", "little")  # what send_object() begins with

_groups = weakref.WeakSet()  # all that are alive: finalize() clears their handles


_CODE = object()  # the result of a call that is what the library returns


class Change(typing.NamedTuple):
    """What Group.repair() has changed: how often the members have changed so far, and the ids of
    those that are not in the new world any more, and of those that are new in it."""

    membership: int
    left: tuple[int, ...]
    came: tuple[int, ...]


class _Change(ctypes.Structure):
    """struct ml_change"""

    _fields_ = [("membership", _int), ("left_count", _int), ("left", ctypes.POINTER(_int)),
                ("came_count", _int), ("came", ctypes.POINTER(_int))]

    def copy(self):
        return Change(self.membership, tuple(self.left[:self.left_count]),
                      tuple(self.came[:self.came_count]))


class Group(_Bound):
    """Ranks that make calls together: the group of all ranks (init()) or a part of it (split(),
    create()).

    rank is this process's rank in the group, from 0, and size the number of ranks. All ranks make
    the same calls in the same order. Threads that use one group take turns, so only calls of
    different groups run at the same time. Calls return the buffer that they filled. Where out may
    be omitted, the call works in place. op is SUM, PROD, MIN, MAX, AND, OR, XOR or an Operator. out
    has the type of data and exactly the size that is needed.

    Calls raise Error. ERR_ARGUMENT and ERR_STATE leave the group unharmed. After ERR_MISMATCH,
    ERR_PEER, ERR_DEVICE or ERR_LINK it is broken, and every call on it fails.

    id is this process's number in the first group of all ranks, which it keeps in all later ones.
    In a job of `mlaunch --elastic MIN`, when a rank has died, repair() returns the next group;
    change says what the last repair() has changed, whose membership is 0 before that.

    As a context manager, a group of split() or create() is freed at the end, and the group of
    init() calls finalize(); after an exception neither happens.
    """

    rank: int
    size: int
    id: int
    change: Change

    def __init__(self, handle, change=Change(0, (), ())):
        self._handle = handle
        self._turn = threading.RLock()
        self.rank = _check(_lib.ml_rank(handle))
        self.size = _check(_lib.ml_size(handle))
        self.id = _check(_lib.ml_id(handle, self.rank))
        self.change = change
        _groups.add(self)

    def __repr__(self):
        return "<mlaunch.Group: rank %d of %d>" % (self.rank, self.size)

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        # Not after an exception: the job is to see that this rank failed, not that it left.
        if kind is None and (self._handle is not None or self._ended):
            self.free() if self._is_split else finalize()

    _is_split = False
    _ended = None  # why its calls fail, if repair() has ended its membership

    def _live(self):
        if self._ended:
            raise Error(ERR_PEER, self._ended)
        if self._handle is None:
            raise Error(ERR_STATE,
                        "the group is gone: it was freed, or mlaunch.finalize() was called")
        return self._handle

    @_public
    def host(self, rank: int | None = None) -> str:
        """The name of the host that `rank` (default: this one) runs on, as the hostfile has it."""
        rank = self.rank if rank is None else _integer("rank", rank)
        name = _lib.ml_host(self._live(), rank)
        if name is None:
            raise Error(ERR_ARGUMENT, _lib.ml_error().decode(errors="replace"))
        return name.decode(errors="replace")

    def _do(self, call, buffers, result, *arguments, kind=None):
        with self._turn:
            self._say(kind)
            _say_place(self._live())
            if _buffer._uses_gpu:
                _say_stream(self._handle, buffers)
            code = _check(getattr(_lib, "ml_" + call)(self._handle, *arguments))
        return code if result is _CODE else result

    # reductions

    def _reduce(self, call, data, out, op, type, root=None):
        own = isinstance(op, Operator)
        op = op if own else _operation(op)
        _need(not own or type is None, "type: an Operator gets the buffers' own elements")
        writes = root is None or root == self.rank
        in_place = out is None and writes and call != "reduce_scatter"
        with _Buffer("data", data, in_place) as a, \
                (a if in_place else _Buffer("out", out, True, not writes)) as b:
            if own:
                held = (_Held(op._made(data, a)),)
                size, how = held[0].what.size, (held[0].address,)
            else:
                kind = a.need_type() if type is None else _constant(
                    "type", type, Type, "a type such as mlaunch.FLOAT64")
                size, how, held = _SIZES[kind], (kind, op), ()
            if type is None and writes and b is not a:
                a.need_like(b, "memoryviews of both in one format" if own else
                            "type=, which says how to read the bytes of both")
            count = _elements(a, size)
            if call == "reduce_scatter":
                _need(count % self.size == 0, "data: %d elements can't be shared by %d ranks",
                      count, self.size)
                count //= self.size
            if writes:
                _need(b.size == count * size, "out: %d bytes, %d needed", b.size, count * size)
            return self._do(call + "_with" * own, (a, b) + held, data if out is None else out,
                            a.address, b.address, count, *how, *(() if root is None else (root,)))

    @_public
    def all_reduce(self, data: Buffer, out: Buffer = None, op: Op | Operator = SUM,
                   type: Type | None = None) -> Buffer:
        """Every rank gets the reduction of all ranks' data, in out or, without it, in data."""
        return self._reduce("all_reduce", data, out, op, type)

    @_public
    def reduce(self, data: Buffer, out: Buffer = None, op: Op | Operator = SUM, root: int = 0,
               type: Type | None = None) -> Buffer:
        """As all_reduce, but only root's out (or data) is written; the others need no out."""
        return self._reduce("reduce", data, out, op, type, _integer("root", root))

    @_public
    def reduce_scatter(self, data: Buffer, out: Buffer, op: Op | Operator = SUM,
                       type: Type | None = None) -> Buffer:
        """Reduces data, which is one block for each rank; out, of one block, gets block `rank`."""
        return self._reduce("reduce_scatter", data, out, op, type)

    @_public
    def scan(self, data: Buffer, out: Buffer = None, op: Op | Operator = SUM,
             type: Type | None = None) -> Buffer:
        """As all_reduce, but rank r gets the reduction of the data of ranks 0 to r."""
        return self._reduce("scan", data, out, op, type)

    @_public
    def exclusive_scan(self, data: Buffer, out: Buffer = None, op: Op | Operator = SUM,
                       type: Type | None = None) -> Buffer:
        """As scan, but of ranks 0 to r - 1; rank 0's out (or data) stays as it is."""
        return self._reduce("exclusive_scan", data, out, op, type)

    # movements: bytes

    def _say(self, kind):
        """The next call moves elements of this type; the other ranks must say the same, or none."""
        if kind is not None and kind is not UINT8:
            _check(_lib.ml_next_type(self._live(), kind))

    def _move(self, call, a, b, result, *arguments):
        """A call that moves the bytes of a to b, of which one may be unused."""
        kind = a.type if a.given else b.type
        if a.given and b.given and kind is not UINT8:
            if b.type is UINT8:
                kind = UINT8
            else:
                a.need_like(b, "memoryview(out).cast('B'), which takes the bytes of any")
        return self._do(call, (a, b), result, *arguments, kind=kind)

    @_public
    def all_gather(self, data: Buffer, out: Buffer) -> Buffer:
        """out, as long as all ranks' data together, gets them in the order of ranks."""
        with _Buffer("data", data, False) as a, _Buffer("out", out, True) as b:
            _need(b.size == a.size * self.size, "out: %d bytes, %d ranks have %d each", b.size,
                  self.size, a.size)
            return self._move("all_gather", a, b, out, a.address, b.address, a.size)

    @_public
    def all_to_all(self, data: Buffer, out: Buffer = None) -> Buffer:
        """Block j of data goes to rank j, into block `rank` of its out (or data, without out)."""
        with _Buffer("data", data, out is None) as a, \
                (a if out is None else _Buffer("out", out, True)) as b:
            _need(a.size % self.size == 0, "data: %d bytes can't be shared by %d ranks", a.size,
                  self.size)
            _need(a.size == b.size, "data has %d bytes, out %d", a.size, b.size)
            return self._move("all_to_all", a, b, data if out is None else out, a.address,
                              b.address, a.size // self.size)

    @_public
    def all_gather_v(self, data: Buffer, out: Buffer, counts: Counts,
                     offsets: Counts | None = None) -> Buffer:
        """As all_gather, of data that differ in size: out gets counts[r] elements from rank r.

        They begin at offsets[r] or, without offsets, after those of rank r - 1. Both are in
        elements of out; counts are the same on all ranks."""
        with _Buffer("data", data, False) as a, _Buffer("out", out, True) as b:
            sizes, places = _blocks(self, b, ("counts", "offsets"), counts, offsets)
            _need(a.size == sizes[self.rank], "data: %d bytes, but counts[%d] are %d", a.size,
                  self.rank, sizes[self.rank])
            return self._move("all_gather_v", a, b, out, a.address, b.address, sizes, places)

    @_public
    def all_to_all_v(self, data: Buffer, counts: Counts, out: Buffer, out_counts: Counts,
                     offsets: Counts | None = None, out_offsets: Counts | None = None) -> Buffer:
        """As all_to_all, of blocks that differ in size: counts[j] elements of data go to rank j,
        and out gets out_counts[j] elements from it.

        Blocks begin at offsets[j] and out_offsets[j] or, without them, after block j - 1. All are
        in elements of the buffer they belong to."""
        with _Buffer("data", data, False) as a, _Buffer("out", out, True) as b:
            given = _blocks(self, a, ("counts", "offsets"), counts, offsets)
            taken = _blocks(self, b, ("out_counts", "out_offsets"), out_counts, out_offsets)
            return self._move("all_to_all_v", a, b, out, a.address, *given, b.address, *taken)

    @_public
    def broadcast(self, data: Buffer, root: int = 0) -> Buffer:
        """Copies root's data into the data of all other ranks."""
        root = _integer("root", root)
        with _Buffer("data", data, root != self.rank) as a:
            return self._move("broadcast", a, _NONE, data, a.address, a.size, root)

    @_public
    def gather(self, data: Buffer, out: Buffer = None, root: int = 0) -> Buffer:
        """root's out gets every rank's data, in the order of ranks; the others need no out."""
        root = _integer("root", root)
        with _Buffer("data", data, False) as a:
            _need(root != self.rank or out is not None, "out: root needs one of %d x %d bytes",
                  self.size, a.size)
            with _Buffer("out", out if root == self.rank else None, True, True) as b:
                _need(root != self.rank or b.size == a.size * self.size,
                      "out: %d bytes, %d ranks have %d each", b.size, self.size, a.size)
                return self._move("gather", a, b, out, a.address, b.address, a.size, root)

    @_public
    def scatter(self, data: Buffer, out: Buffer, root: int = 0) -> Buffer:
        """out gets block `rank` of root's data; the others' data may be None."""
        root = _integer("root", root)
        with _Buffer("data", data if root == self.rank else None, False, root != self.rank) as a, \
                _Buffer("out", out, True) as b:
            _need(root != self.rank or a.size == b.size * self.size,
                  "data: %d bytes, %d ranks take %d each", a.size, self.size, b.size)
            return self._move("scatter", a, b, out, a.address, b.address, b.size, root)

    # point to point

    @_public
    def send(self, data: Buffer, to: int) -> None:
        """Sends data to rank `to`, whose recv() must have the same size.

        The calls between two ranks match in order. It may return before the receiver has called."""
        to = _integer("to", to)
        with _Buffer("data", data, False) as a:
            return self._move("send", a, _NONE, None, a.address, a.size, to)

    @_public
    def recv(self, out: Buffer, source: int) -> Buffer:
        """Receives as many bytes as out has from rank `source`."""
        source = _integer("source", source)
        with _Buffer("out", out, True) as b:
            return self._move("recv", _NONE, b, out, b.address, b.size, source)

    @_public
    def sendrecv(self, data: Buffer, to: int, out: Buffer, source: int) -> Buffer:
        """send() and recv() at once, which can't deadlock; NOBODY as to or source omits one."""
        to, source = _integer("to", to), _integer("source", source)
        with _Buffer("data", data, False, to == NOBODY) as a, \
                _Buffer("out", out, True, source == NOBODY) as b:
            # What is sent may be of another type than what is received: then neither is said.
            kind = a.type if a.type is b.type or not b.given else None if a.given else b.type
            return self._do("sendrecv", (a, b), out, a.address, a.size, to, b.address, b.size,
                            source, kind=kind)

    @_public
    def send_tag(self, data: Buffer, to: int, tag: int) -> None:
        """send() with a tag, for recv_tag()."""
        to, tag = _integer("to", to), _integer("tag", tag)
        with _Buffer("data", data, False) as a:
            return self._move("send_tag", a, _NONE, None, a.address, a.size, to, tag)

    @_public
    def recv_tag(self, out: Buffer, source: int = ANY, tag: int = ANY) -> Status:
        """Receives a message of send_tag(), which may be shorter than out. Returns its Status."""
        source, tag, status = _integer("source", source), _integer("tag", tag), Status()
        with _Buffer("out", out, True) as b:
            held = _Held(status)
            return self._do("recv_tag", (b, held), status, b.address, b.size, source, tag,
                            held.address, kind=b.type)

    @_public
    def probe(self, source: int = ANY, tag: int = ANY) -> Status:
        """Waits for a message of send_tag() and returns its Status; recv_tag() receives it."""
        source, tag, status = _integer("source", source), _integer("tag", tag), Status()
        return self._do("probe", (), status, source, tag, ctypes.addressof(status))

    @_public
    def try_probe(self, source: int = ANY, tag: int = ANY) -> Status | None:
        """probe() without waiting: None if no such message has come."""
        source, tag, status = _integer("source", source), _integer("tag", tag), Status()
        found = _int()
        self._do("try_probe", (), None, source, tag, ctypes.byref(found), ctypes.addressof(status))
        return status if found.value else None

    # objects: each of these calls makes several, and has the turn until the last one is done

    def _recv_pickled(self, source):
        head = array.array("q", [0, 0])
        self.recv(head, source)
        _need(head[0] == _OBJECT and head[1] >= 0, "rank %d sent no object: recv_object() takes "
              "what send_object() sends", source)
        return self.recv(bytearray(head[1]), source)

    @_public
    def send_object(self, obj: object, to: int) -> None:
        """Sends a Python object to rank `to`, whose recv_object() returns a copy.

        The objects of these calls are pickled. Whoever can send one can make the receiver run any
        code, so use them only in a job whose every rank and network you trust. They are far slower
        than the calls on buffers."""
        data = pickle.dumps(obj)
        with self._turn:
            self.send(array.array("q", [_OBJECT, len(data)]), to)
            self.send(data, to)

    @_public
    def recv_object(self, source: int) -> typing.Any:
        """Returns the object that rank `source` sends by send_object(), unpickled (see there)."""
        if _integer("source", source) == NOBODY:
            return None
        with self._turn:
            data = self._recv_pickled(source)
        return pickle.loads(data)

    @_public
    def broadcast_object(self, obj: object = None, root: int = 0) -> typing.Any:
        """Returns root's obj: on root itself, elsewhere a copy, unpickled (see send_object())."""
        root = _integer("root", root)
        data = pickle.dumps(obj) if root == self.rank else b""
        with self._turn:
            size = self.broadcast(array.array("q", [len(data)]), root)[0]
            data = self.broadcast(data if root == self.rank else bytearray(size), root)
        return obj if root == self.rank else pickle.loads(data)

    @_public
    def gather_object(self, obj: object, root: int = 0) -> list | None:
        """Returns, on root, the list of all ranks' obj, unpickled (see send_object()), with its own
        as it is; None on the others."""
        root = _integer("root", root)
        sizes = array.array("q", [0] * self.size) if root == self.rank else None
        data = pickle.dumps(obj)
        with self._turn:
            self.gather(array.array("q", [len(data)]), sizes, root)
            if sizes is None:
                self.send(data, root)
                return None
            # All are received before any is unpickled, which may fail.
            came = [None if rank == root else self.recv(bytearray(size), rank)
                    for rank, size in enumerate(sizes)]
        return [obj if data is None else pickle.loads(data) for data in came]

    @_public
    def all_gather_object(self, obj: object) -> list:
        """Returns the list of all ranks' obj, unpickled (see send_object()), with its own as it is.

        Each object is sent as long as the longest one."""
        data = pickle.dumps(obj)
        with self._turn:
            sizes = self.all_gather(array.array("q", [len(data)]),
                                    array.array("q", [0] * self.size))
            share = max(sizes)
            came = memoryview(self.all_gather(data.ljust(share), bytearray(self.size * share)))
        return [obj if rank == self.rank
                else pickle.loads(came[rank * share:rank * share + size])
                for rank, size in enumerate(sizes)]

    @_public
    def barrier(self) -> None:
        """Returns once every rank has called it."""
        return self._do("barrier", (), None)

    _stop_calls, _is_stopping = 0, False

    @_public
    def should_stop(self, every: int = 1) -> bool:
        """Whether the job has been asked to stop, by --stop-signal or `mlaunch kill --soft`.

        Every rank calls it, and all get the same answer in the same call, so that they leave their
        loop together. With every=N the ranks ask each other only in each N-th call; the calls
        between cost nothing, and answer as the last one that asked."""
        every = _integer("every", every, 1)
        self._stop_calls += 1
        if not self._is_stopping and self._stop_calls % every == 0:
            self._is_stopping = self._do("should_stop", (), _CODE) == 1
        return self._is_stopping

    # calls that are started

    @_public
    def start_all_reduce(self, data: Buffer, out: Buffer = None, op: Op | Operator = SUM,
                         type: Type | None = None) -> Request:
        """all_reduce(), but returns a Request at once."""
        return _Starting(self).all_reduce(data, out, op, type)

    @_public
    def start_reduce(self, data: Buffer, out: Buffer = None, op: Op | Operator = SUM, root: int = 0,
                     type: Type | None = None) -> Request:
        """reduce(), but returns a Request at once."""
        return _Starting(self).reduce(data, out, op, root, type)

    @_public
    def start_reduce_scatter(self, data: Buffer, out: Buffer, op: Op | Operator = SUM,
                             type: Type | None = None) -> Request:
        """reduce_scatter(), but returns a Request at once."""
        return _Starting(self).reduce_scatter(data, out, op, type)

    @_public
    def start_scan(self, data: Buffer, out: Buffer = None, op: Op | Operator = SUM,
                   type: Type | None = None) -> Request:
        """scan(), but returns a Request at once."""
        return _Starting(self).scan(data, out, op, type)

    @_public
    def start_exclusive_scan(self, data: Buffer, out: Buffer = None, op: Op | Operator = SUM,
                             type: Type | None = None) -> Request:
        """exclusive_scan(), but returns a Request at once."""
        return _Starting(self).exclusive_scan(data, out, op, type)

    @_public
    def start_all_gather(self, data: Buffer, out: Buffer) -> Request:
        """all_gather(), but returns a Request at once."""
        return _Starting(self).all_gather(data, out)

    @_public
    def start_all_to_all(self, data: Buffer, out: Buffer = None) -> Request:
        """all_to_all(), but returns a Request at once."""
        return _Starting(self).all_to_all(data, out)

    @_public
    def start_all_gather_v(self, data: Buffer, out: Buffer, counts: Counts,
                           offsets: Counts | None = None) -> Request:
        """all_gather_v(), but returns a Request at once."""
        return _Starting(self).all_gather_v(data, out, counts, offsets)

    @_public
    def start_all_to_all_v(self, data: Buffer, counts: Counts, out: Buffer, out_counts: Counts,
                           offsets: Counts | None = None,
                           out_offsets: Counts | None = None) -> Request:
        """all_to_all_v(), but returns a Request at once."""
        return _Starting(self).all_to_all_v(data, counts, out, out_counts, offsets, out_offsets)

    @_public
    def start_broadcast(self, data: Buffer, root: int = 0) -> Request:
        """broadcast(), but returns a Request at once."""
        return _Starting(self).broadcast(data, root)

    @_public
    def start_gather(self, data: Buffer, out: Buffer = None, root: int = 0) -> Request:
        """gather(), but returns a Request at once."""
        return _Starting(self).gather(data, out, root)

    @_public
    def start_scatter(self, data: Buffer, out: Buffer, root: int = 0) -> Request:
        """scatter(), but returns a Request at once."""
        return _Starting(self).scatter(data, out, root)

    @_public
    def start_send(self, data: Buffer, to: int) -> Request:
        """send(), but returns a Request at once."""
        return _Starting(self).send(data, to)

    @_public
    def start_recv(self, out: Buffer, source: int) -> Request:
        """recv(), but returns a Request at once."""
        return _Starting(self).recv(out, source)

    @_public
    def start_sendrecv(self, data: Buffer, to: int, out: Buffer, source: int) -> Request:
        """sendrecv(), but returns a Request at once."""
        return _Starting(self).sendrecv(data, to, out, source)

    @_public
    def start_send_tag(self, data: Buffer, to: int, tag: int) -> Request:
        """send_tag(), but returns a Request at once."""
        return _Starting(self).send_tag(data, to, tag)

    @_public
    def start_recv_tag(self, out: Buffer, source: int = ANY, tag: int = ANY) -> Request:
        """recv_tag(), but returns a Request at once; its wait() returns the Status."""
        return _Starting(self).recv_tag(out, source, tag)

    @_public
    def start_barrier(self) -> Request:
        """barrier(), but returns a Request at once."""
        return _Starting(self).barrier()

    # groups

    @_public
    def split(self, color: int, key: int = 0) -> Group | None:
        """Returns the group of the ranks with this color, in order of key; None if color < 0."""
        color, key = _integer("color", color), _integer("key", key)
        handle = _pointer()
        with self._turn:
            _check(_lib.ml_split(self._live(), color, key, ctypes.byref(handle)))
        if not handle.value:
            return None
        group = Group(handle.value, self.change)
        group._is_split = True
        return group

    @_public
    def create(self, ranks: typing.Sequence[int], tag: int = 0,
               timeout: float | None = None) -> Group:
        """Returns the group of these ranks, in this order. Only they call it, each with the same
        ranks and the same tag; the others take no part, and may have died. Calls that are under way
        at the same time and have a rank in common need different tags.

        The ranks wait for each other for `timeout` seconds (default: --init-timeout), and then at
        most as long for their links. ERR_TIMEOUT names those that have not called it; ERR_PEER: one
        of them has died, or calls repair(); ERR_MISMATCH: one has named other ranks. After an Error
        all groups are as before, and all may try again."""
        ranks = [_integer("a rank", rank) for rank in ranks]
        milliseconds = 0
        if timeout is not None:
            _need(timeout > 0, "timeout is %s: give seconds, more than 0" % timeout)
            milliseconds = min(max(1, round(1000 * timeout)), (1 << 31) - 1)
        handle = _pointer()
        with self._turn:
            _check(_lib.ml_group_create(self._live(), (_int * len(ranks))(*ranks), len(ranks),
                                        _uint64("tag", tag), milliseconds, ctypes.byref(handle)))
        group = Group(handle.value, self.change)
        group._is_split = True
        return group

    @property
    def ids(self) -> tuple[int, ...]:
        """The ids of all ranks of the group, in the order of the ranks, which is ascending in the
        group of all ranks."""
        handle = self._live()
        return tuple(_check(_lib.ml_id(handle, rank)) for rank in range(self.size))

    @_public
    def repair(self) -> Group:
        """Returns the next group of all ranks, without those that have died or left, in a job of
        `mlaunch --elastic MIN`. All ranks that live call it, on the group of all ranks, after an
        Error with ERR_PEER or when they like; it ends the calls of those that do not know yet.

        Its change says what has changed. The old group, groups split from it, and all windows are
        of no more use: their calls raise ERR_PEER. Memory of alloc() and pools stay. ERR_TIMEOUT
        names the ranks that live and have not called it: it may be called again. ERR_STATE: the job
        was started without --elastic."""
        handle, change = _pointer(), _Change()
        with self._turn:
            old = self._live()
            _check(_lib.ml_repair(old, ctypes.byref(handle), ctypes.byref(change)))
            _lib.ml_rank(old)
            _end_membership(_lib.ml_error().decode(errors="replace"))
        return Group(handle.value, change.copy())

    @_public
    def revoke(self, why: object = None) -> None:
        """Ends the calls of all ranks on this group with ERR_PEER and a sentence that has `why`,
        now and later; before repair(), if this rank alone knows that the others wait in vain. Not
        collective, and any thread may call it."""
        _check(_lib.ml_revoke(self._live(), None if why is None else str(why).encode()))

    @_public
    def agree(self, value: int) -> int:
        """Returns the bitwise AND of the values of all ranks that live, the same for all of them,
        also if ranks die meanwhile or the group is broken. ERR_PEER: a rank calls repair()
        instead."""
        number = _number(_uint64("value", value))
        with self._turn:
            _check(_lib.ml_agree(self._live(), ctypes.byref(number)))
        return number.value

    @_public
    def changed(self) -> bool:
        """True if a rank of the job has gone since the last repair(), or calls it now, as far as
        this process has heard in its calls. It sends nothing."""
        return _check(_lib.ml_changed(self._live())) == 1

    # memory that outlives ranks

    @_public
    def keep(self, name: str, data: Buffer, version: int) -> None:
        """Keeps a copy of data as this rank's part of that version of `name`: 1 to 63 letters,
        digits, and any of . _ -. It is held by the host until the job ends, also if this rank dies.
        The two last versions are kept, so all ranks should keep the same ones at the same steps. It
        waits for no other rank."""
        name, version = str(name).encode(), _integer("version", version, 0, (1 << 64) - 1)
        with _Buffer("data", data, False) as a:
            return self._do("keep", (a,), None, name, a.address, a.size, version, kind=a.type)

    @_public
    def kept(self, name: str, ids: typing.Sequence[int] = ()) -> int | None:
        """Returns the newest version of `name` that all ranks have kept, or None. Collective.

        ids: of ranks whose parts must be there as well, in general change.left. restore() gets the
        parts of that version, and what this rank has kept later is dropped."""
        ids, version = [_integer("ids", i) for i in ids], _number()
        found = self._do("kept", (), _CODE, str(name).encode(), (_int * len(ids))(*ids), len(ids),
                         ctypes.byref(version))
        return version.value if found else None

    @_public
    def restore(self, name: str, out: Buffer = None, id: int | None = None) -> Buffer:
        """Copies the part that `id` (default: this rank) has kept of the version that kept() has
        found to out, of the same size; without out, to a new bytearray. The rank with that id must
        have kept it on this host, and need not live. Not collective. ERR_STATE: it is not here.
        ERR_REFUSED: it is damaged."""
        name, size = str(name).encode(), _size()
        id = self.id if id is None else _integer("id", id)
        with self._turn:
            if out is None:
                self._do("kept_size", (), None, name, id, ctypes.byref(size))
                out = bytearray(size.value)
            with _Buffer("out", out, True) as b:
                return self._do("restore", (b,), out, name, id, b.address, b.size, kind=b.type)

    @_public
    def window(self, size: int = 0, memory: Buffer = None) -> Window:
        """Makes a Window, in which this rank's part is `size` bytes of zeros, or is `memory`, an
        8-byte aligned buffer all in one block of alloc(), or in the memory of a GPU (mlaunch.gpu).
        All ranks of the group call it together; their sizes may differ."""
        if memory is None:
            size = _integer("size", size, 0, (1 << 62) - 1)
            memory = alloc(size)
        else:
            _need(size == 0, "give size or memory, not both")
            size = None
        return Window(self, memory, size)

    def free(self) -> None:
        """Frees a group made by split() or create(); does nothing to the group of all ranks."""
        if self._is_split and self._handle is not None:
            with self._turn:
                handle, self._handle = self._handle, None
                _lib.ml_group_free(handle)


class _Starting(Group):
    """A group whose calls return a Request at once: the same object with another _do()."""

    def __init__(self, group):
        self.__dict__ = group.__dict__

    def _do(self, call, buffers, result, *arguments, kind=None):
        _sweep()
        started = _Started(buffers)
        with self._turn:
            self._say(kind)
            _say_place(self._live())
            if _buffer._uses_gpu:
                _say_stream(self._handle, buffers)
            _check(started.start(getattr(_lib, "ml_start_" + call), self._handle, *arguments))
        return Request(started, result)


def _end_membership(why):
    """All groups and windows are of an earlier membership."""
    for bound in [*_groups, *_windows]:
        if bound._handle is not None:
            bound._handle, bound._ended = None, why
    _windows.clear()  # nobody writes their memory any more


def _forget_turns():
    for group in _groups:
        group._turn = threading.RLock()
    for call in _calls:
        call.lock = threading.RLock()


os.register_at_fork(after_in_child=_forget_turns)  # the thread that had one is not in the child

_inits = 0


@_public
def init() -> Group:
    """Joins the job and returns the group of all its ranks; further calls return the same group.

    Each call needs a finalize() of its own. Raises Error: ERR_STATE (another process holds the
    rank), ERR_TIMEOUT (a rank did not join in time), ERR_PEER, ERR_REFUSED, ERR_SYSTEM."""
    global _inits
    handle = _pointer()
    _check(_lib.ml_init(ctypes.byref(handle)))
    _inits += 1
    for group in _groups:
        if group._handle == handle.value and not group._is_split:
            return group
    return Group(handle.value)


@_public
def finalize() -> None:
    """Leaves the job when it has been called as often as init(). Frees all groups and windows. No
    barrier.

    ERR_MISMATCH if the ranks' last calls differed; the job has been left all the same."""
    global _inits
    failed = None
    try:
        _check(_lib.ml_finalize())
    except Error as e:
        if e.code == ERR_STATE:  # there was nothing to leave
            raise
        failed = e
    _inits -= 1
    _sweep()
    if _inits <= 0:
        for group in list(_groups):
            group._handle = group._ended = None
        _groups.clear()
        for window in _windows:
            window._handle = None
        _windows.clear()
    if failed:
        raise failed
