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
array.array, memoryview, ctypes arrays, numpy arrays; for torch tensors on the CPU, t.numpy().
Memory of NVIDIA GPUs is taken too: torch tensors, and objects with __cuda_array_interface__ or
__dlpack__; mlaunch.gpu says which stream a call waits for. Two buffers of one call have elements
of one type; nothing is converted. Elements with pointers in them, such as those of numpy's arrays
of objects, and elements in another byte order than this machine's are refused. In a reduction type=
overrides the buffers' own type, for instance for bfloat16 kept in 16-bit integers. Calls that only
move data also take bytes (format 'B') together with any type, and ranks that make such a call with
data of different types get ERR_MISMATCH.

A buffer belongs to the caller; a call holds it until it returns, and a started call until it is
done. Threads that use one group take turns, different groups may be used at the same time, and
calls block without holding the interpreter's lock. A call that fails raises mlaunch.Error with the
sentence of ml_error().

`mlaunch -- python3 script.py` makes the module importable (at the end of PYTHONPATH). A script that
is started otherwise is a group of one rank.
"""

from __future__ import annotations

import array
import ctypes
import enum
import faulthandler
import functools
import math
import operator
import os
import pickle
import re
import reprlib
import signal
import sys
import threading
import traceback
import typing
import weakref

__all__ = [
    "init", "finalize", "rank", "size", "abort", "alloc", "version", "Group", "Request", "Window",
    "Pool", "PoolBuffer", "Transfer", "Change", "Error", "BufferTypeError", "Status", "Type", "Op",
    "Operator", "ErrorCode", "NOBODY", "ANY", "ALL",
    "SUM", "PROD", "MIN", "MAX", "AND", "OR", "XOR",
    "BOOL", "INT8", "INT16", "INT32", "INT64", "UINT8", "UINT16", "UINT32", "UINT64",
    "FLOAT16", "BFLOAT16", "FLOAT32", "FLOAT64", "COMPLEX64",
    "ERR_ARGUMENT", "ERR_STATE", "ERR_MEMORY", "ERR_MISMATCH", "ERR_PEER", "ERR_DEVICE", "ERR_LINK",
    "ERR_TIMEOUT", "ERR_REFUSED", "ERR_SYSTEM",
]


class _Constant(enum.IntEnum):
    """An integer that help() shows by the name that the module gives it."""

    __str__ = int.__repr__

    def __repr__(self):
        return "mlaunch." + self.name


class Type(_Constant):
    """Types of elements. BFLOAT16 is the upper half of a float32, COMPLEX64 two float32."""

    BOOL, INT8, INT16, INT32, INT64, UINT8, UINT16, UINT32, UINT64 = range(9)
    FLOAT16, BFLOAT16, FLOAT32, FLOAT64, COMPLEX64 = range(9, 14)


class Op(_Constant):
    """Operations of reductions."""

    SUM, PROD, MIN, MAX, AND, OR, XOR = range(7)


class ErrorCode(_Constant):
    """What an Error's code tells."""

    ERR_ARGUMENT = -1  # invalid arguments; the group is unharmed
    ERR_STATE = -2  # the group or window is gone, the rank is held, or this is a forked child
    ERR_MEMORY = -3
    ERR_MISMATCH = -4  # the ranks' calls differ; the group is broken
    ERR_PEER = -5  # a rank died or left; the group is broken
    ERR_DEVICE = -6  # an RDMA device failed
    ERR_LINK = -7  # a network link failed
    ERR_TIMEOUT = -8  # a rank did not join in time
    ERR_REFUSED = -9  # a peer is of another build, or not of this job
    ERR_SYSTEM = -10  # the operating system refused something


(BOOL, INT8, INT16, INT32, INT64, UINT8, UINT16, UINT32, UINT64, FLOAT16, BFLOAT16, FLOAT32,
 FLOAT64, COMPLEX64) = Type
SUM, PROD, MIN, MAX, AND, OR, XOR = Op
(ERR_ARGUMENT, ERR_STATE, ERR_MEMORY, ERR_MISMATCH, ERR_PEER, ERR_DEVICE, ERR_LINK, ERR_TIMEOUT,
 ERR_REFUSED, ERR_SYSTEM) = ErrorCode
NOBODY = -1
ANY = -2
ALL = -3  # for Window.flush()

Buffer = typing.Any  # in signatures: bytes, bytearray, array.array, memoryview, numpy.ndarray …
Counts = typing.Sequence[int]
_Call = typing.TypeVar("_Call", bound=typing.Callable[..., typing.Any])

_SIZES = (1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 8, 8)


class Error(Exception):
    """Why a call of mlaunch failed: code (ERR_…) and text, a sentence."""

    def __init__(self, code: ErrorCode, text: str) -> None:
        super().__init__(code, text)  # both, so that a copy can be made from them
        self.code = code
        self.text = text

    def __str__(self) -> str:
        return self.text


class BufferTypeError(Error, TypeError):
    """An Error, ERR_ARGUMENT, because of what a buffer is: no buffer, not contiguous, in another
    byte order, or with pointers in it. Nothing of it was moved."""


def _public(call: _Call) -> _Call:
    """`call`, whose errors show one frame of this module in their tracebacks, of the same name."""
    @functools.wraps(call)
    def public(*arguments, **named):
        try:
            return call(*arguments, **named)
        except (Error, KeyboardInterrupt) as e:
            raise e.with_traceback(None)
    public.__code__ = public.__code__.replace(co_name=call.__name__)
    return typing.cast(_Call, public)


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
              for beside in ("../..", "../../../../lib")] + [name]
    for place in places:
        if os.path.sep not in place or os.path.exists(place):
            try:
                return ctypes.CDLL(place)
            except OSError:
                pass
    raise ImportError("mlaunch: %s is neither loaded nor found; start the script with "
                      "`mlaunch -- python3 …`" % name)


def _show_stack_on_request():
    """Lets `mlaunch ps --stacks` and reports of a stall see the line that this process is in.

    faulthandler prints it when the agent sends the signal that is part of the file's name.
    """
    directory, number = os.environ.get("MLAUNCH_JOB_DIR"), signal.SIGRTMAX - 3
    if not directory or "MLAUNCH_RANK" not in os.environ:
        return None
    try:
        if signal.getsignal(number) != signal.SIG_DFL:
            return None
        file = open(os.path.join(directory, "python.%d.%d" % (os.getpid(), number)), "a")
        faulthandler.register(number, file=file, all_threads=False)
    except (OSError, AttributeError, RuntimeError, ValueError):
        return None  # nothing depends on it
    return file


_stack_file = _show_stack_on_request()  # stays open

_lib = _library()
_pointer, _size, _int, _number = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_uint64
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
        ("group_create", _int, [_pointer, ctypes.POINTER(_int), _int, ctypes.c_uint64, _int,
                                ctypes.POINTER(_pointer)]),
        ("repair", _int, [_pointer, ctypes.POINTER(_pointer), _pointer]),
        ("revoke", _int, [_pointer, ctypes.c_char_p]),
        ("agree", _int, [_pointer, ctypes.POINTER(_number)]),
        ("id", _int, [_pointer, _int]),
        ("changed", _int, [_pointer]),
        ("keep", _int, [_pointer, ctypes.c_char_p, _pointer, _size, _number]),
        ("kept", _int, [_pointer, ctypes.c_char_p, _pointer, _int, ctypes.POINTER(_number)]),
        ("kept_size", _int, [_pointer, ctypes.c_char_p, _int, ctypes.POINTER(_size)]),
        ("restore", _int, [_pointer, ctypes.c_char_p, _int, _pointer, _size]),
        ("group_free", None, [_pointer]),
        ("all_reduce", _int, [_pointer, _pointer, _pointer, _size, _int, _int]),
        ("all_reduce_with", _int, [_pointer, _pointer, _pointer, _size, _pointer]),
        ("reduce_scatter", _int, [_pointer, _pointer, _pointer, _size, _int, _int]),
        ("reduce_scatter_with", _int, [_pointer, _pointer, _pointer, _size, _pointer]),
        ("reduce", _int, [_pointer, _pointer, _pointer, _size, _int, _int, _int]),
        ("reduce_with", _int, [_pointer, _pointer, _pointer, _size, _pointer, _int]),
        ("scan", _int, [_pointer, _pointer, _pointer, _size, _int, _int]),
        ("scan_with", _int, [_pointer, _pointer, _pointer, _size, _pointer]),
        ("exclusive_scan", _int, [_pointer, _pointer, _pointer, _size, _int, _int]),
        ("exclusive_scan_with", _int, [_pointer, _pointer, _pointer, _size, _pointer]),
        ("all_gather", _int, [_pointer, _pointer, _pointer, _size]),
        ("all_to_all", _int, [_pointer, _pointer, _pointer, _size]),
        ("all_gather_v", _int, [_pointer] * 5),
        ("all_to_all_v", _int, [_pointer] * 7),
        ("broadcast", _int, [_pointer, _pointer, _size, _int]),
        ("gather", _int, [_pointer, _pointer, _pointer, _size, _int]),
        ("scatter", _int, [_pointer, _pointer, _pointer, _size, _int]),
        ("send", _int, [_pointer, _pointer, _size, _int]),
        ("recv", _int, [_pointer, _pointer, _size, _int]),
        ("sendrecv", _int, [_pointer, _pointer, _size, _int, _pointer, _size, _int]),
        ("send_tag", _int, [_pointer, _pointer, _size, _int, _int]),
        ("recv_tag", _int, [_pointer, _pointer, _size, _int, _int, _pointer]),
        ("probe", _int, [_pointer, _int, _int, _pointer]),
        ("try_probe", _int, [_pointer, _int, _int, ctypes.POINTER(_int), _pointer]),
        ("next_type", _int, [_pointer, _int]),
        ("next_place", _int, [_pointer, ctypes.c_char_p]),
        ("next_stream", _int, [_pointer, _pointer]),
        ("next_window_stream", _int, [_pointer, _pointer]),
        ("test", _int, [_pointer, ctypes.POINTER(_int)]),
        ("wait", _int, [_pointer]),
        ("barrier", _int, [_pointer]),
        ("should_stop", _int, [_pointer]),
        ("window_create", _int, [_pointer, _pointer, _size, ctypes.POINTER(_pointer)]),
        ("window_free", _int, [_pointer]),
        ("window_memory", _pointer, [_pointer, _int, ctypes.POINTER(_size)]),
        ("put", _int, [_pointer, _pointer, _size, _int, _size]),
        ("get", _int, [_pointer, _pointer, _size, _int, _size]),
        ("put_signal", _int, [_pointer, _pointer, _size, _int, _size, _size, _number]),
        ("wait_signal", _int, [_pointer, _size, _number, _int]),
        ("flush", _int, [_pointer, _int]),
        ("fetch_add", _int, [_pointer, _int, _size, _number, ctypes.POINTER(_number)]),
        ("compare_swap", _int,
         [_pointer, _int, _size, _number, _number, ctypes.POINTER(_number)]),
        ("alloc", _int, [_size, ctypes.POINTER(_pointer)]),
        ("free", None, [_pointer])):
    _function = getattr(_lib, "ml_" + _name)
    _function.restype = _result
    _function.argtypes = _arguments

_STARTED = ("all_reduce", "reduce_scatter", "reduce", "scan", "exclusive_scan", "all_reduce_with",
            "reduce_scatter_with", "reduce_with", "scan_with", "exclusive_scan_with", "all_gather",
            "all_to_all", "all_gather_v", "all_to_all_v", "broadcast", "gather", "scatter", "send",
            "recv", "sendrecv", "send_tag", "recv_tag", "barrier", "put", "get")
for _name in _STARTED:
    _function = getattr(_lib, "ml_start_" + _name)
    _function.restype = _int
    _function.argtypes = getattr(_lib, "ml_" + _name).argtypes + [ctypes.POINTER(_pointer)]


def _check(code):
    if code < 0:
        raise Error(ErrorCode(code), _lib.ml_error().decode(errors="replace"))
    return code


# ---- arguments ----

def _need(condition, text, *values):
    if not condition:
        raise Error(ERR_ARGUMENT, text % values)


def _integer(what, value, least=-1 << 31, most=(1 << 31) - 1):
    """`value` as an int, from least to most."""
    try:
        number = operator.index(value)
    except TypeError:
        raise Error(ERR_ARGUMENT, "%s is %s: give an integer" % (what, reprlib.repr(value))
                    ) from None
    if not least <= number <= most:
        _need(False, "%s is %d: give an integer from %d to %d", what, number, least, most)
    return number


_ALIASES = {
    "add": SUM, "multiply": PROD, "minimum": MIN, "maximum": MAX, "bitwise_and": AND,
    "bitwise_or": OR, "bitwise_xor": XOR, "logical_and": AND, "logical_or": OR,
    "logical_xor": XOR, "bool_": BOOL, "int": INT64, "float": FLOAT64,
}


def _constant(what, value, kind, example):
    """`value` as an Op or a Type, whichever `kind` is."""
    if isinstance(value, kind):
        return value
    if isinstance(value, int) and not isinstance(value, enum.Enum) and 0 <= value < len(kind):
        return kind(value)
    # What others call it: numpy.maximum, "sum", numpy.float32, numpy.dtype("float32").
    name = value if isinstance(value, str) else getattr(value, "__name__", None) or getattr(
        value, "name", None)
    meant = _ALIASES.get(name) or kind.__members__.get(str(name).upper())
    _need(False, "%s is %s: give %s", what, reprlib.repr(value),
          repr(meant) if isinstance(meant, kind) else example)


def _operation(op):
    return _constant("op", op, Op, "mlaunch.SUM, PROD, MIN, MAX, AND, OR, XOR or "
                     "mlaunch.Operator(…)")


# ---- buffers ----

class _PyBuffer(ctypes.Structure):
    _fields_ = [("buf", _pointer), ("obj", ctypes.py_object), ("len", ctypes.c_ssize_t),
                ("itemsize", ctypes.c_ssize_t), ("readonly", _int), ("ndim", _int),
                ("format", ctypes.c_char_p), ("shape", _pointer), ("strides", _pointer),
                ("suboffsets", _pointer), ("internal", _pointer)]


_C_CONTIGUOUS, _WRITABLE = 0x0020 | 0x0010 | 0x0008, 0x0001  # PyBUF_*: with shape and strides
_FORMAT = 0x0004


def _python_function(name, result, *arguments):
    """A function of Python's C API, of our own: the attributes of ctypes.pythonapi have the types
    that the last package gave them."""
    return ctypes.PYFUNCTYPE(result, *arguments)((name, ctypes.pythonapi))


_get_buffer = _python_function("PyObject_GetBuffer", _int, ctypes.py_object,
                               ctypes.POINTER(_PyBuffer), _int)
_release_buffer = _python_function("PyBuffer_Release", None, ctypes.POINTER(_PyBuffer))


def _advice(what, obj, error):
    """Why obj can't be used as the buffer `what`, and what to give instead."""
    name, module = type(obj).__name__, type(obj).__module__.split(".")[0]
    if isinstance(obj, _Constant):
        kind = "op" if isinstance(obj, Op) else "type"
        return "write %s=%r" % (kind, obj)
    if hasattr(obj, "numpy"):
        return "%s.%s has no buffer of its own: give %s.numpy()" % (module, name, what)
    if name in ("list", "tuple", "range", "int", "float", "bool", "complex") or module == "numpy" \
            and not hasattr(obj, "flags"):
        return "give numpy.array(%s) or an array.array" % what
    if isinstance(obj, str):
        return "give %s.encode()" % what
    if obj is None:
        return "this rank's role needs one"
    try:
        view = memoryview(obj)
    except (TypeError, ValueError, BufferError):
        if getattr(getattr(obj, "dtype", None), "kind", "") in ("M", "m"):
            return "its elements are times: give %s.view('int64')" % what
        if hasattr(obj, "__array__"):
            return "give numpy.array(%s)" % what
        return "%s; broadcast_object() and send_object() take any Python object" % error
    with view:
        if not view.c_contiguous:
            return "its elements don't lie one after the other in C's order: write %s = " \
                "numpy.ascontiguousarray(%s) before the call, which fills %s" % (what, what, what)
        if module == "numpy" and view.ndim == 0:
            return "it is a read-only number: give numpy.array(%s)" % what
        if view.readonly:
            return "it is read-only: give a bytearray(%s), another array or, where the call has " \
                "it, out=" % what
    return error


@functools.lru_cache(maxsize=256)
def _type_of(form, itemsize):
    """The type of elements of a buffer's format; None: there is none."""
    order, kind = (form[:1], form[1:]) if form[:1] in "@=<>!" else ("@", form)
    if itemsize > 1 and order in (">!" if sys.byteorder == "little" else "<"):
        return None
    if kind in ("b", "h", "i", "l", "q", "n") and itemsize in (1, 2, 4, 8):
        return Type(INT8 + itemsize.bit_length() - 1)
    if kind in ("c", "B", "H", "I", "L", "Q", "N") and itemsize in (1, 2, 4, 8):
        return Type(UINT8 + itemsize.bit_length() - 1)
    return {"?": BOOL, "e": FLOAT16, "f": FLOAT32, "d": FLOAT64, "Zf": COMPLEX64}.get(kind)


# What is a pointer in a format without its names: to an object (O), to anything (P, &), to a
# function (X{}), and to ctypes' strings (z, Z). Zf, Zd and Zg are complex numbers.
_NAMES, _POINTERS = re.compile(":[^:]*:"), re.compile("[OP&Xz]|Z(?![fdg])")
_FOREIGN = re.compile("[>!]" if sys.byteorder == "little" else "<")


_CData = ctypes.c_int.__mro__[-2]  # what all objects of ctypes are


@functools.lru_cache(maxsize=256)
def _format_has_pointers(form):
    return _POINTERS.search(_NAMES.sub("", form)) is not None


@functools.lru_cache(maxsize=256)
def _ctype_has_pointers(kind):
    if issubclass(kind, ctypes.Array):
        return _ctype_has_pointers(kind._type_)
    if issubclass(kind, (ctypes.Structure, ctypes.Union)):
        return any(_ctype_has_pointers(field[1]) for base in kind.__mro__
                   for field in base.__dict__.get("_fields_", ()))
    return getattr(kind, "_type_", None) not in tuple("?bBcuhHiIlLqQfdgv")


def _has_pointers(obj, form):
    """Whether elements of this buffer, whose format is `form`, have pointers in them. Formats of
    ctypes don't tell all: a union's is that of bytes, and a structure's lacks its base's fields."""
    return _format_has_pointers(form) or isinstance(obj, _CData) and _ctype_has_pointers(type(obj))


_uses_gpu = False  # True: a buffer may be on one


class _Buffer:
    """A caller's buffer. While it is held, its address stays and it can't be resized."""

    view = _PyBuffer()  # before __init__() has begun

    def __init__(self, what, obj, writable, may_be_none=False):
        self.view = _PyBuffer()
        self.given = False  # True: there is memory
        self.what = what
        if obj is None and may_be_none:
            self.address, self.size, self.type = None, 0, None
            return
        # numpy would give the elements below the mask as well.
        if hasattr(obj, "filled") and hasattr(obj, "mask"):
            raise Error(ERR_ARGUMENT, "%s: its mask would not count: write %s = %s.filled(0), or "
                        "give %s.data for all elements" % (what, what, what, what))
        try:
            _get_buffer(obj, ctypes.byref(self.view),
                        _C_CONTIGUOUS | _FORMAT | (_WRITABLE if writable else 0))
        except (BufferError, ValueError, TypeError) as e:
            if self._is_on_gpu(obj, writable):
                return
            raise BufferTypeError(ERR_ARGUMENT, "%s: %s can't be used as a contiguous%s buffer: %s"
                                  % (what, type(obj).__name__, " writable" if writable else "",
                                     _advice(what, obj, e))) from None
        self.given = True
        self.address, self.size = self.view.buf, self.view.len
        self.format = (self.view.format or b"B").decode()
        self.type = _type_of(self.format, self.view.itemsize)
        self._need_movable(obj)

    def _need_movable(self, obj):
        if _has_pointers(obj, self.format):
            fault = "they have pointers in them, which mean nothing in another process; " \
                "broadcast_object() and send_object() take any Python object"
        elif self.type is None and _FOREIGN.search(_NAMES.sub("", self.format)):
            fault = "they are in another machine's byte order, and nothing is converted: give a " \
                "copy in this one's"
        else:
            return
        self.release()
        raise BufferTypeError(ERR_ARGUMENT, "%s: elements of format '%s' can't be moved: %s" % (
            self.what, self.format, fault))

    gpu = None  # what gpu.find() has found

    def _is_on_gpu(self, obj, writable):
        global _uses_gpu
        from . import gpu  # when it is first needed
        _uses_gpu = True
        memory = gpu.find(self.what, obj, writable)
        if memory is None:
            return False
        self.given, self.gpu = True, memory
        self.address, self.size, self.view.itemsize = memory.address, memory.size, memory.itemsize
        self.format, self.type = memory.format, memory.type
        self._need_movable(None)
        return True

    def elements(self):
        """The elements' type, for sentences."""
        if self.type is not None:
            return self.type.name.lower()
        return "complex128" if self.format == "Zd" else "format '%s'" % self.format

    def need_type(self):
        """The elements' type, which a reduction can't do without."""
        if self.type is not None:
            return self.type
        if self.format == "Zd":
            remedy = "%s.view('float64') can be added up" % self.what
        else:
            remedy = "convert them, for instance by %s.astype('float64'), or give type=, which " \
                "says how to read their bytes" % self.what
        raise Error(ERR_ARGUMENT, "%s: there is no type for elements of %s'%s': %s" % (
            self.what, "complex128, format " if self.format == "Zd" else "format ", self.format,
            remedy))

    def need_like(self, other, remedy):
        """Both have elements of one type. `remedy`: what else can be given."""
        if self.type is not other.type or self.type is None and self.format != other.format:
            raise Error(ERR_ARGUMENT, "%s has elements of %s, %s of %s: give %s of %s, or %s" % (
                self.what, self.elements(), other.what, other.elements(), other.what,
                self.elements(), remedy))

    kept = None  # true: a call that was started releases it (_Started)

    def release(self):
        """Releases it; again does nothing."""
        if self.gpu is not None:
            self.gpu = None
        _release_buffer(self.view)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if not self.kept:
            self.release()

    def __del__(self):  # an exception came before `with` had it, perhaps
        if not self.kept:
            _release_buffer(self.view)


_NONE = _Buffer("nothing", None, False, True)


def _bytes_of(memory):
    """A memoryview of the bytes of a writable contiguous buffer, whatever its format and shape are:
    memoryview.cast() takes few formats, and no shape with a 0."""
    size = memoryview(memory).nbytes
    return memoryview((ctypes.c_ubyte * size).from_buffer(memory)).cast("B")


@_public
def alloc(size: int, format: str = "B") -> memoryview:
    """Returns a memoryview of `size` bytes of zeros, as elements of `format` (struct's letters).

    RDMA devices keep this memory registered, and ranks of one host read it in each other's memory:
    so long messages, and the vectors of a long all_reduce, are not copied. It is freed once nothing
    uses it any more; numpy.frombuffer(mlaunch.alloc(8000), "f8") uses it, for instance. It may be
    called before init(), in any thread. Raises Error (ERR_MEMORY)."""
    address = _pointer()
    size = _integer("size", size, 0, (1 << 62) - 1)
    _check(_lib.ml_alloc(size, ctypes.byref(address)))
    memory = (ctypes.c_ubyte * size).from_address(address.value)
    # Not at the interpreter's exit, when something may still use the memory.
    weakref.finalize(memory, _lib.ml_free, address.value).atexit = False
    view = memoryview(memory).cast("B")
    return view if format == "B" else view.cast(format)


def _elements(buffer, size):
    _need(buffer.size % size == 0, "%s: %d bytes are not a whole number of %d-byte elements",
          buffer.what, buffer.size, size)
    return buffer.size // size


def _blocks(group, buffer, names, counts, offsets):
    """Arrays of the sizes and offsets in bytes of each rank's block, which lie in `buffer`; the
    offsets may be None. They are given in elements of the buffer."""
    item, arrays, end = buffer.view.itemsize, [], 0
    for name, values in zip(names, (counts, offsets)):
        if values is None and name == names[1]:
            arrays.append(None)
            continue
        try:
            values = [_integer(name, value, 0, (1 << 62) // item) * item for value in values]
        except TypeError:
            raise Error(ERR_ARGUMENT, "%s is %s: give a list of one integer for each rank" % (
                name, reprlib.repr(values))) from None
        _need(len(values) == group.size, "%s: %d integers for %d ranks", name, len(values),
              group.size)
        arrays.append((_size * group.size)(*values))
    for rank, size in enumerate(arrays[0]):
        end = max(end, arrays[1][rank] + size if size else 0) if arrays[1] else end + size
    _need(end <= buffer.size, "%s: %d bytes, but the blocks end at %d", buffer.what, buffer.size,
          end)
    return arrays


# ---- places ----

_PLACES = 1 << 16
# "train.py:17", which the library reads as long as a call waits, and the code that has this line:
# by the code's id() and the offset in it, because a line's number takes longer to find.
_places = {}
_get_frame = getattr(sys, "_getframe", None)  # not every Python has it


def _say_place(handle):
    """Says on which line outside this module the next call is, which ps --stacks shows."""
    if not _get_frame:
        return
    try:
        frame = _get_frame(4)  # behind this function, _do(), the method and _public()
    except ValueError:  # no Python code makes the call: a thread begins with it, or atexit
        return
    code = frame.f_code
    while code.co_filename == _own_file and frame.f_back:
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


_own_file = _say_place.__code__.co_filename


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


# ---- operators of the program ----

_Function = ctypes.CFUNCTYPE(None, _pointer, _pointer, _size, _pointer)


class _Operator(ctypes.Structure):
    """ml_operator."""

    _fields_ = [("function", _Function), ("size", _size), ("is_commutative", _int),
                ("context", _pointer)]


class Operator:
    """An operation of the program for reductions: all_reduce(data, op=mlaunch.Operator(function)).

    function(left, right) combines two arrays of the same length: numpy arrays of data's dtype if
    data is one, else memoryviews of its format. It returns the result, or None if it has put it
    into left. Where left and right come from two ranks, left is from the lower one; so rank order
    is kept, unless commutative is true, which is faster for long data. The function must be
    associative, and is called for parts of the data, of any length.

    shape: of an element, where it is more than one number: Operator(numpy.matmul, shape=(2, 2))
    multiplies matrices of 2 by 2, and the function gets arrays of shape (n, 2, 2).

    All ranks pass the same operator. In a started call another thread may run the function. It must
    not call mlaunch (ERR_STATE). If it raises an exception, that is printed, and ends the job as
    mlaunch.abort() does, since the ranks' data are lost."""

    def __init__(self, function: typing.Callable[[typing.Any, typing.Any], typing.Any],
                 commutative: bool = False, shape: int | tuple[int, ...] = ()) -> None:
        _need(callable(function), "function is %s: give one of two arrays", reprlib.repr(function))
        shape = shape if isinstance(shape, tuple) else (shape,)
        self.function, self.commutative = function, bool(commutative)
        self.shape = tuple(_integer("shape", n, 1) for n in shape)

    def _combine(self, views, inout, operand, count):
        left, right = views(inout, count), views(operand, count)
        result = self.function(left, right)
        if result is None:
            return
        if isinstance(left, memoryview):
            left.cast("B")[:] = memoryview(result).cast("B")
        elif getattr(result, "shape", None) == left.shape:
            left[...] = result
        else:
            raise ValueError("the operator got arrays of shape %s, and returned %s" % (
                left.shape, getattr(result, "shape", type(result).__name__)))

    def _made(self, data, buffer):
        """The ml_operator for elements of data."""
        size, views = _views_of(data, buffer, self.shape)

        def function(inout, operand, count, _context):
            try:
                self._combine(views, inout, operand, count)
            except BaseException as e:  # pylint: disable=broad-except
                traceback.print_exc()
                sys.stderr.flush()
                abort(1, "an operator raised %s: %s" % (type(e).__name__, e))
        return _Operator(_Function(function), size, self.commutative, None)


_LETTERS = {**dict(zip(Type, "?bhiqBHIQe")), FLOAT32: "f", FLOAT64: "d"}


def _views_of(data, buffer, shape):
    """The bytes of an element of data, and a function that returns `count` of them at an address
    as an array, or a memoryview."""
    item = buffer.view.itemsize
    size = item * math.prod(shape)
    numpy = sys.modules.get("numpy")
    if numpy and isinstance(data, numpy.ndarray):
        kind = data.dtype
        return size, lambda address, count: numpy.ndarray(
            (count, *shape), kind, (ctypes.c_char * (count * size)).from_address(address))
    letter = _LETTERS.get(buffer.type, buffer.format)
    try:
        memoryview(bytes(item)).cast(letter)
    except (ValueError, TypeError):
        _need(False, "%s: an operator can't read elements of format '%s': give a numpy array",
              buffer.what, buffer.format)
    return size, lambda address, count: memoryview(
        (ctypes.c_char * (count * size)).from_address(address)).cast("B").cast(
            letter, (count, *shape))


# ---- groups ----

_OBJECT = int.from_bytes(b"mlobject", "little")  # what send_object() begins with

class _Bound:
    """An object that stands for something of the library in this process, and means nothing in
    another one."""

    def __reduce__(self):
        raise TypeError("mlaunch.%s belongs to the process that made it, so it can be neither "
                        "pickled nor copied: let each rank make its own, and pass data" %
                        type(self).__name__)


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
            if _uses_gpu:
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


# ---- windows ----

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


def _offset(what, value):
    return _integer(what, value, 0, (1 << 63) - 1)


def _uint64(what, value):
    """`value` modulo 2 to the 64th, so that -1 subtracts 1."""
    return _integer(what, value, -1 << 63, (1 << 64) - 1) % (1 << 64)


# ---- calls that are started ----

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
            if _uses_gpu:
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


def rank() -> int:
    """This process's rank in the job, also before init(); 0 if mlaunch did not start it."""
    return int(os.environ.get("MLAUNCH_RANK", 0))


def size() -> int:
    """The number of ranks of the job, also before init(); 1 if mlaunch did not start it."""
    return int(os.environ.get("MLAUNCH_SIZE", 1))


@_public
def abort(status: int = 1, why: object = None) -> typing.NoReturn:
    """Ends the whole job; the launcher reports this rank and why. Does not return.

    This process exits with `status` (1 if it is 0), after flushing stdout and stderr."""
    status = _integer("status", status)
    sys.stdout.flush()
    sys.stderr.flush()
    _lib.ml_abort(status, None if why is None else str(why).encode())


def version() -> str:
    """Version and build of the library, for example "0.1.0 (3f9a…)"."""
    return _lib.ml_version().decode()


def __getattr__(name):
    if name in ("Pool", "PoolBuffer", "Transfer"):
        from . import transfer  # when it is first needed: few programs do
        return getattr(transfer, name)
    raise AttributeError("module 'mlaunch' has no attribute '%s'" % name)


__version__ = version().split()[0]
