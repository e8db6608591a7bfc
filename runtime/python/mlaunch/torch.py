# SPDX-License-Identifier: MIT
"""The backend "mlaunch" of torch.distributed, over the calls of mlaunch.

    import torch, torch.distributed as dist
    import mlaunch.torch

    dist.init_process_group("mlaunch")
    t = torch.ones(1000)
    dist.all_reduce(t)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(10, 10))

`mlaunch -n 4 -- python3 script.py` starts such a script; the rank and the number of ranks are those
of the job. Ranks of one host use shared memory, ranks of different hosts TCP or RDMA (--backend).

Calls: all_reduce, reduce, broadcast, all_gather, gather, scatter, reduce_scatter, all_to_all, also
those that take one tensor (all_gather_into_tensor, reduce_scatter_tensor, all_to_all_single),
barrier, send, recv, isend, irecv, new_group, and async_op=True with wait(), is_completed() and
get_future(). Reductions are SUM, PRODUCT, MIN, MAX, BAND, BOR, BXOR and, for floating point, AVG.
Types: bool, int8 to int64, uint8, float16, bfloat16, float32, float64, complex64, complex128 (SUM
and AVG only). Sums have the same bits in every run.

Contiguous tensors are sent from and received into where they are. Others are copied; so are lists
of tensors that do not lie one after the other in memory.

Tensors are on the CPU or on CUDA devices, those of one call on one device. Memory of a GPU goes
through that of the host, and reductions are made by the processor: init_process_group("cpu:mlaunch,
cuda:nccl") leaves them to NCCL. A call waits for the current stream of the device before it reads a
tensor; when wait() returns or a future has its value, all streams see the results.

A rank that dies ends the calls of the others with an Error that names it, within about a second. A
rank that is only late is waited for, without a limit: the timeout of init_process_group() is not
used, that of wait() is.

There are no tags: messages between two ranks match in order. recv() needs its src. new_group()
of some of the ranks works if all ranks call it as torch.distributed.new_group, which this module
replaces by a function that also tells the library; not with use_local_synchronization.

A group changes its members in place by reconfigure(), as newer versions of torch do it, and
shrink() makes a smaller one; no other rank takes part (help(mlaunch.torch.ProcessGroup)).
"""

from __future__ import annotations

import atexit
import collections
import datetime
import functools
import hashlib
import inspect
import json
import operator
import os
import queue
import sys
import threading
import time
import typing
import weakref

import torch
import torch.distributed as dist
from torch._C import _distributed_c10d as _c
from torch.distributed import distributed_c10d as _c10d

import mlaunch as _m
from mlaunch import _call, elastic as _elastic
from mlaunch._library import _lib

__all__ = ["Error", "ProcessGroup", "Work", "repair", "steps"]

_TYPES = {
    torch.bool: _m.BOOL, torch.uint8: _m.UINT8, torch.int8: _m.INT8, torch.int16: _m.INT16,
    torch.int32: _m.INT32, torch.int64: _m.INT64, torch.float16: _m.FLOAT16,
    torch.bfloat16: _m.BFLOAT16, torch.float32: _m.FLOAT32, torch.float64: _m.FLOAT64,
    torch.complex64: _m.COMPLEX64,
}
for _name in ("uint16", "uint32", "uint64"):  # from torch 2.3 on
    if hasattr(torch, _name):
        _TYPES[getattr(torch, _name)] = getattr(_m, _name.upper())


def _op_key(op):
    """What identifies a ReduceOp: its inner enumeration, where it has one."""
    return getattr(op, "op", op)


_OPS = {_op_key(getattr(dist.ReduceOp, name)): op for name, op in (
    ("SUM", _m.SUM), ("PRODUCT", _m.PROD), ("MIN", _m.MIN), ("MAX", _m.MAX), ("BAND", _m.AND),
    ("BOR", _m.OR), ("BXOR", _m.XOR))}
_AVG = _op_key(getattr(dist.ReduceOp, "AVG", None))


class Error(_m.Error, getattr(dist, "DistBackendError", RuntimeError)):
    """Why a call failed, as mlaunch.Error: code and text. It is a RuntimeError too."""


def _error(code, sentence):
    return Error(_m.ErrorCode(code), sentence.decode(errors="replace"))


def _failure(code):
    return _error(code, _lib.ml_error())


def _check(code):
    if code < 0:
        raise _failure(code)


def _need(condition, text, *values):
    if not condition:
        raise Error(_m.ERR_ARGUMENT, text % values)


# ---- tensors ----

def _usable(tensor, what):
    kind = tensor.device.type
    _need(kind == "cpu" or kind == "cuda" and not torch.version.hip, "%s is on %s%s: the backend "
          "mlaunch takes tensors on the CPU and on NVIDIA's GPUs", what, tensor.device,
          " of ROCm" if kind == "cuda" else "")
    _need(tensor.layout is torch.strided, "%s is sparse: give its to_dense()", what)
    return tensor


def _together(tensors, what):
    """All are usable, and on one device. Returns the first one, or None."""
    for tensor in tensors:
        _usable(tensor, what)
        _need(tensor.device == tensors[0].device, "%s is on %s, another tensor of the call on %s",
              what, tensor.device, tensors[0].device)
    return tensors[0] if tensors else None


def _one(tensors, what):
    _need(len(tensors) == 1, "%d tensors are given: the backend mlaunch takes one a rank",
          len(tensors))
    return _usable(tensors[0], what)


def _source(tensor):
    """The same elements, one after the other in memory."""
    return tensor if tensor.is_contiguous() else tensor.contiguous()


def _size(tensor):
    return tensor.numel() * tensor.element_size()


def _same(tensors, like, what, numel=None):
    """All have the type and the number of elements of `like`, or `numel` elements."""
    numel = like.numel() if numel is None else numel
    for tensor in tensors:
        _usable(tensor, what)
        _need(tensor.dtype == like.dtype, "%s is of %s, another tensor of the call of %s", what,
              tensor.dtype, like.dtype)
        _need(tensor.device == like.device, "%s is on %s, another tensor of the call on %s", what,
              tensor.device, like.device)
        _need(tensor.numel() == numel, "%s has %d elements, not %d", what, tensor.numel(), numel)


def _stream(tensor):
    """The stream in which the program works on a tensor on a GPU; None: it is on none."""
    if tensor is None or tensor.device.type == "cpu":
        return None
    return torch.cuda.current_stream(tensor.device)


def _is_row(tensors):
    """Whether the tensors lie one after the other in memory."""
    at = tensors[0].data_ptr()
    for tensor in tensors:
        if not tensor.is_contiguous() or tensor.data_ptr() != at:
            return False
        at += _size(tensor)
    return True


def _row_source(tensors):
    """A tensor at whose address the elements of all tensors begin."""
    if _is_row(tensors):
        return tensors[0]
    return torch.cat([tensor.detach().reshape(-1) for tensor in tensors])


class _Target:
    """Where a call writes: the tensors themselves, or a copy that finish() brings back."""

    def __init__(self, tensors, keeps=False):
        self.copies = ()
        if _is_row(tensors):
            self.tensor = tensors[0]
        elif len(tensors) == 1:
            self.tensor = tensors[0].contiguous() if keeps else torch.empty(
                tensors[0].shape, dtype=tensors[0].dtype, device=tensors[0].device)
            self.copies = ((tensors[0], self.tensor),)
        else:
            self.tensor = torch.empty(sum(t.numel() for t in tensors), dtype=tensors[0].dtype,
                                      device=tensors[0].device)
            parts = self.tensor.split([t.numel() for t in tensors])
            self.copies = tuple((t, part.view(t.shape)) for t, part in zip(tensors, parts))

    def finish(self):
        for tensor, part in self.copies:
            tensor.detach().copy_(part)


def _kind(tensor, op):
    """(type, operation, elements, ranks to divide by) of a reduction of tensor."""
    op, dtype = _op_key(op), tensor.dtype
    averages = op == _AVG
    call = _m.SUM if averages else _OPS.get(op)
    _need(call is not None, "the backend mlaunch has no such reduction: use SUM, PRODUCT, MIN, "
          "MAX, BAND, BOR, BXOR or AVG")
    _need(not averages or dtype.is_floating_point or dtype.is_complex,
          "AVG is for floating point, the tensor is of %s: use SUM and divide", dtype)
    if dtype is torch.complex128:
        _need(call is _m.SUM, "complex128 has the reductions SUM and AVG only")
        return _m.FLOAT64, call, 2 * tensor.numel(), averages
    kind = _TYPES.get(dtype)
    _need(kind is not None, "there is no reduction of %s", dtype)
    return kind, call, tensor.numel(), averages


# ---- calls under way ----

class Work(_c.Work):
    """A call that was started. Any thread may use it."""

    def __init__(self, lane, calls, outputs, finish, near):
        super().__init__()
        self._lane, self._calls, self._outputs = lane, calls, outputs
        self._finish, self._near = finish, near  # until it has ended
        for call in calls:
            call.request = weakref.ref(self)
        self._lock = threading.Lock()
        self._error, self._ended, self._future = None, None, None
        self._asked = False  # somebody has waited, or will by the future

    def _end(self):
        """Waits for the calls. Under the lock."""
        if self._calls is None:
            return
        for call in self._calls:
            code, sentence = call.end()
            if code < 0 and self._error is None:
                self._error = _error(code, sentence)
        self._calls = None
        if self._finish is not None and self._error is None:
            try:
                self._finish()
                stream = _stream(self._near)
                if stream is not None:  # it is this thread's, and other ones' work may follow
                    stream.synchronize()
            except Exception as e:  # for instance a target whose elements share memory
                self._error = e
        self._finish = self._near = None

    def _are_done(self):
        return all(call.is_done() for call in self._calls or ())

    def _is_old(self):
        """Nobody will ask for it any more, as far as can be known. Never waits."""
        return self.is_completed() and (self._asked or len(self._lane.works) > _KEPT)

    def wait(self, timeout: datetime.timedelta | None = None) -> bool:
        """Waits until the call is done. Raises its Error."""
        self._asked = True
        if timeout:
            deadline, pause = time.monotonic() + timeout.total_seconds(), 1e-5
            while not self.is_completed():
                if time.monotonic() >= deadline:
                    raise Error(_m.ERR_TIMEOUT, "the call was not done after %g s" %
                                timeout.total_seconds())
                time.sleep(pause)
                pause = min(2 * pause, 1e-3)
        with self._lock:
            self._end()
        if self._error is not None:
            raise self._error
        return True

    def is_completed(self) -> bool:
        """Whether the call is done, or has failed. Never waits."""
        if self._calls is None and not self._lock.locked():
            return True
        taken = []
        try:
            # In one step: a signal's handler can't raise when only the lock knows that it is taken.
            taken.extend(map(self._lock.acquire, (False,)))
            if not taken[0] or not self._are_done():
                return False  # or another thread waits for it
            self._end()
            return True
        finally:
            if any(taken):
                self._lock.release()

    def is_success(self) -> bool:
        """Whether the call is done without an error."""
        return self.is_completed() and self._error is None

    def exception(self) -> Exception | None:
        """The error of a call that has failed."""
        return self._error if self.is_completed() else None

    def synchronize(self) -> None:
        """As wait()."""
        self.wait()

    def result(self) -> list:
        """The tensors that the call has filled."""
        self.wait()
        return self._outputs

    def get_future(self) -> torch.futures.Future:
        """A future whose value are the tensors that the call fills."""
        with self._lock:
            self._asked = True
            if self._future is None:
                self._ended = torch.futures.Future()
                self._future = self._ended.then(_outcome)
                if self._calls is None:
                    self._settle()
                else:
                    self._lane.tell_when_done(self)
            return self._future

    def _settle(self):
        self._ended.set_result((self._error, self._outputs))


def _outcome(ended):
    """What a call's future has. An error that is raised here is one for C++ too; what
    set_exception() sets is a value there, which DistributedDataParallel would take for tensors."""
    error, outputs = ended.value()
    if error is not None:
        raise error
    return outputs


_KEPT = 64  # works that are kept alive though nobody has waited for them


class _Lane:
    """A group of the library and what was started on it. Calls of a lane are carried out in order;
    messages have a lane of their own, so that only messages match in order with messages."""

    def __init__(self, group, may_block):
        self.group = group
        # A call may block while it has the lock. Not a message: what it waits for may depend on one
        # that another thread wants to send.
        self.may_block = may_block
        self.lock = threading.Lock()  # one thread at a time may use a group
        # C++ keeps a Work without its Python object: that one is kept alive here.
        self.works = collections.deque()
        self.waiting = None  # the queue of the thread that sets futures

    def start(self, calls, kind, near, outputs, held=(), finish=None):
        """Starts calls, each the name and its arguments, and returns their Work. near: a tensor on
        the device of all tensors, or None."""
        stream = _stream(near)
        if self.may_block and len(calls) == 1 and _caller_waits():
            return self._run(calls[0], kind, near, stream, outputs, held, finish)
        _call._sweep()
        started = []
        with self.lock:
            handle = self.group._live()
            for name, *arguments in calls:
                self._say(handle, kind, stream)
                call = _call._Started((_call._Held((held, outputs)),))
                code = call.start(getattr(_lib, "ml_start_" + name), handle, *arguments)
                if code < 0:
                    error = _failure(code)
                    for call in started:
                        call.end()
                    raise error
                started.append(call)
            work = Work(self, started, outputs, finish, near)
            while self.works and self.works[0]._is_old():
                self.works.popleft()
            self.works.append(work)
        return work

    @staticmethod
    def _say(handle, kind, stream):
        """Says of the next call what type it has, and in which stream the program works."""
        if kind is not None:
            _check(_lib.ml_next_type(handle, kind))
        if stream is not None:
            _check(_lib.ml_next_stream(handle, stream.cuda_stream))

    def _run(self, call, kind, near, stream, outputs, held, finish):
        """As start(), but carries the call out in this thread, which saves waking another one."""
        name, *arguments = call
        with self.lock:
            handle = self.group._live()
            self._say(handle, kind, stream)
            _check(getattr(_lib, "ml_" + name)(handle, *arguments))
        work = Work(self, (), outputs, finish, near)
        work._end()
        return work

    def tell_when_done(self, work):
        if self.waiting is None:
            self.waiting = queue.SimpleQueue()
            threading.Thread(target=_set_futures, args=(self.waiting,), daemon=True,
                             name="mlaunch.torch").start()
        self.waiting.put(work)

    def need(self):
        """Raises if there is no group."""

    def revoke(self, why):
        """Ends the calls of all ranks, those of other threads too."""
        if self.group._handle is None:  # freed, or of an earlier membership: no call is on it
            return
        try:
            self.group.revoke(why)
        except _m.Error as e:
            if e.code != _m.ERR_PEER:  # they have ended by now
                raise

    def end(self, why):
        """Frees the group behind the last call of another thread."""
        self.revoke(why)
        with self.lock:
            self.close()

    def close(self):
        if self.waiting is not None:
            self.waiting.put(None)
        self.works.clear()
        self.group.free()


class _NoLane:
    """Where a group has none: init_process_group(enable_reconfigure=True) has made it, and it was
    not reconfigured yet."""

    works = ()

    @staticmethod
    def need():
        raise Error(_m.ERR_STATE, "the group has no members yet: call reconfigure() first")

    def start(self, *_, **__):
        self.need()

    def revoke(self, why):
        pass

    end = revoke

    def close(self):
        pass


def _caller_waits():
    """Whether the caller is a function of torch.distributed that will wait at once: torch does not
    tell, but each of them has an argument async_op."""
    frame = sys._getframe(2)
    while frame is not None and frame.f_globals is _globals:
        frame = frame.f_back
    return frame is not None and frame.f_globals is _c10d.__dict__ and \
        frame.f_locals.get("async_op") is False


_globals = globals()


def _set_futures(waiting):
    while True:
        work = waiting.get()
        if work is None:
            return
        with work._lock:
            work._end()
        work._settle()
        del work


# ---- members ----

_HANDLE, _SHRINK_ABORT = "mlaunch", 1


def _place():
    """What tells this process from others, those before it in its place included: the job, its id,
    and how many have been in its place."""
    return tuple(os.environ.get(name, default) for name, default in (
        ("MLAUNCH_JOB", ""), ("MLAUNCH_RANK", "0"), ("MLAUNCH_RESTART", "0")))


def _id_of(handle):
    parts = str(handle).split(":")
    _need(len(parts) == 4 and parts[0] == _HANDLE and parts[2].isdigit(), "opts.handles has %r: "
          "give what get_reconfigure_handle() has returned on each rank", handle)
    _need(parts[1] == _place()[0], "opts.handles has a process of job %s, and this is job %s",
          parts[1], _place()[0])
    return int(parts[2])


def _create(world, ids, tag, timeout):
    """Two groups of the library, of these ids in this order. Whoever gets an Error has none."""
    try:
        members = world.ids
        for member in ids:
            if member not in members:
                raise Error(_m.ERR_PEER, "rank %d is not in the world: it has died, or takes a "
                            "dead rank's place and comes in when all that live call "
                            "mlaunch.init().repair()" % member)
        group = world.create([members.index(member) for member in ids], tag,
                             None if timeout is None else timeout.total_seconds())
        try:
            return group, group.split(0, group.rank)
        except BaseException:
            group.free()
            raise
    except Error:
        raise
    except _m.Error as e:
        raise Error(e.code, e.text) from None


# ---- the process group ----

_worlds: typing.List["weakref.ref[ProcessGroup]"] = []
_connects_later = False  # the next group has members after its first reconfigure()
_new_group_runs = False  # the ranks that are not in the group know of it


class ProcessGroup(_c.ProcessGroup):
    """What init_process_group("mlaunch") and new_group() make."""

    def __init__(self, store, rank, size, timeout):
        super().__init__(rank, size)
        self._begin(rank, size)
        if _connects_later:
            _m.init()  # where others wait for it, if it takes a dead rank's place
            self._hold()
        else:
            self._connect_world(rank, size)

    def _begin(self, rank, size):
        """A group that is connected to nobody yet."""
        self._rank, self._size, self._ids = rank, size, ()
        self._leaves = False
        self._calls = self._messages = _NoLane()
        self._uuids = set()  # that reconfigure() has got

    def _connect_world(self, rank, size):
        world = _m.init()
        try:
            is_world = size == world.size
            _need(is_world or _new_group_runs, "init_process_group() got world_size %d, but the "
                  "job has %d rank%s: start the script by `mlaunch -n %d -- python3 …`, and call "
                  "new_group() as torch.distributed.new_group", size, world.size,
                  "" if world.size == 1 else "s", size)
            _need(not is_world or rank == world.rank, "init_process_group() got rank %d, but this "
                  "is rank %d of the job: leave rank and world_size out", rank, world.rank)
            group = world.split(0, rank)
        except _m.Error:
            _m.finalize()
            raise
        self._connect(group, group.split(0, rank))
        self._hold()

    def _connect(self, group, messages):
        self._rank, self._size, self._ids = group.rank, group.size, group.ids
        self._calls, self._messages = _Lane(group, True), _Lane(messages, False)

    def _hold(self):
        """Takes over one mlaunch.init() of the caller, until _leave()."""
        if self._leaves:
            _m.finalize()  # it has one already
        else:
            self._leaves = True
            _worlds.append(weakref.ref(self))

    def _leave(self):
        if self._leaves:
            self._leaves = False
            self._messages.close()
            self._calls.close()
            _m.finalize()

    def shutdown(self) -> None:
        """Leaves the job, if this is the last group. The group can't be used any more."""
        self._leave()

    abort = shutdown

    def __del__(self):
        # At the interpreter's end _leave_all() has decided.
        if not sys.is_finalizing():
            self._leave()

    def getBackendName(self) -> str:
        """The name of the backend."""
        return "mlaunch"

    _get_backend_name = getBackendName
    name = getBackendName

    # C++ keeps those that the group began with.

    def rank(self) -> int:
        """The rank of this process in the group."""
        return self._rank

    def size(self) -> int:
        """The number of ranks."""
        return self._size

    getRank, getSize = rank, size

    # other members, as the class Backend of newer versions of torch has it

    @property
    def supports_reconfigure(self) -> bool:
        """True."""
        return True

    @property
    def supports_shrinking(self) -> bool:
        """True."""
        return True

    def get_reconfigure_handle(self) -> str:
        """What reconfigure() of the other ranks calls this process."""
        return ":".join((_HANDLE, *_place()))

    def reconfigure(self, opts) -> Work:
        """Gives the group other members: those of opts.handles, each of which calls it with the
        same handles and the same opts.uuid, a number that none has used for the group. In a list
        the position of a handle is its process's rank; ranks of a set are in the order of ids. The
        members wait for each other for opts.timeout (None: as --init-timeout says).

        Ranks that are not named take no part, and may be dead; their calls on the old group end
        with ERR_PEER. An Error leaves the group as it was, on all ranks: ERR_TIMEOUT names those
        that have not come; try again with another uuid. A process that takes a dead rank's place
        can be a member after all that live have called mlaunch.init().repair()."""
        handles = opts.handles
        ids = [_id_of(handle) for handle in handles]
        if not isinstance(handles, (list, tuple)):
            ids.sort()
        _need(len(set(ids)) == len(ids), "opts.handles has a process twice")
        _need(self.get_reconfigure_handle() in handles, "opts.handles lacks %s, the handle of this "
              "process", self.get_reconfigure_handle())
        uuid = int(opts.uuid)
        _need(uuid not in self._uuids, "opts.uuid %d was used for this group before: give each "
              "attempt one of its own", uuid)
        self._uuids.add(uuid)
        world = _m.init()
        self._hold()
        made = _create(world, ids, uuid, opts.timeout)
        old = self._calls, self._messages
        self._connect(*made)
        for lane in old:
            lane.end("the group has other members now")
        # What has ended here is no reason for an end of this process any more.
        world.create([world.rank]).free()
        work = Work(self._calls, (), [], None, None)
        work._end()
        return work

    def shrink(self, ranks_to_exclude, shrink_flags=0, opts_override=None) -> ProcessGroup:
        """Returns a group of the ranks of this one without ranks_to_exclude, in the same order. The
        others call it, all with the same ranks. With SHRINK_ABORT (1) the calls on this group end
        first, on every rank. An Error leaves the group as it was."""
        excluded = {operator.index(rank) for rank in ranks_to_exclude}
        for rank in excluded:
            _need(0 <= rank < self._size, "ranks_to_exclude has %d, and the group has %d ranks",
                  rank, self._size)
        _need(self._rank not in excluded, "ranks_to_exclude has this rank, %d: only those that "
              "stay call shrink()", self._rank)
        self._calls.need()
        if shrink_flags & _SHRINK_ABORT:
            for lane in (self._calls, self._messages):
                lane.revoke("shrink() was called with SHRINK_ABORT")
        ids = [id for rank, id in enumerate(self._ids) if rank not in excluded]
        # Ranks that shrink several groups at a time tell them by their members.
        digest = hashlib.blake2b(repr(self._ids).encode(), digest_size=8).digest()
        world = _m.init()
        try:
            made = _create(world, ids, int.from_bytes(digest, "little"), None)
        except BaseException:
            _m.finalize()
            raise
        group = ProcessGroup.__new__(ProcessGroup)
        _c.ProcessGroup.__init__(group, made[0].rank, made[0].size)
        group._begin(made[0].rank, made[0].size)
        group._connect(*made)
        group._hold()
        return group

    # reductions

    def _reduction(self, calls_of, tensors, op, target, held):
        """One reduction. calls_of: the call for (type, operation, count)."""
        kind, call, count, averages = _kind(tensors, op)

        def finish():
            if averages:
                target.tensor.detach().div_(self.size())
            target.finish()
        return calls_of(kind, call, count), held, finish if averages or target.copies else None

    def allreduce(self, tensors, opts=None):
        """Reduces the tensor in place, on all ranks."""
        tensor = _one(tensors, "the tensor")
        return self.allreduce_coalesced([tensor], opts)

    def allreduce_coalesced(self, tensors, opts=None):
        """Reduces each tensor in place, on all ranks."""
        calls, held, finishes = [], [], []
        op = opts.reduceOp if opts is not None else dist.ReduceOp.SUM
        near = _together(tensors, "the tensor")
        for tensor in tensors:
            target = _Target([tensor], keeps=True)
            at = target.tensor.data_ptr()
            call, hold, finish = self._reduction(
                lambda kind, op, count: ("all_reduce", at, at, count, kind, op),
                tensor, op, target, target.tensor)
            calls.append(call)
            held.append(hold)
            if finish:
                finishes.append(finish)
        return self._calls.start(calls, None, near, list(tensors), held, finishes and (
            lambda: [finish() for finish in finishes]) or None)

    def reduce(self, tensors, opts):
        """Reduces the tensor in place, on root."""
        tensor = _one(tensors, "the tensor")
        is_root = opts.rootRank == self.rank()
        target = _Target([tensor], keeps=True) if is_root else None
        source = target.tensor if is_root else _source(tensor)
        kind, op, count, averages = _kind(tensor, opts.reduceOp)

        def finish():
            if averages:
                source.detach().div_(self.size())
            target.finish()
        return self._calls.start(
            [("reduce", source.data_ptr(), source.data_ptr() if is_root else None, count, kind, op,
              opts.rootRank)], None, tensor, [tensor], source, finish if is_root else None)

    def _reduce_scatter(self, output, source, opts):
        target = _Target([output])
        op = opts.reduceOp if opts is not None else dist.ReduceOp.SUM
        call, held, finish = self._reduction(
            lambda kind, op, count: ("reduce_scatter", source.data_ptr(), target.tensor.data_ptr(),
                                     count, kind, op), output, op, target, (source, target.tensor))
        return self._calls.start([call], None, output, [output], held, finish)

    def reduce_scatter(self, outputs, inputs, opts=None):
        """Reduces a list of tensors, of which each rank gets its own."""
        output, inputs = _one(outputs, "the output"), inputs[0]
        _need(len(inputs) == self.size(), "%d inputs, but the group has %d ranks", len(inputs),
              self.size())
        _same(inputs, output, "an input")
        return self._reduce_scatter(output, _row_source(inputs), opts)

    def _reduce_scatter_base(self, output, input, opts=None):
        """Reduces a tensor, of which each rank gets its block."""
        _usable(output, "the output")
        _same([input], output, "the input", output.numel() * self.size())
        return self._reduce_scatter(output, _source(input), opts)

    # movements

    def broadcast(self, tensors, opts):
        """Copies root's tensor into that of the others."""
        tensor = _one(tensors, "the tensor")
        target = _Target([tensor], keeps=opts.rootRank == self.rank())
        finish = target.finish if target.copies and opts.rootRank != self.rank() else None
        return self._calls.start(
            [("broadcast", target.tensor.data_ptr(), _size(tensor), opts.rootRank)],
            _TYPES.get(tensor.dtype), tensor, [tensor], target.tensor, finish)

    def _move(self, call, tensor, source, target, outputs, *root):
        """A movement of blocks as long as tensor; source or target may be None."""
        kept = target.tensor if target is not None else None
        return self._calls.start(
            [(call, None if source is None else source.data_ptr(),
              None if kept is None else kept.data_ptr(), _size(tensor), *root)],
            _TYPES.get(tensor.dtype), tensor, outputs, (source, kept),
            target.finish if target is not None and target.copies else None)

    def _blocks(self, tensors, like, what):
        _need(len(tensors) == self.size(), "%d tensors, but the group has %d ranks", len(tensors),
              self.size())
        _same(tensors, like, what)
        return tensors

    def allgather(self, outputs, inputs, opts=None):
        """The outputs, one a rank, get the input of all ranks."""
        tensor = _one(inputs, "the input")
        blocks = self._blocks(outputs[0], tensor, "an output")
        return self._move("all_gather", tensor, _source(tensor), _Target(blocks), outputs)

    def _allgather_base(self, output, input, opts=None):
        """The output gets the input of all ranks, one after the other."""
        _usable(input, "the input")
        _same([output], input, "the output", input.numel() * self.size())
        return self._move("all_gather", input, _source(input), _Target([output]), [output])

    def allgather_coalesced(self, outputs, inputs, opts=None):
        """allgather() of several tensors. outputs: a list for each rank."""
        calls, held, targets = [], [], []
        near = _together(inputs, "an input")
        for tensor, blocks in zip(inputs, zip(*outputs)):
            target = _Target(self._blocks(blocks, tensor, "an output"))
            self._add_gather(calls, held, targets, tensor, target)
        return self._start_gathers(calls, held, targets, near, outputs)

    def allgather_into_tensor_coalesced(self, outputs, inputs, opts=None):
        """_allgather_base() of several tensors."""
        calls, held, targets = [], [], []
        near = _together(inputs, "an input")
        for output, tensor in zip(outputs, inputs):
            _same([output], tensor, "an output", tensor.numel() * self.size())
            self._add_gather(calls, held, targets, tensor, _Target([output]))
        return self._start_gathers(calls, held, targets, near, outputs)

    @staticmethod
    def _add_gather(calls, held, targets, tensor, target):
        source = _source(tensor)
        calls.append(("all_gather", source.data_ptr(), target.tensor.data_ptr(), _size(tensor)))
        held.append((source, target.tensor))
        targets.append(target)

    def _start_gathers(self, calls, held, targets, near, outputs):
        return self._calls.start(calls, None, near, outputs, held,
                                 lambda: [target.finish() for target in targets])

    def gather(self, outputs, inputs, opts):
        """Root's outputs, one a rank, get the input of all ranks."""
        tensor, is_root = _one(inputs, "the input"), opts.rootRank == self.rank()
        blocks = self._blocks(outputs[0], tensor, "an output") if is_root else None
        return self._move("gather", tensor, _source(tensor),
                          _Target(blocks) if is_root else None, outputs, opts.rootRank)

    def scatter(self, outputs, inputs, opts):
        """The output gets this rank's one of root's inputs."""
        tensor, is_root = _one(outputs, "the output"), opts.rootRank == self.rank()
        source = _row_source(self._blocks(inputs[0], tensor, "an input")) if is_root else None
        return self._move("scatter", tensor, source, _Target([tensor]), outputs, opts.rootRank)

    # Blocks of several sizes go as messages, on the lane of the collective calls: only those that
    # send and receive a block know its size.

    def _exchange(self, blocks, spaces, near, outputs, held, finish):
        """Block j, (address, size), goes to rank j; space j takes that of rank j."""
        calls = []
        for step in range(self.size()):
            to, source = (self.rank() + step) % self.size(), (self.rank() - step) % self.size()
            calls.append(("sendrecv", *blocks[to], to, *spaces[source], source))
        return self._calls.start(calls, None, near, outputs, held, finish)

    def alltoall(self, outputs, inputs, opts=None):
        """Input j of each rank goes to rank j, whose outputs get one of each rank."""
        for tensors in (outputs, inputs):
            _need(len(tensors) == self.size(), "%d tensors, but the group has %d ranks",
                  len(tensors), self.size())
        near = _together([*outputs, *inputs], "a tensor")
        sources, targets = [_source(t) for t in inputs], [_Target([t]) for t in outputs]
        return self._exchange(
            [(t.data_ptr(), _size(t)) for t in sources],
            [(t.tensor.data_ptr(), _size(t.tensor)) for t in targets], near, outputs,
            (sources, targets), lambda: [target.finish() for target in targets])

    def alltoall_base(self, output, input, output_split_sizes, input_split_sizes, opts=None):
        """Parts of the input's rows go to each rank; the output gets those of all ranks."""
        _usable(output, "the output")
        _usable(input, "the input")
        _need(output.dtype == input.dtype and output.device == input.device,
              "the output is of %s on %s, the input of %s on %s", output.dtype, output.device,
              input.dtype, input.device)
        source, target = _source(input), _Target([output])
        if not output_split_sizes and not input_split_sizes:
            _need(input.numel() == output.numel() and input.numel() % self.size() == 0,
                  "input and output have %d and %d elements: without split sizes they need the "
                  "same number, and %d ranks must be able to share it", input.numel(),
                  output.numel(), self.size())
            return self._calls.start(
                [("all_to_all", source.data_ptr(), target.tensor.data_ptr(),
                  _size(input) // self.size())], _TYPES.get(input.dtype), output, [output],
                (source, target.tensor), target.finish if target.copies else None)
        return self._exchange(self._parts(source, input_split_sizes, "input"),
                              self._parts(target.tensor, output_split_sizes, "output"), output,
                              [output], (source, target.tensor), target.finish)

    def _parts(self, tensor, sizes, what):
        rows = tensor.shape[0] if tensor.dim() else 0
        _need(sizes or rows % self.size() == 0, "the %s's %d rows can't be shared by %d ranks: "
              "give %s_split_sizes", what, rows, self.size(), what)
        sizes = sizes or [rows // self.size()] * self.size()
        _need(len(sizes) == self.size() and sum(sizes) == rows and min(sizes) >= 0,
              "%s_split_sizes are %s: %d are needed, and %d in all", what, list(sizes),
              self.size(), rows)
        row, at, parts = _size(tensor) // rows if rows else 0, tensor.data_ptr(), []
        for size in sizes:
            parts.append((at, size * row))
            at += size * row
        return parts

    def barrier(self, opts=None):
        """Is done once every rank has called it."""
        return self._calls.start([("barrier",)], None, None, [])

    # messages

    def send(self, tensors, to, tag=0):
        """Sends the tensor to a rank. There are no tags."""
        tensor = _source(_one(tensors, "the tensor"))
        self._need_no_tag(tag)
        return self._messages.start([("send", tensor.data_ptr(), _size(tensor), to)],
                                    _TYPES.get(tensor.dtype), tensor, list(tensors), tensor)

    def recv(self, tensors, source, tag=0):
        """Receives the tensor from a rank. There are no tags."""
        tensor = _one(tensors, "the tensor")
        self._need_no_tag(tag)
        target = _Target([tensor])
        return self._messages.start([("recv", target.tensor.data_ptr(), _size(tensor), source)],
                                    _TYPES.get(tensor.dtype), tensor, list(tensors), target.tensor,
                                    target.finish if target.copies else None)

    @staticmethod
    def _need_no_tag(tag):
        _need(tag == 0, "tag is %d: the backend mlaunch has no tags, messages between two ranks "
              "match in order; leave tag out", tag)

    def recv_anysource(self, tensors, tag=0):
        """Raises an Error: there is no such call."""
        _need(False, "the backend mlaunch can't receive from any rank: give recv() its src")

    def monitored_barrier(self, timeout=None, wait_all_ranks=False):
        """barrier(); a rank that is dead is named."""
        self.barrier().wait(timeout)

    def _set_sequence_number_for_group(self):
        pass

    def _get_sequence_number_for_group(self):
        return 0


def _leave_all():
    """Leaves the job at the interpreter's end, but not after an exception: the job is to see that
    this rank has failed, not that it left."""
    if getattr(sys, "last_type", None) is None:
        for group in _worlds:
            group = group()
            if group is not None:
                try:
                    group._leave()
                except _m.Error as e:
                    print("mlaunch: %s" % e, file=sys.stderr)


atexit.register(_leave_all)


# ---- a world that changes ----

class _Store(dist.Store):
    """The store of a world that repair() has made: a TCPStore, without torch's barrier that waits
    for ranks which die meanwhile until its timeout. repair() is one."""

    def __init__(self, world, timeout):
        super().__init__()
        self._size = world.size
        if world.rank == 0:
            host = _host_address()
            self._inner = dist.TCPStore(host, 0, world.size, True, timeout, False)
            world.broadcast_object((host, self._inner.port))
        else:
            host, port = world.broadcast_object()
            self._inner = dist.TCPStore(host, port, world.size, False, timeout)

    def add(self, key, amount):
        return self._size if _c10d.STORE_BASED_BARRIER_PREFIX in key else \
            self._inner.add(key, amount)

    # By the names that torch's C++ looks for.

    def set(self, key, value):
        self._inner.set(key, value)

    def get(self, key):
        return self._inner.get(key)

    def compare_set(self, key, expected, desired):
        return self._inner.compare_set(key, expected, desired)

    compareSet = compare_set

    def wait(self, keys, *timeout):
        self._inner.wait(keys, *timeout)

    def deleteKey(self, key):
        return self._inner.delete_key(key)

    def getNumKeys(self):
        return self._inner.num_keys()


def _host_address():
    """Where the ranks of this host listen."""
    path = os.path.join(os.environ["MLAUNCH_JOB_DIR"], "job.json")
    with open(path, encoding="utf-8") as f:
        return json.load(f)["bind_ip"]


_STORE_TIME = datetime.timedelta(seconds=30)  # to connect to a store that is there
_store = None  # torch has only its C++ part


def _renew(world, timeout):
    """Makes the default group of torch.distributed from a world."""
    global _store
    for group in _worlds:
        group = group()
        if group is not None:
            group._leave()
    if dist.is_initialized():
        dist.destroy_process_group()
    _store = _Store(world, _STORE_TIME)
    _torch_init("mlaunch", store=_store, rank=world.rank, world_size=world.size, timeout=timeout)


def repair(timeout: datetime.timedelta = dist.default_pg_timeout) -> _m.Change:
    """Makes torch.distributed's default group anew from the ranks that live, in a job of `mlaunch
    --elastic MIN`, and returns what has changed since the last one. All ranks that live call it,
    after an error of a call or of DistributedDataParallel; it ends the calls of those that do not
    know yet, and goes on without those that die meanwhile.

    The rank and the number of ranks are those of torch.distributed.get_rank() and get_world_size()
    from then on. All process groups of before are of no more use, those of other backends too, and
    so are modules that have one: make DistributedDataParallel again from its `module`, after the
    ranks have the same state (mlaunch.elastic.steps). The timeout is the one of
    init_process_group(), for groups of other backends.

    ERR_TIMEOUT names the ranks that live and have not called it; ERR_STATE: the job was started
    without --elastic."""
    world = _m.init()
    try:
        members = world.ids
        world = _settle(world, timeout, True)
        return _m.Change(world.change.membership, tuple(i for i in members if i not in world.ids),
                         tuple(i for i in world.ids if i not in members))
    finally:
        _m.finalize()


def _settle(world, timeout, repairs):
    """The world of which torch.distributed has the group: this one, or, if it repairs or a rank
    dies meanwhile, a next one."""
    while True:
        if repairs:
            world = world.repair()
        repairs, error = True, None
        try:
            _renew(world, timeout)
        except (_m.Error, RuntimeError) as e:  # perhaps a rank has died meanwhile
            error = e
        try:
            if world.agree(0 if error else 1):
                return world
        except _m.Error as e:
            if e.code != _m.ERR_PEER:  # a rank calls repair() again
                raise
            continue
        if not world.changed():
            raise error or Error(_m.ERR_PEER, "another rank could not make its process group")


def _next_world(_):
    repair()
    try:
        return _m.init()
    finally:
        _m.finalize()  # the default group has one of its own


def steps(count: int, state: typing.MutableMapping[str, typing.Any] | None = None
          ) -> typing.Iterator[_elastic.Step]:
    """mlaunch.elastic.steps() that also repairs the default group of torch.distributed:

        for step in mlaunch.torch.steps(1000, state={"model": model, "optimizer": optimizer}):
            with step:
                if step.renewed:  # the first step, and the first one after a repair
                    parallel = torch.nn.parallel.DistributedDataParallel(model)
                train(parallel, optimizer, step.number)

    init_process_group() comes before it."""
    return _elastic.steps(count, state, repair=_next_world)


_torch_init = _c10d.init_process_group
_init_arguments = inspect.signature(_torch_init)
_is_newcomer = _elastic._is_newcomer  # whose first group is one that repair() makes


@functools.wraps(_torch_init)
def _init_process_group(*arguments, **named):
    global _is_newcomer, _connects_later
    backend = str(arguments[0] if arguments else named.get("backend")).lower()
    if backend == "mlaunch" and named.get("enable_reconfigure"):
        # Where torch does not know it yet, this process begins as the group's only rank.
        if "enable_reconfigure" not in _init_arguments.parameters:
            arguments = backend,
            named = {"store": dist.HashStore(), "rank": 0, "world_size": 1}
        _connects_later, _is_newcomer = True, False
        try:
            return _torch_init(*arguments, **named)
        finally:
            _connects_later = False
    if not named.get("enable_reconfigure"):
        named.pop("enable_reconfigure", None)
    given = _init_arguments.bind(*arguments, **named).arguments
    if not _is_newcomer or str(given.get("backend")).lower() != "mlaunch":
        return _torch_init(*arguments, **named)
    # This process takes the place of a dead rank: the others are in repair().
    world = _m.init()
    try:
        _settle(world, given.get("timeout") or dist.default_pg_timeout, False)
        _is_newcomer = False
    finally:
        _m.finalize()


_torch_new_group = _c10d.new_group
_new_group_arguments = inspect.signature(_torch_new_group)


@functools.wraps(_torch_new_group)
def _new_group(*arguments, **named):
    global _new_group_runs
    given = _new_group_arguments.bind(*arguments, **named).arguments
    default = _c10d._get_default_group()
    backend, ranks = given.get("backend"), given.get("ranks")
    if str(backend or dist.get_backend()).lower() == "mlaunch":
        _need(not given.get("use_local_synchronization"), "new_group() with "
              "use_local_synchronization is not for the backend mlaunch: all ranks must call it")
        # All ranks of the job take part. torch itself refuses ranks that don't exist.
        if ranks is not None and default.rank() not in ranks and \
                all(0 <= rank < default.size() for rank in ranks):
            _m.init().split(-1)
            _m.finalize()
    _new_group_runs = True
    try:
        return _torch_new_group(*arguments, **named)
    finally:
        _new_group_runs = False


def _make(store, rank, size, timeout):
    return ProcessGroup(store, rank, size, timeout)


def _register():
    named = {}
    if "devices" in inspect.signature(dist.Backend.register_backend).parameters:
        named["devices"] = ["cpu", "cuda"]
    dist.Backend.register_backend("mlaunch", _make, **named)
    dist.new_group = _c10d.new_group = _new_group
    dist.init_process_group = _c10d.init_process_group = _init_process_group


_register()
