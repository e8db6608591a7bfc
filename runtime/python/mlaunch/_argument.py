# SPDX-License-Identifier: MIT
"""What calls take and refuse: the constants, Error, and the checks of numbers."""

from __future__ import annotations

import enum
import functools
import operator
import reprlib
import sys
import typing


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
    """`call`, whose errors show one frame of this package in their tracebacks, of the same name."""
    @functools.wraps(call)
    def public(*arguments, **named):
        try:
            return call(*arguments, **named)
        except (Error, KeyboardInterrupt) as e:
            raise e.with_traceback(None)
    public.__code__ = public.__code__.replace(co_name=call.__name__)
    return typing.cast(_Call, public)


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


def _offset(what, value):
    return _integer(what, value, 0, (1 << 63) - 1)


def _uint64(what, value):
    """`value` modulo 2 to the 64th, so that -1 subtracts 1."""
    return _integer(what, value, -1 << 63, (1 << 64) - 1) % (1 << 64)


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
