# SPDX-License-Identifier: MIT
"""mlaunch from Python: the ranks of a job and their collectives, on any buffer.

    import array, mlaunch

    w = mlaunch.init()
    a = array.array("d", [w.rank] * 1000)
    w.all_reduce(a)                      # in place; op=mlaunch.SUM
    w.barrier()

    r = w.start_all_reduce(a)            # runs while this thread computes; leave a alone
    …
    r.wait()

A buffer is any contiguous object with the buffer protocol: bytes (to send from), bytearray,
array.array, memoryview, ctypes arrays, numpy arrays; for torch tensors, t.numpy(). Reductions work
on elements of the buffer's own type unless type= overrides it, for instance for bfloat16 kept in
16-bit integers; other calls move bytes.

A buffer belongs to the caller; a call holds it until it returns, and a started call until it is
done. One thread at a time may use a group, different groups may be used at the same time, and calls
block without holding the interpreter's lock. A call that fails raises mlaunch.Error with the
sentence of ml_error().

`mlaunch -- python3 script.py` makes the module importable (at the end of PYTHONPATH). A script that
is started otherwise is a group of one rank.
"""

import ctypes
import os
import sys
import weakref

__all__ = [
    "init", "finalize", "abort", "alloc", "version", "Group", "Request", "Error", "NOBODY",
    "SUM", "PROD", "MIN", "MAX", "AND", "OR", "XOR",
    "BOOL", "INT8", "INT16", "INT32", "INT64", "UINT8", "UINT16", "UINT32", "UINT64",
    "FLOAT16", "BFLOAT16", "FLOAT32", "FLOAT64", "COMPLEX64",
    "ERR_ARGUMENT", "ERR_STATE", "ERR_MEMORY", "ERR_MISMATCH", "ERR_PEER", "ERR_DEVICE", "ERR_LINK",
    "ERR_TIMEOUT", "ERR_REFUSED", "ERR_SYSTEM",
]

(BOOL, INT8, INT16, INT32, INT64, UINT8, UINT16, UINT32, UINT64, FLOAT16, BFLOAT16, FLOAT32,
 FLOAT64, COMPLEX64) = range(14)
SUM, PROD, MIN, MAX, AND, OR, XOR = range(7)
NOBODY = -1

(ERR_ARGUMENT, ERR_STATE, ERR_MEMORY, ERR_MISMATCH, ERR_PEER, ERR_DEVICE, ERR_LINK, ERR_TIMEOUT,
 ERR_REFUSED, ERR_SYSTEM) = range(-1, -11, -1)

_SIZES = (1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 8, 8)


class Error(Exception):
    """Why a call of mlaunch failed: code (ERR_…) and text, a sentence."""

    def __init__(self, code, text):
        super().__init__(text)
        self.code = code
        self.text = text


# ---- the library ----

def _library():
    """The library: as mlaunch preloads it, or else the one beside this file or an installed one."""
    preloaded = ctypes.CDLL(None)
    if hasattr(preloaded, "ml_init"):
        return preloaded
    name = "libmlaunch.so.0"
    # In a build folder this file is a link to the source.
    places = [os.path.join(os.path.dirname(file), beside, name)
              for file in (os.path.abspath(__file__), os.path.realpath(__file__))
              for beside in ("", "../.libs", "../../../lib")] + [name]
    for place in places:
        if os.path.sep not in place or os.path.exists(place):
            try:
                return ctypes.CDLL(place)
            except OSError:
                pass
    raise ImportError("mlaunch: %s is neither loaded nor found; start the script with "
                      "`mlaunch -- python3 …`" % name)


_lib = _library()
_pointer, _size, _int = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
for _name, _result, _arguments in (
        ("init", _int, [ctypes.POINTER(_pointer)]),
        ("finalize", _int, []),
        ("rank", _int, [_pointer]),
        ("size", _int, [_pointer]),
        ("host", ctypes.c_char_p, [_pointer, _int]),
        ("error", ctypes.c_char_p, []),
        ("version", ctypes.c_char_p, []),
        ("abort", None, [_int, ctypes.c_char_p]),
        ("split", _int, [_pointer, _int, _int, ctypes.POINTER(_pointer)]),
        ("group_free", None, [_pointer]),
        ("all_reduce", _int, [_pointer, _pointer, _pointer, _size, _int, _int]),
        ("reduce_scatter", _int, [_pointer, _pointer, _pointer, _size, _int, _int]),
        ("reduce", _int, [_pointer, _pointer, _pointer, _size, _int, _int, _int]),
        ("all_gather", _int, [_pointer, _pointer, _pointer, _size]),
        ("all_to_all", _int, [_pointer, _pointer, _pointer, _size]),
        ("broadcast", _int, [_pointer, _pointer, _size, _int]),
        ("gather", _int, [_pointer, _pointer, _pointer, _size, _int]),
        ("scatter", _int, [_pointer, _pointer, _pointer, _size, _int]),
        ("send", _int, [_pointer, _pointer, _size, _int]),
        ("recv", _int, [_pointer, _pointer, _size, _int]),
        ("sendrecv", _int, [_pointer, _pointer, _size, _int, _pointer, _size, _int]),
        ("test", _int, [_pointer, ctypes.POINTER(_int)]),
        ("wait", _int, [_pointer]),
        ("barrier", _int, [_pointer]),
        ("alloc", _int, [_size, ctypes.POINTER(_pointer)]),
        ("free", None, [_pointer])):
    _function = getattr(_lib, "ml_" + _name)
    _function.restype = _result
    _function.argtypes = _arguments

_STARTED = ("all_reduce", "reduce_scatter", "reduce", "all_gather", "all_to_all", "broadcast",
            "gather", "scatter", "send", "recv", "sendrecv", "barrier")
for _name in _STARTED:
    _function = getattr(_lib, "ml_start_" + _name)
    _function.restype = _int
    _function.argtypes = getattr(_lib, "ml_" + _name).argtypes + [ctypes.POINTER(_pointer)]


def _check(code):
    if code < 0:
        raise Error(code, _lib.ml_error().decode(errors="replace"))
    return code


# ---- buffers ----

class _PyBuffer(ctypes.Structure):
    _fields_ = [("buf", _pointer), ("obj", ctypes.py_object), ("len", ctypes.c_ssize_t),
                ("itemsize", ctypes.c_ssize_t), ("readonly", _int), ("ndim", _int),
                ("format", ctypes.c_char_p), ("shape", _pointer), ("strides", _pointer),
                ("suboffsets", _pointer), ("internal", _pointer)]


_C_CONTIGUOUS, _WRITABLE = 0x0020 | 0x0010 | 0x0008, 0x0001  # PyBUF_*: with shape and strides
_FORMAT = 0x0004
_get_buffer = ctypes.pythonapi.PyObject_GetBuffer
_get_buffer.argtypes = [ctypes.py_object, ctypes.POINTER(_PyBuffer), _int]
_release_buffer = ctypes.pythonapi.PyBuffer_Release
_release_buffer.argtypes = [ctypes.POINTER(_PyBuffer)]
_release_buffer.restype = None


class _Buffer:
    """A caller's buffer. While it is held, its address stays and it can't be resized."""

    def __init__(self, what, obj, writable, may_be_none=False):
        self.view = _PyBuffer()
        self.held = False
        self.what = what
        if obj is None and may_be_none:
            self.address, self.size, self.itemsize = None, 0, 1
            return
        try:
            _get_buffer(obj, ctypes.byref(self.view),
                        _C_CONTIGUOUS | _FORMAT | (_WRITABLE if writable else 0))
        except (BufferError, ValueError, TypeError) as e:
            raise Error(ERR_ARGUMENT, "%s: %s can't be used as a contiguous%s buffer: %s" % (
                what, type(obj).__name__, " writable" if writable else "", e)) from None
        self.held = True
        self.address, self.size = self.view.buf, self.view.len
        self.itemsize = self.view.itemsize
        self.format = (self.view.format or b"B").decode()

    def type(self):
        """The ml_type of the elements."""
        order, kind = self.format[:1], self.format
        if order in "@=<>!":
            kind = kind[1:]
            swapped = ">!" if sys.byteorder == "little" else "<"
            if order in swapped and self.itemsize > 1:
                raise Error(ERR_ARGUMENT, "%s: elements are in another machine's byte order (%s)"
                            % (self.what, self.format))
        if kind in ("b", "h", "i", "l", "q", "n") and self.itemsize in (1, 2, 4, 8):
            return INT8 + self.itemsize.bit_length() - 1
        if kind in ("c", "B", "H", "I", "L", "Q", "N") and self.itemsize in (1, 2, 4, 8):
            return UINT8 + self.itemsize.bit_length() - 1
        found = {"?": BOOL, "e": FLOAT16, "f": FLOAT32, "d": FLOAT64, "Zf": COMPLEX64}.get(kind)
        if found is None:
            raise Error(ERR_ARGUMENT, "%s: there is no type for elements of format '%s'; give type="
                        % (self.what, self.format))
        return found

    kept = False  # True: a request releases it

    def release(self):
        if self.held:
            self.held = False
            _release_buffer(ctypes.byref(self.view))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if not self.kept:
            self.release()


def alloc(size, format="B"):
    """Returns a memoryview of `size` bytes of zeros, as elements of `format` (struct's letters).

    RDMA devices keep this memory registered, and ranks of one host read it in each other's memory:
    so long messages, and the vectors of a long all_reduce, are not copied. It is freed once nothing
    uses it any more; numpy.frombuffer(mlaunch.alloc(8000), "f8") uses it, for instance. It may be
    called before init(), in any thread. Raises Error (ERR_MEMORY)."""
    address = _pointer()
    _check(_lib.ml_alloc(size, ctypes.byref(address)))
    memory = (ctypes.c_ubyte * size).from_address(address.value)
    # Not at the interpreter's exit, when something may still use the memory.
    weakref.finalize(memory, _lib.ml_free, address.value).atexit = False
    view = memoryview(memory).cast("B")
    return view if format == "B" else view.cast(format)


def _need(condition, text, *values):
    if not condition:
        raise Error(ERR_ARGUMENT, text % values)


def _elements(buffer, kind):
    size = _SIZES[kind]
    _need(buffer.size % size == 0, "%s: %d bytes are not a whole number of %d-byte elements",
          buffer.what, buffer.size, size)
    return buffer.size // size


# ---- groups ----

_groups = weakref.WeakSet()  # all that are alive: finalize() clears their handles


class Group:
    """Ranks that make calls together: the group of all ranks (init()) or a part of it (split()).

    rank is this process's rank in the group, from 0, and size the number of ranks. All ranks make
    the same calls in the same order; only one thread at a time may use a group. Calls return the
    buffer that they filled. Where out may be omitted, the call works in place. op is SUM, PROD,
    MIN, MAX, AND, OR or XOR.

    Calls raise Error. ERR_ARGUMENT and ERR_STATE leave the group unharmed. After ERR_MISMATCH,
    ERR_PEER, ERR_DEVICE or ERR_LINK it is broken, and every call on it fails.

    As a context manager, a group of split() is freed at the end, and the group of init() calls
    finalize(); after an exception neither happens.
    """

    def __init__(self, handle):
        self._handle = handle
        self.rank = _check(_lib.ml_rank(handle))
        self.size = _check(_lib.ml_size(handle))
        _groups.add(self)

    def __repr__(self):
        return "<mlaunch.Group: rank %d of %d>" % (self.rank, self.size)

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        # Not after an exception: the job is to see that this rank failed, not that it left.
        if kind is None and self._handle is not None:
            self.free() if self._is_split else finalize()

    _is_split = False

    def _live(self):
        if self._handle is None:
            raise Error(ERR_STATE,
                        "the group is gone: it was freed, or mlaunch.finalize() was called")
        return self._handle

    def host(self, rank):
        """The name of the host that `rank` runs on, as the hostfile has it."""
        name = _lib.ml_host(self._live(), rank)
        if name is None:
            raise Error(ERR_ARGUMENT, _lib.ml_error().decode(errors="replace"))
        return name.decode(errors="replace")

    def _do(self, call, buffers, result, *arguments):
        _check(getattr(_lib, "ml_" + call)(self._live(), *arguments))
        return result

    # reductions

    def _reduce(self, call, data, out, type, op, root=None):
        unused = root is not None and root != self.rank and out is None
        with _Buffer("data", data, out is None and not unused) as a, \
                _Buffer("out", None if unused else data if out is None else out, True,
                        unused) as b:
            kind = a.type() if type is None else type
            _need(kind in range(len(_SIZES)), "there is no type %s", kind)
            count = _elements(a, kind)
            if call == "reduce_scatter":
                _need(count % self.size == 0, "data: %d elements can't be shared by %d ranks",
                      count, self.size)
                count //= self.size
            if not unused and (root is None or root == self.rank):
                _need(b.size >= count * _SIZES[kind], "out: %d bytes, %d needed", b.size,
                      count * _SIZES[kind])
            return self._do(call, (a, b), data if out is None else out, a.address, b.address, count,
                            kind, op, *(() if root is None else (root,)))

    def all_reduce(self, data, out=None, op=SUM, type=None):
        """Every rank gets the reduction of all ranks' data, in out or, without it, in data."""
        return self._reduce("all_reduce", data, out, type, op)

    def reduce(self, data, out=None, op=SUM, root=0, type=None):
        """As all_reduce, but only root's out (or data) is written; the others need no out."""
        return self._reduce("reduce", data, out, type, op, root)

    def reduce_scatter(self, data, out, op=SUM, type=None):
        """Reduces data, which is one block for each rank; out, of one block, gets block `rank`."""
        _need(out is not None, "out: NoneType can't be used as a contiguous writable buffer")
        return self._reduce("reduce_scatter", data, out, type, op)

    # movements: bytes

    def all_gather(self, data, out):
        """out, as long as all ranks' data together, gets them in the order of ranks."""
        with _Buffer("data", data, False) as a, _Buffer("out", out, True) as b:
            _need(b.size == a.size * self.size, "out: %d bytes, %d ranks have %d each", b.size,
                  self.size, a.size)
            return self._do("all_gather", (a, b), out, a.address, b.address, a.size)

    def all_to_all(self, data, out=None):
        """Block j of data goes to rank j, into block `rank` of its out (or data, without out)."""
        with _Buffer("data", data, out is None) as a, \
                _Buffer("out", data if out is None else out, True) as b:
            _need(a.size % self.size == 0, "data: %d bytes can't be shared by %d ranks", a.size,
                  self.size)
            _need(a.size == b.size, "data has %d bytes, out %d", a.size, b.size)
            return self._do("all_to_all", (a, b), data if out is None else out, a.address,
                            b.address, a.size // self.size)

    def broadcast(self, data, root=0):
        """Copies root's data into the data of all other ranks."""
        with _Buffer("data", data, root != self.rank) as a:
            return self._do("broadcast", (a,), data, a.address, a.size, root)

    def gather(self, data, out=None, root=0):
        """root's out gets every rank's data, in the order of ranks; the others need no out."""
        with _Buffer("data", data, False) as a, \
                _Buffer("out", out, True, root != self.rank) as b:
            _need(root != self.rank or b.size == a.size * self.size,
                  "out: %d bytes, %d ranks have %d each", b.size, self.size, a.size)
            return self._do("gather", (a, b), out, a.address, b.address, a.size, root)

    def scatter(self, data, out, root=0):
        """out gets block `rank` of root's data; the others' data may be None."""
        with _Buffer("data", data, False, root != self.rank) as a, \
                _Buffer("out", out, True) as b:
            _need(root != self.rank or a.size == b.size * self.size,
                  "data: %d bytes, %d ranks take %d each", a.size, self.size, b.size)
            return self._do("scatter", (a, b), out, a.address, b.address, b.size, root)

    # point to point

    def send(self, data, to):
        """Sends data to rank `to`, whose recv() must have as many bytes.

        The calls between two ranks match in order. It may return before the receiver has called."""
        with _Buffer("data", data, False) as a:
            return self._do("send", (a,), None, a.address, a.size, to)

    def recv(self, out, source):
        """Receives as many bytes as out has from rank `source`."""
        with _Buffer("out", out, True) as b:
            return self._do("recv", (b,), out, b.address, b.size, source)

    def sendrecv(self, data, to, out, source):
        """send() and recv() at once, which can't deadlock; NOBODY as to or source omits one."""
        with _Buffer("data", data, False, to == NOBODY) as a, \
                _Buffer("out", out, True, source == NOBODY) as b:
            return self._do("sendrecv", (a, b), out, a.address, a.size, to, b.address, b.size,
                            source)

    def barrier(self):
        """Returns once every rank has called it."""
        return self._do("barrier", (), None)

    # groups

    def split(self, color, key=0):
        """Returns the group of the ranks with this color, in order of key; None if color < 0."""
        handle = _pointer()
        _check(_lib.ml_split(self._live(), color, key, ctypes.byref(handle)))
        if not handle.value:
            return None
        group = Group(handle.value)
        group._is_split = True
        return group

    def free(self):
        """Frees a group made by split(); does nothing to the group of all ranks."""
        if self._is_split and self._handle is not None:
            handle, self._handle = self._handle, None
            _lib.ml_group_free(handle)


# ---- calls that are started ----

_requests = {}  # by handle: holds the buffers until the call is done, even if no Request is left


class Request:
    """A call that was started: Group.start_X has the arguments of X.

    A thread of the library carries it out. Until it is done, don't change the buffers, and don't
    read those that it fills; it holds them, even if the Request is dropped. Any thread may call
    wait() and test(), but only one at a time."""

    def __init__(self, handle, buffers, result):
        self._handle, self._result, self._error = handle, result, None
        for buffer in buffers:
            buffer.kept = True
        _sweep()
        _requests[handle] = (weakref.ref(self), buffers)

    def wait(self):
        """Waits until it is done. Returns the buffer that it filled, or raises the call's Error."""
        handle, self._handle = self._handle, None
        if handle is not None:
            try:
                _end(handle)
            except Error as e:
                self._error = e
        if self._error is not None:
            raise self._error
        return self._result

    def test(self):
        """True if it is done; never waits. Raises the call's Error."""
        if self._handle is None or _is_done(self._handle):
            self.wait()
            return True
        return False


def _is_done(handle):
    done = _int()
    code = _lib.ml_test(handle, ctypes.byref(done))
    return bool(done.value) or bool(_check(code))


def _end(handle):
    code = _lib.ml_wait(handle)
    error = _lib.ml_error() if code < 0 else b""
    for buffer in _requests.pop(handle)[1]:
        buffer.release()
    if code < 0:
        raise Error(code, error.decode(errors="replace"))


def _sweep():
    """Ends the requests that are done and that no Request stands for any more."""
    for handle, (request, _) in list(_requests.items()):
        if request() is None and _is_done(handle):
            try:
                _end(handle)
            except Error:
                pass  # the group is broken, and its next call says so


class _Starting(Group):
    """A group whose calls return a Request at once: the same object with another _do()."""

    def __init__(self, group):
        self.__dict__ = group.__dict__

    def _do(self, call, buffers, result, *arguments):
        handle = _pointer()
        _check(getattr(_lib, "ml_start_" + call)(self._live(), *arguments, ctypes.byref(handle)))
        return Request(handle.value, buffers, result)


def _starting(name):
    def start(self, *arguments, **named):
        return getattr(_Starting(self), name)(*arguments, **named)
    start.__name__ = start.__qualname__ = "start_" + name
    start.__doc__ = "%s(), but returns a Request at once." % name
    return start


for _name in _STARTED:
    setattr(Group, "start_" + _name, _starting(_name))

_inits = 0


def init():
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


def finalize():
    """Leaves the job when it has been called as often as init(). Frees all groups. No barrier.

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
            group._handle = None
        _groups.clear()
    if failed:
        raise failed


def abort(status=1, why=None):
    """Ends the whole job; the launcher reports this rank and why. Does not return.

    This process exits with `status` (1 if it is 0), after flushing stdout and stderr."""
    sys.stdout.flush()
    sys.stderr.flush()
    _lib.ml_abort(status, None if why is None else str(why).encode())


def version():
    """Version and build of the library, for example "0.1.0 (3f9a…)"."""
    return _lib.ml_version().decode()
