#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""walk.py PART GROUP MODE STEPS COMMAND…: runs COMMAND, a job, once for each N of STEPS with
fail_calls.so, until a run has fewer than N calls; and judges each run.

STEPS is "all", "some" (1, 2, 4, 8, … twice as much each time), or numbers with commas. With
MLAUNCH_TEST_PART=K/N "all" is every Nth, from the Kth on. In the environment: FAIL_CALLS, the
library; JOBS, the directory of job directories, and /dev/shm must be this test's alone (private
mounts).

A run is good if it ends in time, leaves no process, job directory or segment, and either has
status 0 and the same output as without a failure, or another status and a sentence.
"""
import ctypes
import itertools
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

PR_SET_CHILD_SUBREAPER = 36
HANG_S = 60 if os.environ.get("SANITIZE", "no") == "no" else 180
# A crash of whatever part, a sanitizer's report, and what the ranks' program says of a result.
CRASH = re.compile(r"Sanitizer|runtime error:|[Aa]ssertion|WRONG|signal (4|6|7|8|11)\b|corrupt")
SENTENCE = re.compile(r"^mlaunch: \S.* .*|^mlaunch-agent: ", re.M)


def children():
    with open(f"/proc/{os.getpid()}/task/{os.getpid()}/children", encoding="ascii") as f:
        return [int(pid) for pid in f.read().split()]


def reap():
    """Ended processes that this one has inherited."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def describe(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as f:
            command = f.read().replace(bytes(1), b" ").decode(errors="replace")
        with open(f"/proc/{pid}/wchan", encoding="ascii") as f:
            return f"{pid} {command[:60]} in {f.read()}"
    except OSError:
        return str(pid)


def descendants():
    found = children()
    for pid in found:
        try:
            with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
                found += [int(child) for child in f.read().split()]
        except OSError:
            pass
    return found


def wait_for_none():
    """The processes that are left after a while; they are ended then."""
    end = time.monotonic() + HANG_S
    reap()
    while children() and time.monotonic() < end:
        time.sleep(0.005)
        reap()
    left = [describe(pid) for pid in descendants()]
    while children():
        for pid in descendants():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        time.sleep(0.01)
        reap()
    return left


def files_left():
    found = []
    for place in (os.environ["JOBS"], "/dev/shm"):
        for name in sorted(os.listdir(place)) if os.path.isdir(place) else ():
            path = os.path.join(place, name)
            found.append(path)
            subprocess.run(["rm", "-rf", path], check=False)
    return found


class Run:
    """One run of the job: status (None: it did not end), out, err, hits (calls that failed)."""

    def __init__(self, plan, command):
        environment = dict(os.environ)
        self.plan, self.hanging = plan, []
        with tempfile.TemporaryDirectory() as place:
            log = os.path.join(place, "hits")
            if plan:
                environment |= {"MLAUNCH_TEST_FAIL": plan, "MLAUNCH_TEST_FAIL_LOG": log,
                                "LD_PRELOAD": os.environ["FAIL_CALLS"]}
            with open(place + "/out", "w+b") as out, open(place + "/err", "w+b") as err:
                began = time.monotonic()
                with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                      env=environment, start_new_session=True) as job:
                    try:
                        self.status = job.wait(HANG_S)
                    except subprocess.TimeoutExpired:
                        self.status = None
                        self.hanging = [describe(pid) for pid in descendants()]
                        job.kill()
                self.seconds = time.monotonic() - began
                self.left = wait_for_none() + files_left()
                out.seek(0)
                err.seek(0)
                self.out = sorted(out.read().decode(errors="replace").splitlines())
                self.err = err.read().decode(errors="replace")
            try:
                with open(log, encoding="utf-8") as f:
                    self.hits = f.read().splitlines()
            except OSError:
                self.hits = []

    def faults(self, expected):
        if self.status is None:
            yield "hangs: " + "; ".join(self.hanging)
        elif self.left:
            yield "leaves " + ", ".join(self.left)
        if CRASH.search(self.err) or (self.status or 0) < 0:
            yield f"crashes: status {self.status}"
        if self.status == 0 and self.out != expected:
            yield f"status 0, but other output: {len(self.out)} lines, not {len(expected)}"
        # What can't be written on standard error is not there.
        is_mute = any(hit.split()[:2] in (["write", "2"], ["writev", "2"]) for hit in self.hits)
        if self.status and not is_mute and not SENTENCE.search(self.err):
            yield f"status {self.status} without a sentence"


def steps(word):
    if word == "all":
        first, every = os.environ.get("MLAUNCH_TEST_PART", "1/1").split("/")
        return itertools.count(int(first), int(every))
    if word == "some":
        return (1 << power for power in itertools.count())
    return iter([int(n) for n in word.split(",")])


def main(part, group, mode, word, *command):
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    plain = Run("", command)
    if plain.status != 0 or list(plain.faults(plain.out)):
        sys.exit(f"without a failure: status {plain.status}, {list(plain.faults(plain.out))}\n"
                 + plain.err)
    runs = bad = absorbed = 0
    longest = 0.0
    for n in steps(word):
        run = Run(f"{part} {group} {mode} {n}", command)
        if not run.hits and mode != "short":
            break
        runs += 1
        absorbed += run.status == 0
        longest = max(longest, run.seconds)
        for fault in run.faults(plain.out):
            bad += 1
            print(f"{run.plan}: {fault}", *run.hits[:3], *run.err.splitlines()[-12:],
                  sep="\n    ", file=sys.stderr)
        if os.environ.get("WALK_VERBOSE"):
            print(run.plan, run.status, f"{run.seconds:.2f}", run.hits[:1], run.err[-300:])
        if bad >= 10:
            break
    print(f"{runs} runs, {absorbed} with status 0, the longest {longest:.1f} s, {bad} bad")
    # A part may begin behind the only call.
    return 1 if bad or not (runs or "MLAUNCH_TEST_PART" in os.environ) else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
