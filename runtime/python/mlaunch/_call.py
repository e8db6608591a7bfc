# SPDX-License-Identifier: MIT
"""A call: what it says of itself before it is made, and calls that are started."""

from __future__ import annotations

import ctypes
import functools
import operator
import os
import sys
import threading
import weakref

from ._argument import Buffer, Error, ErrorCode, _public
from ._library import _check, _int, _lib, _pointer, _size

# ---- places ----

_PLACES = 1 << 16
# "train.py:17", which the library reads as long as a call waits, and the code that has this line:
# by the code's id() and the offset in it, because a line's number takes longer to find.
_places = {}
_get_frame = getattr(sys, "_getframe", None)  # not every Python has it


def _say_place(handle):
    """Says on which line outside these modules the next call is, which ps --stacks shows."""
    if not _get_frame:
        return
    try:
        frame = _get_frame(4)  # behind this function, _do(), the method and _public()
    except ValueError:  # no Python code makes the call: a thread begins with it, or atexit
        return
    code = frame.f_code
    while code.co_filename in _own_files and frame.f_back:
        frame = frame.f_back
        code = frame.f_code
    key = id(code), frame.f_lasti
    place = _places.get(key)
    if place is None:
        if len(_places) >= _PLACES:
            return
        text = "%s:%d" % (code.co_filename, frame.f_lineno or 0)
        place = text.encode(errors="replace"), code
        _places[key] = place
    _lib.ml_next_place(handle, place[0])


_own_files = frozenset(
    os.path.join(os.path.dirname(_say_place.__code__.co_filename), name)
    for name in ("__init__.py", "_argument.py", "_call.py", "_group.py", "_window.py"))


# ---- streams ----

def _say_stream(handle, buffers):
    """Says in which stream the program works on buffers of the next call that are on GPUs. If these
    are several, or unknown, it says none: then the call waits for all."""
    streams = {buffer.gpu.stream for buffer in buffers if buffer.gpu is not None}
    if len(streams) == 1 and None not in streams:
        _check(_lib.ml_next_stream(handle, streams.pop()))


def _say_window_stream(handle, memory):
    """The same of this thread's next call on a window. memory: its buffer's, of gpu, or None."""
    if memory is not None and memory.stream is not None:
        _check(_lib.ml_next_window_stream(handle, memory.stream))


# ---- messages with tags ----

class Status(ctypes.Structure):
    """A message that has come: from rank source, with this tag, of size bytes."""

    _fields_ = [("source", _int), ("tag", _int), ("size", _size)]

    def __repr__(self):
        return "<mlaunch.Status: %d bytes from rank %d with tag %d>" % (
            self.size, self.source, self.tag)


class _Held:
    """What a started call reads or writes beside its buffers: held as long as those are."""

    kept, gpu = None, None

    def __init__(self, what):
        self.what = what

    @property
    def address(self):
        return ctypes.addressof(self.what)

    def release(self):
        self.what = None


# ---- calls that are started ----

class _Bound:
    """An object that stands for something of the library in this process, and means nothing in
    another one."""

    def __reduce__(self):
        raise TypeError("mlaunch.%s belongs to the process that made it, so it can be neither "
                        "pickled nor copied: let each rank make its own, and pass data" %
                        type(self).__name__)


_calls = set()  # that were started, or are about to be, and are not known to be done
_make = operator.methodcaller("__call__")


class _Started:
    """A call that is started. What it reads and writes, `held`, is held until it is done.

    A signal's handler may raise an exception between any two instructions. So the call is one of
    _calls before it is started; whether it was started is told by `handle`, which the library
    writes; and whether it has ended by `came`, which gets its code and its sentence in one step."""

    def __init__(self, held):
        self.handle = _pointer()
        self.held, self.came = held, []
        self.request = None  # a weak reference to the Request
        self.lock = threading.RLock()
        for one in held:
            one.kept = self.handle  # true as soon as the library has written it

    def start(self, function, *arguments):
        """Starts it by a function of the library, and returns its code."""
        try:
            _calls.add(self)
            code = function(*arguments, ctypes.byref(self.handle))
        finally:
            if not self.handle:  # it failed, or is done already
                _calls.discard(self)
        return code

    def is_done(self):
        """Whether it is done; never waits. Raises an Error only if that can't be known here."""
        with self.lock:
            if self.came or not self.handle:
                return True
            done = _int()
            code = _lib.ml_test(self.handle, ctypes.byref(done))
            return bool(done.value) or bool(_check(code))

    def end(self):
        """Waits until it is done, and releases what it held. Returns its code and its sentence."""
        with self.lock:
            try:
                if self.handle and not self.came:
                    self.is_done()  # raises where it can't be waited for
                    # One step, because the library frees the call in it.
                    self.came.extend(map(_make, (functools.partial(_lib.ml_wait, self.handle),
                                                 _lib.ml_error)))
            finally:
                if self.came:
                    for one in self.held:
                        one.release()
                    self.held = ()
                    _calls.discard(self)
        return self.came or (0, b"")

    def is_left(self):
        """Whether it was started, and no Request stands for it any more."""
        return bool(self.handle) and (self.request is None or self.request() is None)


class Request(_Bound):
    """A call that was started, by Group.start_X with the arguments of X.

    A thread of the library carries it out. Until it is done, don't change the buffers, and don't
    read those that it fills; it holds them, even if the Request is dropped. Any thread may call
    wait() and test(), but only one at a time."""

    def __init__(self, call, result):
        self._call, self._result = call, result
        call.request = weakref.ref(self)

    @_public
    def wait(self) -> Buffer:
        """Waits until it is done. Returns the buffer that it filled, or raises the call's Error."""
        code, sentence = self._call.end()
        if code < 0:
            raise Error(ErrorCode(code), sentence.decode(errors="replace"))
        return self._result

    @_public
    def test(self) -> bool:
        """True if it is done; never waits. Raises the call's Error."""
        if self._call.is_done():
            self.wait()
            return True
        return False


def _sweep():
    """Ends the calls that are done and that no Request stands for any more."""
    for call in list(_calls):
        try:
            if call.is_left() and call.is_done():
                call.end()  # after an error the group is broken, and its next call says so
        except Error:
            pass  # a forked child, or an operator, which can't end it
