# SPDX-License-Identifier: MIT
"""The library libmlaunch.so.0: where it is, its functions, and what it says of the job itself."""

from __future__ import annotations

import ctypes
import faulthandler
import os
import signal
import sys
import typing

from ._argument import Error, ErrorCode, _integer, _public


def _find():
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


def _python_function(name, result, *arguments):
    """A function of Python's C API, of our own: the attributes of ctypes.pythonapi have the types
    that the last package gave them."""
    return ctypes.PYFUNCTYPE(result, *arguments)((name, ctypes.pythonapi))


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

_lib = _find()
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
