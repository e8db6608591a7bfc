# SPDX-License-Identifier: MIT
"""Exceptions that a signal's handler could raise: at any place of mlaunch's modules where Python
runs handlers, which is behind each call of a function and at the start of each one."""
import dis
import functools
import os
import sys

import mlaunch

_DIRECTORY = os.path.join(os.path.dirname(mlaunch.__file__), "")


class Raised(Exception):
    """What the handler raises."""


@functools.lru_cache(maxsize=None)
def _is_call(code, at):
    name = dis.opname[code.co_code[at]]
    return name.startswith("CALL") or name == "JUMP_BACKWARD"


def raised_at(place, call):
    """Makes `call`, in which the place with this number raises Raised. Returns whether there was
    such a place."""
    left = [place]
    last = {}  # by frame, which this must not keep alive: its last instruction

    def pass_by():
        left[0] -= 1
        if left[0] == -1:
            raise Raised

    def trace(frame, event, _):
        code = frame.f_code
        if not code.co_filename.startswith(_DIRECTORY) or code.co_name == "__del__":
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        if event == "call":
            last.pop(id(frame), None)
            pass_by()
        elif event == "opcode":
            before, last[id(frame)] = last.get(id(frame)), frame.f_lasti
            if before is not None and _is_call(code, before):
                pass_by()
        return trace

    sys.settrace(trace)
    try:
        call()
    except Raised:
        pass
    finally:
        sys.settrace(None)
    return left[0] < 0
