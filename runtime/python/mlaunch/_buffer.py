# SPDX-License-Identifier: MIT
"""Buffers of the program, as calls take them, and memory that the library gives."""

from __future__ import annotations

import ctypes
import functools
import re
import reprlib
import sys
import weakref

from ._argument import (BufferTypeError, ERR_ARGUMENT, Error, Op, _Constant, _integer, _need,
                        _public, _type_of)
from ._library import _check, _int, _lib, _pointer, _python_function, _size


class _PyBuffer(ctypes.Structure):
    _fields_ = [("buf", _pointer), ("obj", ctypes.py_object), ("len", ctypes.c_ssize_t),
                ("itemsize", ctypes.c_ssize_t), ("readonly", _int), ("ndim", _int),
                ("format", ctypes.c_char_p), ("shape", _pointer), ("strides", _pointer),
                ("suboffsets", _pointer), ("internal", _pointer)]


_C_CONTIGUOUS, _WRITABLE = 0x0020 | 0x0010 | 0x0008, 0x0001  # PyBUF_*: with shape and strides
_FORMAT = 0x0004

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
