# SPDX-License-Identifier: MIT
"""Operators of the program for reductions."""

from __future__ import annotations

import ctypes
import math
import reprlib
import sys
import traceback
import typing

from ._argument import FLOAT32, FLOAT64, Type, _integer, _need
from ._library import _int, _pointer, _size, abort

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
