# SPDX-License-Identifier: MIT
"""Tensors, arrays, bytes and objects from rank to rank under keys, without a meeting of both.

    import mlaunch

    w = mlaunch.init()
    with mlaunch.Transfer(w, pool_size=1 << 30) as t:
        if w.rank == 0:
            t.put("layer 7", array)          # a copy in this rank's pool; goes on at once
        else:
            array = t.get("layer 7", 0)      # waits for the key, reads it, frees it at rank 0

mlaunch.Pool, mlaunch.PoolBuffer and mlaunch.Transfer are these classes. A pool is memory that RDMA
devices have registered and ranks of one host have mapped, divided into buffers. A Transfer is a
pool of each rank, and a directory of the keys in it, in a window: so put() talks to no rank, and
get() needs no help of the rank that it reads from.
"""

from __future__ import annotations

import array
import contextlib
import ctypes
import hashlib
import math
import pickle
import reprlib
import struct
import threading
import time
import typing
import weakref

from ._argument import (Buffer, ERR_MEMORY, ERR_STATE, ERR_TIMEOUT, Error, ErrorCode, _integer,
                        _need, _public)
from ._buffer import _Buffer, _python_function
from ._call import _Bound, _say_window_stream
from ._group import Group
from ._library import _check, _int, _lib, _pointer, _size

for _name, _result, _arguments in (
        ("pool_create", _int, [_size, _size, ctypes.POINTER(_pointer)]),
        ("pool_create_at", _int, [_pointer, _size, _size, ctypes.POINTER(_pointer)]),
        ("pool_destroy", None, [_pointer]),
        ("pool_alloc", _int, [_pointer, _size, ctypes.POINTER(_pointer)]),
        ("pool_free", _int, [_pointer, _pointer]),
        ("pool_memory", _pointer, [_pointer, ctypes.POINTER(_size)]),
        ("pool_left", _int, [_pointer, ctypes.POINTER(_size), ctypes.POINTER(_size)])):
    _function = getattr(_lib, "ml_" + _name)
    _function.restype = _result
    _function.argtypes = _arguments

_MOST = (1 << 62) - 1  # bytes
_LONGEST = 2e6  # seconds


# ---- pools ----

def _give(_, handle, address):
    """Frees a block of a pool, whose memory exists at least until then."""
    _lib.ml_pool_free(handle, address)


class PoolBuffer(_Bound):
    """A piece of a Pool: `memory` is a memoryview of its `size` bytes, `offset` its place there.

    numpy() and torch() give it as an array or a tensor. release(), or the end of a `with`, gives it
    back to the pool; so does the end of the last view. Releasing it again does nothing. It is not
    cleared: it has what was left there. One of a pool on a GPU has no `memory`, numpy() and
    torch(), but __cuda_array_interface__, for torch.as_tensor(buffer, device="cuda") and
    cupy.asarray(buffer)."""

    def __init__(self, pool, address, size):
        memory = (ctypes.c_ubyte * size).from_address(address)
        memory.pool = pool._memory  # it exists as long as a view of this buffer
        self._free = weakref.finalize(memory, _give, pool._memory, pool._handle, address)
        self._free.atexit = False
        self._pool, self._is_on_gpu = pool, pool._is_on_gpu
        self._address = address
        self.size = size
        self.offset = address - pool._address
        self._view = memoryview(memory).cast("B")

    def __repr__(self):
        return "<mlaunch.PoolBuffer: %d bytes at offset %d%s>" % (
            self.size, self.offset, "" if self._free.alive else ", released")

    def __len__(self):
        return self.size

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.release()

    @property
    def memory(self) -> memoryview:
        """Its bytes. ERR_STATE after release()."""
        if not self._free.alive:
            raise Error(ERR_STATE, "the buffer at offset %d of the pool was released, or put: it "
                        "belongs to the pool again" % self.offset)
        _need(not self._is_on_gpu, "the buffer at offset %d of the pool is on a GPU: give it to "
              "calls, torch.as_tensor(…, device='cuda') or cupy.asarray()", self.offset)
        return self._view

    @property
    def __cuda_array_interface__(self):
        if not (self._is_on_gpu and self._free.alive):
            raise AttributeError("this buffer is not on a GPU, or was released")
        return {"shape": (self.size,), "typestr": "|u1", "data": (self._address, False),
                "version": 2}

    def tobytes(self) -> bytes:
        """A copy of its bytes."""
        return self.memory.tobytes()

    def numpy(self, dtype: typing.Any = "u1", shape: typing.Any = -1) -> typing.Any:
        """An array of numpy in this memory, by default of all of its bytes."""
        import numpy
        return _shaped(numpy.frombuffer(self.memory, dtype, *_count(numpy.dtype(dtype).itemsize,
                                                                    self.size, shape)), shape)

    def torch(self, dtype: typing.Any = None, shape: typing.Any = -1) -> typing.Any:
        """A tensor of torch in this memory, by default of all of its bytes."""
        import torch
        dtype = dtype or torch.uint8
        count = _count(torch.empty(0, dtype=dtype).element_size(), self.size, shape)
        return _shaped(torch.frombuffer(self.memory, dtype=dtype, count=(count or [-1])[0]), shape)

    def release(self) -> None:
        """Gives it back to the pool."""
        self._free()

    def _take(self):
        """Its address; whoever takes it gives it back."""
        _need(self._free.detach() is not None, "the buffer at offset %d of the pool was released, "
              "or put", self.offset)
        return self._address


def _count(itemsize, size, shape):
    """How many elements a view of this shape has, in a list; empty: as many as there are."""
    if isinstance(shape, int) and shape < 0 or not isinstance(shape, int) and -1 in shape:
        _need(size % itemsize == 0, "%d bytes are no whole number of elements of %d bytes: give a "
              "shape", size, itemsize)
        return []
    count = shape if isinstance(shape, int) else math.prod(shape)
    _need(count * itemsize <= size, "a buffer of %d bytes is too small for %d elements of %d bytes",
          size, count, itemsize)
    return [count]


def _shaped(flat, shape):
    return flat.reshape(shape)


class Pool(_Bound):
    """`size` bytes of memory as alloc() gives, divided into buffers that come and go; or, instead,
    the program's `memory`, which may be a GPU's (mlaunch.gpu).

    A buffer begins at a multiple of `alignment`, a power of two, and takes up a multiple of that.
    Buffers that are released are merged with free neighbours. Any thread may use a pool, also
    before init(). As a context manager it is closed at the end: its memory is freed once no view
    of it is left."""

    def __init__(self, size: int = 0, alignment: int = 64, memory: Buffer = None) -> None:
        handle, real, given = _pointer(), _size(), None
        alignment = _integer("alignment", alignment, 1, _MOST)
        if memory is None:
            size = _integer("size", size, 1, _MOST)
            _check(_lib.ml_pool_create(size, alignment, ctypes.byref(handle)))
        else:
            _need(size == 0, "give size or memory, not both")
            with _Buffer("memory", memory, True) as buffer:
                given = buffer.gpu or memoryview(memory)
                _check(_lib.ml_pool_create_at(buffer.address, buffer.size, alignment,
                                              ctypes.byref(handle)))
        self._given, self._is_on_gpu = memory, memory is not None and type(given) is not memoryview
        self._handle = handle.value
        self._address = _lib.ml_pool_memory(handle, ctypes.byref(real))
        self.size = real.value
        self._memory = (ctypes.c_ubyte * self.size).from_address(self._address)
        self._memory.given = given  # which exists as long as the pool's memory is used
        # Not at the interpreter's exit, when something may still use the memory.
        weakref.finalize(self._memory, _lib.ml_pool_destroy, handle.value).atexit = False

    def __repr__(self):
        return "<mlaunch.Pool: %d bytes>" % self.size

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _live(self):
        if self._memory is None:
            raise Error(ERR_STATE, "the pool was closed")
        return self._handle

    @property
    def memory(self) -> typing.Any:
        """All of its memory; on a GPU what was given."""
        self._live()
        if self._is_on_gpu:
            return self._given
        return memoryview(self._memory).cast("B")

    @_public
    def alloc(self, size: int) -> PoolBuffer:
        """Returns a PoolBuffer of `size` bytes. ERR_MEMORY: no free piece is so long."""
        address = _pointer()
        size = _integer("size", size, 1, _MOST)
        _check(_lib.ml_pool_alloc(self._live(), size, ctypes.byref(address)))
        return PoolBuffer(self, address.value, size)

    @_public
    def left(self) -> tuple:
        """How many bytes are free, and how long a buffer can be now."""
        left, longest = _size(), _size()
        _check(_lib.ml_pool_left(self._live(), ctypes.byref(left), ctypes.byref(longest)))
        return left.value, longest.value

    def close(self) -> None:
        """Ends it: no buffer can be had any more. May be called again."""
        self._memory = self._given = None


# ---- what is transferred ----

# What is in the directory of each rank's part, in numbers of 8 bytes:
#   bell      grows when another rank has put what this one may wait for
#   done      grows when another rank has got something from here
#   waiters   how many threads of all ranks wait for a key of this rank
#   waiting   the same by rank
#   index     of each slot: state (8 bytes), digest of the key (16)
#   records   of each slot: where the data lies and what it is
# A state is 4 times the number of uses of the slot so far, plus one of these. It changes by atomic
# operations only: ready to claimed, and claimed to done, by the rank that gets; the rest by the
# owner. The rest of a slot is written while it is free, and read by the rank that has claimed it;
# what is read of it before is only compared.
_FREE, _READY, _CLAIMED, _DONE = range(4)
_BELL, _DONE_BELL, _WAITERS, _WAITING = 0, 8, 16, 24
_INDEX = struct.Struct("=Q16s")
_DIMENSIONS = 8
_RECORD = struct.Struct("=QQB16sB%dQ" % _DIMENSIONS)  # offset, size, kind, type, dimensions
_RECORD_SIZE = (_RECORD.size + 7) // 8 * 8
_BYTES, _ARRAY, _TENSOR, _OBJECT = range(4)
_ON_GPU = 128  # a part of a kind: the data lies in the window of GPUs' memory
_KINDS = ("bytes", "array", "tensor", "object")


class _Data:
    """What to put: its bytes' address and size, and how to make the same of them again."""

    def __init__(self):
        self.type, self.shape, self.is_on_gpu, self.gpu = b"", (), False, None
        self.holds = contextlib.ExitStack()  # the caller's buffer's, until the bytes are copied

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.holds.close()

    def read(self, data, allow_objects):
        self.kept = data
        module = type(data).__module__.split(".")[0]
        if isinstance(data, PoolBuffer):
            _need(data._free.alive, "data: the buffer at offset %d of the pool was released, or "
                  "put", data.offset)
            self.kind, self.address, self.size = _BYTES, data._address, data.size
            self.is_on_gpu = data._is_on_gpu
        elif module == "torch" and hasattr(data, "data_ptr"):
            self._tensor(data)
        elif module == "numpy" and hasattr(data, "dtype"):
            self._array(data, allow_objects)
        elif isinstance(data, (bytes, bytearray, memoryview, array.array, ctypes.Array)):
            self.kind = _BYTES
            self._hold(data)
        elif not self._gpu(data):
            self._object(data, allow_objects)
        _need(self.size > 0, "data: there are no bytes in it")
        _need(len(self.shape) <= _DIMENSIONS, "data has %d dimensions, at most %d can be put: "
              "reshape it", len(self.shape), _DIMENSIONS)

    def _hold(self, data):
        buffer = self.holds.enter_context(_Buffer("data", data, False))
        self.address, self.size = buffer.address, buffer.size

    def _gpu(self, data):
        """False: data is not in the memory of a GPU. It arrives in that of the host."""
        from . import gpu  # when it is first needed
        memory = gpu.find("data", data, False)
        if memory is None:
            return False
        self.kept, self.is_on_gpu, self.gpu = memory, True, memory
        self.address, self.size = memory.address, memory.size
        if hasattr(data, "data_ptr"):
            self._say_tensor(data)
        elif memory.type is not None and memory.format in _NUMPY_TYPES:
            self.kind, self.shape = _ARRAY, memory.shape
            self.type = _NUMPY_TYPES[memory.format] % memory.itemsize
        else:
            self.kind = _BYTES
        return True

    def _say_tensor(self, data):
        self.kind, self.shape = _TENSOR, tuple(data.shape)
        self.type = str(data.dtype).replace("torch.", "").encode()

    def _tensor(self, data):
        if data.device.type == "cuda" and self._gpu(data.detach().contiguous()):
            return
        self.kept = data = data.detach().cpu().contiguous()
        self._say_tensor(data)
        self.address, self.size = data.data_ptr(), data.numel() * data.element_size()

    def _array(self, data, allow_objects):
        import numpy
        self.type = data.dtype.str.encode()
        if data.dtype.kind not in _NUMPY_KINDS or len(self.type) > 16:
            return self._object(data, allow_objects)
        self.kind, self.shape = _ARRAY, tuple(data.shape)
        self.kept = data = numpy.asarray(data, order="C")
        self.address, self.size = data.ctypes.data, data.nbytes

    def _object(self, data, allow_objects):
        _need(allow_objects, "data is %s, no buffer, array or tensor: Transfer(…, "
              "allow_objects=True) pickles it, for jobs whose every rank and network you trust",
              type(data).__name__)
        self.type, self.shape, self.kind = b"", (), _OBJECT
        self.kept = pickle.dumps(data, 5)
        self._hold(self.kept)


_NUMPY_KINDS = "?biufcSUmM"  # without pointers
# numpy's names of types by the letters of buffers, without their sizes.
_NUMPY_TYPES = {**dict.fromkeys("bhiq", b"<i%d"), **dict.fromkeys("BHIQ", b"<u%d"), "?": b"|b%d",
                **dict.fromkeys("efd", b"<f%d"), "Zf": b"<c%d"}
_new_bytes = _python_function("PyBytes_FromStringAndSize", ctypes.py_object, _pointer,
                              ctypes.c_ssize_t)
_bytes_address = _python_function("PyBytes_AsString", _pointer, ctypes.py_object)


def _empty(kind, type_name, shape, size):
    """What get() returns, not filled in yet, and the address of its `size` bytes."""
    if kind == _ARRAY:
        import numpy
        dtype = numpy.dtype(type_name)
        _need(dtype.kind in _NUMPY_KINDS, "an array of %s can't be got", type_name)
        made = numpy.empty(shape, dtype)
        address, room = made.ctypes.data, made.nbytes
    elif kind == _TENSOR:
        import torch
        dtype = getattr(torch, type_name, None)
        _need(isinstance(dtype, torch.dtype), "this torch has no type %s", type_name)
        made = torch.empty(shape, dtype=dtype)
        address, room = made.data_ptr(), made.numel() * made.element_size()
    else:
        made = _new_bytes(None, size)  # nobody else has it yet, so it may be written
        address, room = _bytes_address(made), size
    _need(room == size, "there are %d bytes for %d of %s", size, room, type_name)
    return made, address


class _Item:
    """Something that this rank has put."""

    def __init__(self, slot, state, address, size, pool):
        self.slot, self.state, self.address, self.size = slot, state, address, size
        self.pool = pool
        self.since = time.monotonic()


# ---- transfers ----

class Transfer(_Bound):
    """Puts data under keys in this rank's pool, and gets what other ranks have put in theirs.

    All ranks of the group make it together, and close it together. pool_size is this rank's memory
    in bytes, slots how many keys it has room for; both may differ between ranks. What no rank has
    got after `ttl` seconds may be dropped. A key is a str; it belongs to the rank that has put it,
    and one get() takes it away.

    Bytes, arrays of numpy and tensors of torch on the CPU arrive as what they were. What is in the
    memory of a GPU (mlaunch.gpu) arrives in that of the host, as a tensor or an array, or in
    get()'s out, which may be on a GPU as well. Other objects arrive only with allow_objects=True on
    both ranks, because they are pickled: whoever can write the memory of a rank can then make its
    peers run any code.

    With memory, a buffer on a GPU (mlaunch.gpu), this rank has a second pool there: what is put
    from a GPU stays on it, and goes to an out on a GPU of the same host by CUDA IPC, where the
    driver lets it. Each rank may give it or not.

    Any thread may make any call but close(). Calls raise Error; a rank that dies ends them with
    ERR_PEER. As a context manager it is closed at the end, but not after an exception."""

    def __init__(self, group: Group, pool_size: int = 1 << 28, ttl: float = 300, slots: int = 512,
                 alignment: int = 64, allow_objects: bool = False, memory: Buffer = None) -> None:
        slots = _integer("slots", slots, 1, 1 << 20)
        pool_size = _integer("pool_size", pool_size, 1, _MOST)
        directory = _WAITING + 8 * group.size + slots * (_INDEX.size + _RECORD_SIZE)
        directory = -(-directory // 4096) * 4096
        self.pool = Pool(directory + pool_size, alignment)
        self._directory = self.pool.alloc(directory)
        self._numbers = self._directory.memory.cast("Q")
        self._pool_size = self.pool.size - directory
        self.rank, self.size, self.ttl = group.rank, group.size, float(ttl)
        self.allow_objects = bool(allow_objects)
        self.gpu_pool = None if memory is None else Pool(alignment=alignment, memory=memory)
        with group._turn:  # for all of these calls
            told = group.all_gather(array.array("Q", [slots, memory is not None]),
                                    array.array("Q", [0] * 2 * group.size))
            self._slots = told[::2]
            self._window = group.window(memory=self.pool.memory)
            self._gpu_window = group.window(memory=memory) if any(told[1::2]) else None
        self._lock = threading.Lock()  # over all below
        self._items: dict = {}  # by key: what this rank has put and not freed yet
        self._coming: set = set()  # keys that are being put
        self._free = list(range(slots - 1, -1, -1))
        self._swept = time.monotonic()
        self._counts = dict.fromkeys(("puts", "gets", "bytes_put", "bytes_got", "expired"), 0)

    def __repr__(self):
        return "<mlaunch.Transfer: rank %d of %d%s>" % (
            self.rank, self.size, ", closed" if self._window is None else "")

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind is None:
            self.close()

    def _live(self):
        window = self._window
        if window is None:
            raise Error(ERR_STATE, "the transfer was closed")
        return window

    # the directory

    def _index_at(self, slot, rank):
        return _WAITING + 8 * self.size + slot * _INDEX.size

    def _record_at(self, slot, rank):
        return self._index_at(self._slots[rank], rank) + slot * _RECORD_SIZE

    def _swap(self, rank, slot, state, wanted):
        """Changes the state of a slot; False: it was another one."""
        return self._live().compare_swap(rank, self._index_at(slot, rank), state, wanted) == state

    def _free_item(self, key):
        """Frees what is in the slot of this key, which is free already; under the lock."""
        item = self._items.pop(key)
        self._free.append(item.slot)
        _check(_lib.ml_pool_free(item.pool._live(), item.address))

    def _sweep(self):
        """Frees what others have got, and drops what is too old; under the lock."""
        now = time.monotonic()
        self._swept = now
        for key, item in list(self._items.items()):
            at = self._index_at(item.slot, self.rank) // 8
            if self._numbers[at] == item.state + _DONE - _READY:
                self._swap(self.rank, item.slot, item.state + _DONE - _READY,
                           item.state - _READY)
                self._free_item(key)
            elif now - item.since > self.ttl and self._drop(key, item):
                self._counts["expired"] += 1

    def _drop(self, key, item):
        """Frees what no rank has claimed; under the lock. False: one has."""
        if not self._swap(self.rank, item.slot, item.state, item.state - _READY):
            return False
        self._free_item(key)
        return True

    # putting

    def _room(self, size, timeout, pool):
        """The address of a block for `size` bytes and a free slot; waits for them."""
        window = self._live()
        deadline = time.monotonic() + min(timeout, _LONGEST)
        address = _pointer()
        while True:
            done = self._numbers[_DONE_BELL // 8]
            with self._lock:
                if not self._free or time.monotonic() - self._swept > 1:
                    self._sweep()
                code = 0 if size is None else _lib.ml_pool_alloc(pool._live(), size,
                                                                 ctypes.byref(address))
                if code == ERR_MEMORY:
                    self._sweep()
                    code = _lib.ml_pool_alloc(pool._live(), size, ctypes.byref(address))
                if code == 0 and self._free:
                    return address.value, self._free.pop()
                error = self._no_room(code)
                if code == 0 and size is not None:
                    _lib.ml_pool_free(pool._live(), address)
            left = deadline - time.monotonic()
            if error.code != ERR_MEMORY or left <= 0:
                raise error
            window.wait_signal(_DONE_BELL, done + 1, left)

    def _no_room(self, code):
        if code:
            return Error(ErrorCode(code), _lib.ml_error().decode(errors="replace"))
        return Error(ERR_MEMORY, "rank %d has put %d keys that no rank has got: that is all that "
                     "Transfer(…, slots=%d) has room for" % (self.rank, len(self._items),
                                                             self._slots[self.rank]))

    @_public
    def buffer(self, size: int, timeout: float = 0, on_gpu: bool = False) -> PoolBuffer:
        """Returns a PoolBuffer of this rank's pool, or of the one on a GPU: put() of it, or of an
        array or tensor that begins where it begins, copies nothing. Waits up to `timeout` seconds
        for room."""
        pool = self.gpu_pool if on_gpu else self.pool
        _need(pool is not None, "this rank has no pool on a GPU: Transfer(…, memory=…) makes it")
        address, slot = self._room(_integer("size", size, 1, _MOST), timeout, pool)
        with self._lock:
            self._free.append(slot)
        return PoolBuffer(pool, address, size)

    @_public
    def put(self, key: str, data: object, timeout: float = 0, buffer: PoolBuffer | None = None
            ) -> dict:
        """Keeps data under `key` until a rank gets it. Returns what is kept, as a dict.

        Data is copied into the pool, and may be changed at once; a PoolBuffer of this Transfer is
        given away instead: don't touch it, or an array in it, afterwards. For an array or tensor in
        such a buffer, name that as `buffer`. Waits up to `timeout` seconds for room, else raises
        ERR_MEMORY. ERR_ARGUMENT: this rank's last put() of this key has not been got, or data has
        no bytes."""
        digest, window = _digest(key), self._live()
        with _Data() as made, self._coming_key(key):
            made.read(data, self.allow_objects)
            buffer = data if isinstance(data, PoolBuffer) else buffer
            pool = made.is_on_gpu and self.gpu_pool or self.pool
            if buffer is not None:
                _need(buffer._pool is pool, "the buffer is not of this Transfer's pool: take "
                      "one of buffer()")
                _need(buffer._address == made.address and made.size <= buffer.size,
                      "data does not lie at the start of the buffer")
            address, slot = self._room(made.size if buffer is None else None, timeout, pool)
            try:
                if made.is_on_gpu and buffer is not None:
                    # Nothing is to be copied, but the work that fills it is to be waited for.
                    _say_window_stream(self._gpu_window._live(), made.gpu)
                    _check(_lib.ml_put(self._gpu_window._live(), made.address, 1, self.rank,
                                       made.address - pool._address))
                if buffer is not None:
                    address = buffer._take()
                elif made.is_on_gpu:
                    into = window if pool is self.pool else self._gpu_window
                    _say_window_stream(into._live(), made.gpu)
                    _check(_lib.ml_put(into._live(), made.address, made.size, self.rank,
                                       address - pool._address))
                else:
                    ctypes.memmove(address, made.address, made.size)
            except BaseException:
                with self._lock:
                    self._free.append(slot)
                raise
            self._publish(key, digest, made, slot, address, pool)
        self._ring(window)
        return {"key": key, "rank": self.rank, "kind": _KINDS[made.kind], "size": made.size}

    @contextlib.contextmanager
    def _coming_key(self, key):
        """For a key that this rank has not put, and that no other thread puts now."""
        with self._lock:
            if key in self._items:
                self._sweep()
            _need(key not in self._items and key not in self._coming, "key %s: rank %d has put it "
                  "already, and no rank has got it yet", reprlib.repr(key), self.rank)
            self._coming.add(key)
        try:
            yield
        finally:
            with self._lock:
                self._coming.discard(key)

    def _publish(self, key, digest, made, slot, address, pool):
        kind = made.kind | (_ON_GPU if pool is not self.pool else 0)
        at, shape = self._index_at(slot, self.rank), made.shape
        free = self._numbers[at // 8]
        self._directory.memory[at + 8:at + 24] = digest
        _RECORD.pack_into(self._directory.memory, self._record_at(slot, self.rank),
                          address - pool._address, made.size, kind, made.type,
                          len(shape), *shape, *[0] * (_DIMENSIONS - len(shape)))
        with self._lock:
            self._items[key] = _Item(slot, free + 4 + _READY, address, made.size, pool)
            self._counts["puts"] += 1
            self._counts["bytes_put"] += made.size
        self._swap(self.rank, slot, free, free + 4 + _READY)

    def _ring(self, window):
        """Wakes the ranks that wait for a key of this one. The atomic operation comes after that of
        the slot's state, as a waiting rank looks at the slot after it has said that it waits."""
        if window.fetch_add(self.rank, _WAITERS, 0):
            for rank in range(self.size):
                if self._numbers[_WAITING // 8 + rank]:
                    window.put_signal(None, rank, 0, _BELL, 1)

    # getting

    def _look(self, digest, source):
        """The slot and state of what rank `source` has put under the key; None: nothing."""
        index = bytearray(self._slots[source] * _INDEX.size)
        self._live().get(index, source, self._index_at(0, source))
        at = index.find(digest)
        while at >= 0:
            slot, rest = divmod(at, _INDEX.size)
            if rest == 8:
                state = _INDEX.unpack_from(index, at - 8)[0]
                if state % 4 == _READY:
                    return slot, state
            at = index.find(digest, at + 1)
        return None

    def _claim(self, key, digest, source, timeout):
        """Waits for the key and claims it; returns its slot and the state that it has now."""
        window, is_waiting = self._live(), False
        deadline = time.monotonic() + min(timeout, _LONGEST)
        try:
            while True:
                bell = self._numbers[_BELL // 8]
                found = self._look(digest, source)
                if found:
                    slot, state = found
                    if self._swap(source, slot, state, state + _CLAIMED - _READY):
                        return slot, state + _CLAIMED - _READY
                elif not is_waiting:
                    is_waiting = True
                    self._wait_add(window, source, 1)
                elif not window.wait_signal(_BELL, bell + 1, deadline - time.monotonic()):
                    raise Error(ERR_TIMEOUT, "rank %d has put nothing under the key %s within %g s"
                                % (source, reprlib.repr(key), timeout))
        finally:
            if is_waiting:
                with contextlib.suppress(Error):
                    self._wait_add(window, source, -1)

    def _wait_add(self, window, source, add):
        window.fetch_add(source, _WAITING + 8 * self.rank, add)
        window.fetch_add(source, _WAITERS, add)

    def _read(self, source, slot, out):
        """The data of a slot that this rank has claimed, and its size."""
        window = self._live()
        record = bytearray(_RECORD.size)
        window.get(record, source, self._record_at(slot, source))
        offset, size, kind, type_name, dimensions, *shape = _RECORD.unpack(record)
        if kind & _ON_GPU and self._gpu_window is not None:
            window, kind = self._gpu_window, kind - _ON_GPU
        _need(kind <= _OBJECT and dimensions <= _DIMENSIONS and 0 < size
              and offset + size <= window.part_sizes[source],
              "rank %d has a directory that makes no sense", source)
        if out is not None:
            with _Buffer("out", _buffer_of(out), True) as b:
                _need(b.size >= size, "out has %d bytes, %d are needed", b.size, size)
                _say_window_stream(window._live(), b.gpu)
                _check(_lib.ml_get(window._live(), b.address, size, source, offset))
            return out, size
        _need(kind != _OBJECT or self.allow_objects, "what rank %d has put is a pickled object: "
              "Transfer(…, allow_objects=True) unpickles it, for jobs whose every rank and network "
              "you trust", source)
        made, address = _empty(kind, type_name.rstrip(b"\0").decode("ascii", "replace"),
                               shape[:dimensions], size)
        _check(_lib.ml_get(window._live(), address, size, source, offset))
        return pickle.loads(made) if kind == _OBJECT else made, size

    @_public
    def get(self, key: str, source: int, out: Buffer = None, timeout: float | None = None
            ) -> typing.Any:
        """Returns what rank `source` has put under `key`, and frees it there.

        Waits until it has been put, up to `timeout` seconds (default: ttl), else raises
        ERR_TIMEOUT. With out, a writable buffer or a PoolBuffer of at least its size, its bytes go
        there. After an error the key is where it was."""
        digest, source = _digest(key), _integer("source", source, 0, self.size - 1)
        timeout = self.ttl if timeout is None else timeout
        slot, state = self._claim(key, digest, source, timeout)
        try:
            result, size = self._read(source, slot, out)
        except BaseException:
            with contextlib.suppress(Error):
                self._swap(source, slot, state, state + _READY - _CLAIMED)
            raise
        window = self._live()
        window.fetch_add(source, self._index_at(slot, source), _DONE - _CLAIMED)
        window.put_signal(None, source, 0, _DONE_BELL, 1)
        with self._lock:
            self._counts["gets"] += 1
            self._counts["bytes_got"] += size
        return result

    # the rest

    @_public
    def cleanup(self, key: str) -> bool:
        """Frees what this rank has put under `key`. False: it is not there, or being got now."""
        _digest(key)
        self._live()
        with self._lock:
            self._sweep()
            item = self._items.get(key)
            return item is not None and self._drop(key, item)

    @_public
    def health(self) -> dict:
        """What is in this rank's pool and what was done so far; frees what others have got."""
        is_open = self._window is not None
        about = {"healthy": is_open, "rank": self.rank, "ranks": self.size,
                 "pool_size": self._pool_size}
        with self._lock:
            if is_open:
                self._sweep()
                about["pool_left"], about["pool_longest"] = self.pool.left()
                if self.gpu_pool is not None:
                    about["gpu_pool_left"] = self.gpu_pool.left()[0]
            about["keys"] = len(self._items)
            about.update(self._counts)
        return about

    @_public
    def close(self) -> None:
        """Returns once all ranks have closed it; until then they can get what is here. May be
        called again, then does nothing."""
        window, self._window = self._window, None
        if window is None:
            return
        try:
            window.free()
        finally:
            self._items.clear()
            self._directory = self._numbers = None
            self.pool.close()
            if self._gpu_window is not None:
                self._gpu_window.free()
            if self.gpu_pool is not None:
                self.gpu_pool.close()


def _digest(key):
    _need(isinstance(key, str) and key, "key is %s: give a str that is not empty",
          reprlib.repr(key))
    return hashlib.blake2b(key.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _buffer_of(out):
    """What a call takes in the place of `out`."""
    if isinstance(out, PoolBuffer):
        return out if out._is_on_gpu else out.memory
    return out.numpy() if hasattr(out, "data_ptr") and out.device.type == "cpu" else out
