# SPDX-License-Identifier: MIT
"""mlaunch from Python: the ranks of a job and their collectives, on any buffer.

    import array, mlaunch

    w = mlaunch.init()
    a = array.array("d", [w.rank] * 1000)
    w.all_reduce(a)                      # in place; op=mlaunch.SUM
    w.barrier()

    r = w.start_all_reduce(a)            # goes on while this thread computes, a left alone
    …
    r.wait()

Buffers are anything with the buffer protocol that is contiguous: bytes (to send from), bytearray,
array.array, memoryview, ctypes arrays, numpy arrays; torch tensors as t.numpy(). The element type is the
buffer's own; type= overrides it, for instance for bfloat16 kept in 16-bit integers. Calls block without
holding the interpreter's lock, and what fails raises mlaunch.Error with the sentence of ml_error.

`mlaunch -- python3 script.py` makes the module importable (at the end of PYTHONPATH). A script that was
started otherwise is a group of one rank.
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

(BOOL, INT8, INT16, INT32, INT64, UINT8, UINT16, UINT32, UINT64, FLOAT16, BFLOAT16, FLOAT32, FLOAT64,
 COMPLEX64) = range(14)
SUM, PROD, MIN, MAX, AND, OR, XOR = range(7)
NOBODY = -1

(ERR_ARGUMENT, ERR_STATE, ERR_MEMORY, ERR_MISMATCH, ERR_PEER, ERR_DEVICE, ERR_LINK, ERR_TIMEOUT,
 ERR_REFUSED, ERR_SYSTEM) = range(-1, -11, -1)

_SIZES = (1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 8, 8)


class Error(Exception):
    """What a call of mlaunch failed with: code (ERR_…) and text."""

    def __init__(self, code, text):
        super().__init__(text)
        self.code = code
        self.text = text


# ---- the library ----

def _library():
    """The copy that is injected into this process; else the installed one, or the one beside this file."""
    preloaded = ctypes.CDLL(None)
    if hasattr(preloaded, "ml_init"):
        return preloaded
    here = os.path.dirname(os.path.realpath(__file__))
    name = "libmlaunch.so.0"
    places = [os.path.join(here, name), os.path.join(here, "../.libs", name),
              os.path.join(here, "../../../lib", name), name]
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

_STARTED = ("all_reduce", "reduce_scatter", "reduce", "all_gather", "all_to_all", "broadcast", "gather",
            "scatter", "send", "recv", "sendrecv", "barrier")
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
    """A caller's buffer, held as long as a call uses it: its address stays, and it can't be resized."""

    def __init__(self, what, obj, writable):
        self.view = _PyBuffer()
        self.held = False
        self.what = what
        if obj is None:
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
                raise Error(ERR_ARGUMENT, "%s: elements are in another machine's byte order (%s)" % (
                    self.what, self.format))
        if kind in ("b", "h", "i", "l", "q", "n") and self.itemsize in (1, 2, 4, 8):
            return INT8 + self.itemsize.bit_length() - 1
        if kind in ("c", "B", "H", "I", "L", "Q", "N") and self.itemsize in (1, 2, 4, 8):
            return UINT8 + self.itemsize.bit_length() - 1
        found = {"?": BOOL, "e": FLOAT16, "f": FLOAT32, "d": FLOAT64, "Zf": COMPLEX64}.get(kind)
        if found is None:
            raise Error(ERR_ARGUMENT, "%s: there is no type for elements of format '%s'; give type=" % (
                self.what, self.format))
        return found

    kept = False  # by a request, which releases it

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
    """A memoryview of `size` bytes of zeros as elements of `format`, in memory that RDMA devices keep registered and
    ranks of one host read in each other: long messages, and an all_reduce's vectors, are spared copies. It is freed with the last thing that uses it, such as
    numpy.frombuffer(mlaunch.alloc(8000), "f8")."""
    address = _pointer()
    _check(_lib.ml_alloc(size, ctypes.byref(address)))
    memory = (ctypes.c_ubyte * size).from_address(address.value)
    # Not at the interpreter's exit: something may still look at it then.
    weakref.finalize(memory, _lib.ml_free, address.value).atexit = False
    view = memoryview(memory).cast("B")
    return view if format == "B" else view.cast(format)


def _need(condition, text, *values):
    if not condition:
        raise Error(ERR_ARGUMENT, text % values)


def _elements(buffer, kind):
    size = _SIZES[kind]
    _need(buffer.size % size == 0, "%s: %d bytes are no whole number of elements of %d", buffer.what,
          buffer.size, size)
    return buffer.size // size


# ---- groups ----

_groups = weakref.WeakSet()  # all alive: finalize takes their handles


class Group:
    """Ranks that make calls together. mlaunch.init() gives that of all ranks, split() others.

    Buffers named out may be left away where it says so; the call then works in place. All calls return
    the buffer that they filled.
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
        # After an exception the exit status tells; a rank that says goodbye would hide it.
        if kind is None and self._handle is not None:
            self.free() if self._is_split else finalize()

    _is_split = False

    def _live(self):
        if self._handle is None:
            raise Error(ERR_STATE, "the group is gone: it was freed, or mlaunch.finalize() was called")
        return self._handle

    def host(self, rank):
        """The name of the host that `rank` runs on."""
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
                _Buffer("out", None if unused else data if out is None else out, True) as b:
            kind = a.type() if type is None else type
            _need(kind in range(len(_SIZES)), "there is no type %s", kind)
            count = _elements(a, kind)
            if call == "reduce_scatter":
                _need(count % self.size == 0, "data: %d elements can't be shared by %d ranks", count,
                      self.size)
                count //= self.size
            if not unused and (root is None or root == self.rank):
                _need(b.size >= count * _SIZES[kind], "out: %d bytes, %d needed", b.size,
                      count * _SIZES[kind])
            return self._do(call, (a, b), data if out is None else out, a.address, b.address, count, kind,
                            op, *(() if root is None else (root,)))

    def all_reduce(self, data, out=None, op=SUM, type=None):
        """Everyone gets the reduction of all ranks' data, in place or in out."""
        return self._reduce("all_reduce", data, out, type, op)

    def reduce(self, data, out=None, op=SUM, root=0, type=None):
        """As all_reduce, but only root's out (or data, in place) is written."""
        return self._reduce("reduce", data, out, type, op, root)

    def reduce_scatter(self, data, out, op=SUM, type=None):
        """data: size equal blocks; out: block `rank` of the reduction."""
        return self._reduce("reduce_scatter", data, out, type, op)

    # movements: bytes

    def all_gather(self, data, out):
        """out: every rank's data, in rank order."""
        with _Buffer("data", data, False) as a, _Buffer("out", out, True) as b:
            _need(b.size == a.size * self.size, "out: %d bytes, %d ranks have %d each", b.size, self.size,
                  a.size)
            return self._do("all_gather", (a, b), out, a.address, b.address, a.size)

    def all_to_all(self, data, out=None):
        """Block j of data goes to rank j, into block `rank` of its out; in place without out."""
        with _Buffer("data", data, out is None) as a, \
                _Buffer("out", data if out is None else out, True) as b:
            _need(a.size % self.size == 0, "data: %d bytes can't be shared by %d ranks", a.size, self.size)
            _need(a.size == b.size, "data has %d bytes, out %d", a.size, b.size)
            return self._do("all_to_all", (a, b), data if out is None else out, a.address, b.address,
                            a.size // self.size)

    def broadcast(self, data, root=0):
        """root's data is copied into everybody else's."""
        with _Buffer("data", data, root != self.rank) as a:
            return self._do("broadcast", (a,), data, a.address, a.size, root)

    def gather(self, data, out=None, root=0):
        """root's out: every rank's data, in rank order; others need none."""
        with _Buffer("data", data, False) as a, _Buffer("out", out, True) as b:
            _need(root != self.rank or b.size == a.size * self.size,
                  "out: %d bytes, %d ranks have %d each", b.size, self.size, a.size)
            return self._do("gather", (a, b), out, a.address, b.address, a.size, root)

    def scatter(self, data, out, root=0):
        """out: block `rank` of root's data; others need no data (None)."""
        with _Buffer("data", data, False) as a, _Buffer("out", out, True) as b:
            _need(root != self.rank or a.size == b.size * self.size,
                  "data: %d bytes, %d ranks take %d each", a.size, self.size, b.size)
            return self._do("scatter", (a, b), out, a.address, b.address, b.size, root)

    # point to point

    def send(self, data, to):
        with _Buffer("data", data, False) as a:
            return self._do("send", (a,), None, a.address, a.size, to)

    def recv(self, out, source):
        with _Buffer("out", out, True) as b:
            return self._do("recv", (b,), out, b.address, b.size, source)

    def sendrecv(self, data, to, out, source):
        """Both at once, which can't deadlock. NOBODY as to or source: nothing is sent or received."""
        with _Buffer("data", data, False) as a, _Buffer("out", out, True) as b:
            return self._do("sendrecv", (a, b), out, a.address, a.size, to, b.address, b.size, source)

    def barrier(self):
        return self._do("barrier", (), None)

    # groups

    def split(self, color, key=0):
        """The group of the ranks with the same color, in order of key; None for a color below 0."""
        handle = _pointer()
        _check(_lib.ml_split(self._live(), color, key, ctypes.byref(handle)))
        if not handle.value:
            return None
        group = Group(handle.value)
        group._is_split = True
        return group

    def free(self):
        """Frees a group made by split(); nothing for the group of all ranks."""
        if self._is_split and self._handle is not None:
            handle, self._handle = self._handle, None
            _lib.ml_group_free(handle)


# ---- calls that are started ----

_requests = {}  # by handle: their buffers are held until they are done, whoever has forgotten them


class Request:
    """A call that was started: Group.start_X has X's arguments. A thread of the library carries it out, and
    the buffers are to be left alone until it is done."""

    def __init__(self, handle, buffers, result):
        self._handle, self._result, self._error = handle, result, None
        for buffer in buffers:
            buffer.kept = True
        _sweep()
        _requests[handle] = (weakref.ref(self), buffers)

    def wait(self):
        """Waits until it is done, and returns the buffer that it filled; raises what the call failed with."""
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
        """Whether it is done; never waits. Raises what the call failed with."""
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
    """Ends those that are done and that nobody will wait for."""
    for handle, (request, _) in list(_requests.items()):
        if request() is None and _is_done(handle):
            try:
                _end(handle)
            except Error:
                pass  # the group is broken: its next call tells


class _Starting(Group):
    """A group whose calls are started."""

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
    """Joins the job and returns the group of all its ranks; again, the same group."""
    global _inits
    handle = _pointer()
    _check(_lib.ml_init(ctypes.byref(handle)))
    _inits += 1
    for group in _groups:
        if group._handle == handle.value and not group._is_split:
            return group
    return Group(handle.value)


def finalize():
    """Leaves the job, at the last of as many calls as there were of init()."""
    global _inits
    _check(_lib.ml_finalize())
    _inits -= 1
    _sweep()
    if _inits <= 0:
        for group in list(_groups):
            group._handle = None
        _groups.clear()


def abort(status=1, why=None):
    """Ends the whole job; the launcher names this rank and why."""
    sys.stdout.flush()
    sys.stderr.flush()
    _lib.ml_abort(status, None if why is None else str(why).encode())


def version():
    return _lib.ml_version().decode()
