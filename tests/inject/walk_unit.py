#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""walk_unit.py STEPS PROGRAM…: runs each PROGRAM, a unit test's, once for each call that the
product makes in it, with fail_calls.so, which lets that call fail; and judges each run.

STEPS: "all" calls; a number, about that many of them in all. With MLAUNCH_TEST_SECONDS "all" are
chosen at random until that time is over; SEED=… repeats the choice.
In the environment: FAIL_CALLS, the library; and T, a directory for files of our own.

The test may fail, as its product does what no assertion of it expects. A run is bad if the product
crashes in it, if a sanitizer reports something, if it hangs, or if memory is lost at the moment
when the test notices or at the program's end.
"""
import concurrent.futures
import math
import os
import random
import re
import signal
import subprocess
import sys
import time

LIMIT_S = 10 if os.environ.get("SANITIZE", "no") == "no" else 15
PART = re.compile(r"(^|/)(common|coordinator|examples|launcher|runtime|rdma)/[^.]")
TEST = re.compile(r"(^|/)tests/")
# What others do not survive: glibc 2.36 looks up users in a table for which it had no memory, and
# libevent 2.1.12 continues with an HTTP request, or a watermark, for which it had none.
OTHERS = re.compile(r"\b(getpwuid(_r)?|event_base_dispatch|bufferevent_setwatermark)\(")
REPORT = re.compile(r"(Sanitizer: (?!detected memory)|runtime error:).*")
GROUPS = ("malloc", "fork", "open", "read", "write", "mmap", "poll")
INTERRUPTED = ("read", "write", "poll")
MOST_INTERRUPTIONS = 100 # one program's, whose calls to wait may have no end
SHORT = {"read": (1, 7), "write": (1, 7)}


def readelf(program, *what):
    return subprocess.run(["readelf", *what, program], check=True, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout


def code_map(program):
    """Lines for code_map.h, by the program's debugging information."""
    owners, unit, lines = {}, "", []
    for line in readelf(program, "--debug-dump=info", "--dwarf-depth=1").splitlines():
        if found := re.search(r"Compilation Unit @ offset (0x)?([0-9a-f]+)", line):
            unit = int(found[2], 16)
        elif found := re.search(r"DW_AT_name .*: (\S+\.c)$", line):
            name = found[1]
            owners[unit] = "t" if TEST.search(name) else "p" if PART.search(name) else ""
    for line in readelf(program, "--debug-dump=aranges").splitlines():
        if found := re.search(r"Offset into .debug_info: +(?:0x)?([0-9a-f]+)", line):
            unit = int(found[1], 16)
        elif (found := re.match(r" +([0-9a-f]{16}) ([0-9a-f]{16})$", line)) and owners.get(unit):
            if int(found[2], 16):
                lines.append(f"{found[1]} {found[2]} {owners[unit]}\n")
    return "".join(lines)


class Program:
    """One unit test's program: its file, its code, the calls that the product makes in it."""

    def __init__(self, path, most_s):
        self.path, self.name = path, os.path.basename(path)
        self.map = os.path.join(os.environ["T"], self.name + ".map")
        with open(self.map, "w", encoding="ascii") as f:
            f.write(code_map(path))
        self.limit = most_s
        began = time.monotonic()
        log, status, err = self.run("malloc list 0")
        if status:  # a busy machine may upset a test once
            log, status, err = self.run("malloc list 0")
        self.limit = LIMIT_S + time.monotonic() - began
        self.is_slow = status is None
        if status and not self.is_slow:
            sys.exit(f"{self.name}: status {status} without a failure\n{err}")
        self.calls = [(line.split()[0], int(line.split()[1])) for line in log]

    def run(self, plan):
        """The log's lines, the status (None: it did not end) and standard error."""
        log = f"{self.map}.{plan.replace(' ', '.')}"
        environment = dict(os.environ) | {
            "MLAUNCH_TEST_FAIL": f"{self.name} {plan}", "MLAUNCH_TEST_FAIL_LOG": log,
            "MLAUNCH_TEST_FAIL_CODE": self.map, "LD_PRELOAD": os.environ["FAIL_CALLS"]}
        with open(log + ".err", "w+b") as err:
            with subprocess.Popen([self.path], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                  stderr=err, env=environment, start_new_session=True) as test:
                try:
                    status = test.wait(self.limit * (20 if "short" in plan else 1))
                except subprocess.TimeoutExpired:
                    status = None
                    test.send_signal(signal.SIGABRT) # who waits is a line in the log then
                    try:
                        test.wait(5)
                    except subprocess.TimeoutExpired:
                        pass
                try:
                    os.killpg(test.pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            err.seek(0)
            said = err.read().decode(errors="replace")
        os.unlink(log + ".err")
        lines = []
        if os.path.exists(log):
            with open(log, encoding="utf-8") as f:
                lines = f.read().splitlines()
            os.unlink(log)
        return lines, status, said

    def place(self, where):
        """FILE:LINE of an offset in the program."""
        said = subprocess.run(["addr2line", "-e", self.path, where], check=False, text=True,
                              stdout=subprocess.PIPE).stdout
        return re.sub(r".*\.\./(?=(common|coordinator|examples|launcher|runtime|rdma|tests)/)", "",
                      said.strip())

    def line(self, where):
        """The source text there."""
        file, number = self.place(where).split()[0].rsplit(":", 1)
        with open(os.path.join(os.environ["SOURCE"], file), encoding="utf-8") as f:
            return f.read().splitlines()[int(number) - 1]

    def stack(self, crash):
        return " < ".join(self.place(where) for where in crash[3:]) if crash else "?"

    def is_waiting(self, crash):
        """Whether it is the test that waits, maybe just looking at the clock."""
        places = [self.place(where) for where in crash[3:]]
        waits = [p for p in places if not p.startswith("common/clock.c")]
        return bool(waits) and waits[0].startswith("tests/")

    def faults(self, log, status, said):
        """What is bad in that run, as a text."""
        crash = next((line.split() for line in log if line.startswith("crash")), None)
        if crash and (crash[2] == "t" or crash[3:] and OTHERS.search(self.line(crash[3]))):
            return  # the test's own, or glibc's
        if crash and status is None and self.is_waiting(crash):
            return
        if crash and status is not None:
            yield f"crashes with signal {crash[1]} in {self.stack(crash)}"
        elif status is None:
            yield f"hangs in {self.stack(crash)}"
        elif status < 0:
            yield f"is ended by signal {-status}"
        if found := REPORT.search(said):
            yield found[0]
        if "LeakSanitizer" in said:
            yield "loses memory"


class Walk:
    """Some runs of one program; the bad ones are described on standard error."""

    def __init__(self, program, plans, end):
        self.runs = self.hits = self.own = self.bad = 0
        for group, mode, numbers in plans:
            last = 0
            for n in numbers:
                if n <= last or time.monotonic() > end:
                    continue
                hit = self.step(program, f"{group} {mode} {n}")
                if mode == "eintr" and not hit:
                    break
                last = int(hit[0].split()[4]) if hit and mode == "eintr" else 0

    def step(self, program, plan):
        """One run; the calls that failed in it."""
        log, status, said = program.run(plan)
        hit = [line for line in log if line.split()[0] not in ("assertion", "leak", "crash")]
        self.runs += 1
        self.hits += bool(hit)
        self.own += any(line.startswith("crash") and line.split()[2] == "t" for line in log)
        faults = list(program.faults(log, status, said))
        if faults:
            place = program.place(hit[0].split()[3]) if hit else "?"
            self.bad += 1
            print(f"{program.name} {plan}: {place}: {'; '.join(faults)}", *log,
                  *said.splitlines()[-60:], sep="\n    ", file=sys.stderr, flush=True)
        return hit


def plans_of(program, step):
    """Group, mode and numbers. step: how many calls are passed over for each that fails."""
    for group in GROUPS:
        numbers = [n for name, n in program.calls if name == group]
        yield group, "fail", numbers[::step]
        if not numbers or step > 1:
            continue
        if group in INTERRUPTED:
            yield group, "eintr", range(1, MOST_INTERRUPTIONS + 1)
        if group in SHORT:
            yield group, "short", SHORT[group]


def walks_of(programs, step):
    """What each Walk is made of: a program's plans; or, in a turn, one call, at random."""
    seconds = os.environ.get("MLAUNCH_TEST_SECONDS")
    if not seconds or step > 1:
        return [(p, plans_of(p, step), math.inf) for p in programs]
    seed = os.environ.get("SEED") or str(random.randrange(1 << 32))
    print(f"SEED={seed}", flush=True)
    end = time.monotonic() + int(seconds)
    walks = [(p, [(group, mode, numbers if mode == "eintr" else [n])], end)
             for p in programs for group, mode, numbers in plans_of(p, step) for n in numbers
             if mode != "eintr" or n == 1]
    random.Random(seed).shuffle(walks)
    return walks


def main(steps, *paths):
    with concurrent.futures.ThreadPoolExecutor(2 * os.cpu_count()) as pool:
        most_s = 20 * LIMIT_S if steps == "all" else 5
        all_programs = list(pool.map(lambda path: Program(path, most_s), paths))
        programs = [p for p in all_programs if not p.is_slow]
        calls = sum(len(p.calls) for p in programs)
        step = 1 if steps == "all" else max(1, calls // int(steps))
        walks = list(pool.map(lambda w: Walk(*w), walks_of(programs, step)))
    bad = sum(w.bad for w in walks)
    slow = [p.name for p in all_programs if p.is_slow]
    if slow:
        print(f"left out, because its calls cannot be listed in {most_s} s:", *slow)
    print(f"{len(programs)} programs, {calls} calls of the product with a stack of their own; "
          f"{sum(w.runs for w in walks)} runs, in {sum(w.hits for w in walks)} a call failed; "
          f"in {sum(w.own for w in walks)} the test itself crashed or waited; {bad} bad")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
