#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""drive.py AGENT CASE: speaks the launcher's side of doc/protocol.md to one agent, without mlaunch.

The cases are the functions of *_cases.py without parameters; the doc string of each says what it
shows. `--list start` prints those of start_cases.py. drive.py exits 0, or prints what was expected
and what came. The cases look for processes that carry the mark of the agent's job directory, and in
/tmp and /dev/shm for what the agent should have removed.
"""
import inspect
import sys

sys.dont_write_bytecode = True  # the source tree may be read-only

import fault_cases
import start_cases
import stdio_cases
import stop_cases
import sync_cases
from harness import Failure

MODULES = (start_cases, stdio_cases, stop_cases, fault_cases, sync_cases)
CASES = {name: case for module in MODULES for name, case in vars(module).items()
         if inspect.isfunction(case) and case.__module__ == module.__name__
         and not inspect.signature(case).parameters}


def main():
    if sys.argv[1:2] == ["--list"]:
        for name, case in CASES.items():
            if case.__module__ == sys.argv[2] + "_cases":
                print(f"{name} {case.__doc__}")
        return 0
    try:
        CASES[sys.argv[2]]()
    except Failure as failure:
        print(failure)
        return 1
    return 0


sys.exit(main())
