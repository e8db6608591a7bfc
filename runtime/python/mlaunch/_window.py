# SPDX-License-Identifier: MIT
"""Windows: memory that other ranks read and write."""

from __future__ import annotations

import ctypes
import typing

from ._argument import (ALL, Buffer, ERR_PEER, ERR_STATE, ERR_TIMEOUT, Error, _integer, _offset,
                        _public, _uint64)
from ._buffer import _Buffer, _bytes_of
from ._call import Request, _Bound, _Started, _say_stream, _say_window_stream, _sweep
from ._library import _check, _lib, _number, _pointer, _size

_windows = set()  # all that were not freed: the library may still write their memory


class Window(_Bound):
    """Memory of each rank of a group, its part, that the other ranks read and write by themselves.

    Group.window() makes it. The rank that owns a part makes no call for what the others do in it.
    `memory` is a memoryview of this rank's part, or what was given if that is on a GPU, and
    part_sizes has every rank's size in bytes.
    Offsets are in bytes. A put is complete, and a program may read it, after flush() and a message
    or collective call, or when its signal has come. Numbers are unsigned 64-bit integers at
    8-byte aligned offsets. Any number of threads may use a window at the same time.

    Calls raise Error: ERR_ARGUMENT harms nothing; after ERR_PEER, because a rank died or left, or
    ERR_LINK the window is broken. As a context manager, a window is freed at the end unless there
    was an exception."""

    rank: int
    size: int
    memory: typing.Any
    part_sizes: tuple

    def __init__(self, group, memory, size):
        handle, part, self._handle = _pointer(), _size(), None
        self.rank, self.size = group.rank, group.size
        with _Buffer("memory", memory, True) as buffer, group._turn:
            size = buffer.size if size is None else size
            self.memory = memory if buffer.gpu else _bytes_of(memory)
            self._buffer, self._gpu = memory, buffer.gpu  # which exists as long as the window
            _say_stream(group._live(), [buffer])
            try:
                _windows.add(self)
                # Where nothing lies there may be no memory of alloc() either.
                _check(_lib.ml_window_create(group._live(), buffer.address if size else None, size,
                                             ctypes.byref(handle)))
            finally:
                if not handle:
                    _windows.discard(self)
        self._handle = handle.value
        sizes = []
        for rank in range(self.size):
            _lib.ml_window_memory(handle, rank, ctypes.byref(part))
            sizes.append(part.value)
        self.part_sizes = tuple(sizes)

    def __repr__(self):
        return "<mlaunch.Window: rank %d of %d, %d bytes>" % (self.rank, self.size,
                                                              self.part_sizes[self.rank])

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind is None:
            self.free()

    _ended = None  # as a Group's

    def _live(self):
        if self._ended:
            raise Error(ERR_PEER, self._ended)
        if self._handle is None:
            raise Error(ERR_STATE,
                        "the window is gone: it was freed, or mlaunch.finalize() was called")
        return self._handle

    def _start(self, call, buffer, result, *arguments):
        _sweep()
        started = _Started((buffer,))
        _say_window_stream(self._live(), buffer.gpu)
        _check(started.start(getattr(_lib, "ml_start_" + call), self._live(), buffer.address,
                             buffer.size, *arguments))
        return Request(started, result)

    @_public
    def put(self, data: Buffer, to: int, offset: int = 0) -> None:
        """Writes data to offset of the part of rank `to`; data may be changed at once."""
        to, offset = _integer("to", to), _offset("offset", offset)
        with _Buffer("data", data, False) as a:
            _say_window_stream(self._live(), a.gpu)
            _check(_lib.ml_put(self._live(), a.address, a.size, to, offset))

    @_public
    def get(self, out: Buffer, source: int, offset: int = 0) -> Buffer:
        """Reads as many bytes as out has from offset of the part of rank `source`."""
        source, offset = _integer("source", source), _offset("offset", offset)
        with _Buffer("out", out, True) as b:
            _say_window_stream(self._live(), b.gpu)
            _check(_lib.ml_get(self._live(), b.address, b.size, source, offset))
        return out

    @_public
    def start_put(self, data: Buffer, to: int, offset: int = 0) -> Request:
        """put(), but returns a Request at once."""
        to, offset = _integer("to", to), _offset("offset", offset)
        with _Buffer("data", data, False) as a:
            return self._start("put", a, data, to, offset)

    @_public
    def start_get(self, out: Buffer, source: int, offset: int = 0) -> Request:
        """get(), but returns a Request at once."""
        source, offset = _integer("source", source), _offset("offset", offset)
        with _Buffer("out", out, True) as b:
            return self._start("get", b, out, source, offset)

    @_public
    def put_signal(self, data: Buffer, to: int, offset: int, signal_offset: int,
                   add: int = 1) -> None:
        """put(), and then adds `add` to the number at signal_offset of the same part. data may be
        None: then it only signals."""
        to, offset = _integer("to", to), _offset("offset", offset)
        signal_offset = _offset("signal_offset", signal_offset)
        add = _uint64("add", add)
        with _Buffer("data", data, False, True) as a:
            _say_window_stream(self._live(), a.gpu)
            _check(_lib.ml_put_signal(self._live(), a.address, a.size, to, offset, signal_offset,
                                      add))

    @_public
    def wait_signal(self, signal_offset: int, at_least: int,
                    timeout: float | None = None) -> bool:
        """Waits until the number at signal_offset of this rank's part is at least at_least. False:
        that has not come in `timeout` seconds. The number stays as it is."""
        signal_offset = _offset("signal_offset", signal_offset)
        at_least = _uint64("at_least", at_least)
        ms = -1 if timeout is None else min(max(round(timeout * 1000), 0), (1 << 31) - 1)
        code = _lib.ml_wait_signal(self._live(), signal_offset, at_least, ms)
        return code != ERR_TIMEOUT and _check(code) == 0

    @_public
    def flush(self, to: int = ALL) -> None:
        """Returns once all that this rank has put to rank `to`, or to ALL, is in their memory."""
        _check(_lib.ml_flush(self._live(), _integer("to", to)))

    @_public
    def fetch_add(self, at: int, offset: int, add: int = 1) -> int:
        """Adds `add` to the number at offset of the part of rank `at`; returns what it was."""
        at, offset, add = _integer("at", at), _offset("offset", offset), _uint64("add", add)
        old = _number()
        _check(_lib.ml_fetch_add(self._live(), at, offset, add, ctypes.byref(old)))
        return old.value

    @_public
    def compare_swap(self, at: int, offset: int, expected: int, wanted: int) -> int:
        """Writes `wanted` to the number if it is `expected`; returns what it was."""
        at, offset = _integer("at", at), _offset("offset", offset)
        expected, wanted = _uint64("expected", expected), _uint64("wanted", wanted)
        old = _number()
        _check(_lib.ml_compare_swap(self._live(), at, offset, expected, wanted,
                                    ctypes.byref(old)))
        return old.value

    @_public
    def free(self) -> None:
        """Frees the window once all of its ranks have called this; `memory` stays readable."""
        if self._handle is None:
            return
        handle, self._handle = self._handle, None
        try:
            _check(_lib.ml_window_free(handle))
        finally:
            _windows.discard(self)
            self._buffer = self._gpu = None
