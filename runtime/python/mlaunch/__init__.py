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

from ._argument import (ALL, AND, ANY, BFLOAT16, BOOL, BufferTypeError, COMPLEX64, ERR_ARGUMENT,
                        ERR_DEVICE, ERR_LINK, ERR_MEMORY, ERR_MISMATCH, ERR_PEER, ERR_REFUSED,
                        ERR_STATE, ERR_SYSTEM, ERR_TIMEOUT, Error, ErrorCode, FLOAT16, FLOAT32,
                        FLOAT64, INT16, INT32, INT64, INT8, MAX, MIN, NOBODY, OR, Op, PROD, SUM,
                        Type, UINT16, UINT32, UINT64, UINT8, XOR)
from ._buffer import alloc
from ._call import Request, Status
from ._group import Change, Group, finalize, init
from ._library import abort, rank, size, version
from ._operator import Operator
from ._window import Window

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


def _show_here():
    """Names the public classes and functions, and what they inherit from, as those of this module,
    from which programs have them."""
    for name in __all__:
        public = globals().get(name)
        for one in getattr(public, "__mro__", (public,)) if callable(public) else ():
            if one.__module__.startswith(__name__ + "._"):
                one.__module__ = __name__


_show_here()


def __getattr__(name):
    if name in ("Pool", "PoolBuffer", "Transfer"):
        from . import transfer  # when it is first needed: few programs do
        return getattr(transfer, name)
    raise AttributeError("module 'mlaunch' has no attribute '%s'" % name)


__version__ = version().split()[0]
