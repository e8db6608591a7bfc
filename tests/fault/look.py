#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Looks for what jobs have left behind, and for the agents' processes.

look.py left EVENTS MARK [INIT…]
    prints what is left of the jobs in the file EVENTS: processes with MARK in their environment,
    agents in the PID namespaces of the INITs, job directories, control groups, segments in
    /dev/shm, here and in the INITs' file systems; status 1 if there is anything
look.py agent EVENTS HOST worker|guard|sshd|both|all [INIT]
    prints the pid, as this namespace numbers it, of a process of the agent on HOST, or of the sshd
    that serves its connection; of the guard and the worker; of that sshd and all its descendants;
    status 1 and nothing if there is none
"""
import glob
import json
import os
import sys


def jobs_of(events):
    try:
        with open(events, encoding="utf-8") as f:
            return [json.loads(line) for line in f if line.endswith("\n")]
    except OSError:
        return []


def read(path):
    try:
        with open(path, "rb") as f:
            return f.read()
    except OSError:
        return b""


def namespace(pid):
    try:
        return os.readlink(f"/proc/{pid}/ns/pid")
    except OSError:
        return None


def pids():
    return [int(d) for d in os.listdir("/proc") if d.isdigit()]


def stat(pid):
    """(state, parent)"""
    fields = read(f"/proc/{pid}/stat").rpartition(b")")[2].split()
    return (fields[0], int(fields[1])) if len(fields) > 2 else (b"X", 0)


def program(pid):
    """The program's path; under qemu-user, which is the first word then, the one behind it."""
    words = read(f"/proc/{pid}/cmdline").split(b"\0")
    return words[1 if b"/qemu-" in words[0] else 0]


def own_group():
    """Where this process's control group (version 2) lies; groups of jobs are below."""
    for line in read("/proc/self/mountinfo").decode().splitlines():
        fields = line.split()
        if " - cgroup2 " in line and fields[3] == "/":
            groups = read("/proc/self/cgroup").decode().splitlines()
            own = [g[3:] for g in groups if g.startswith("0::")]
            return fields[4] + own[0].rstrip("/") if own else None
    return None


def left(events, mark, *inits):
    found = []
    spaces = {namespace(i) for i in inits} - {None}
    for pid in pids():
        if stat(pid)[0] in b"ZX" or pid == os.getpid():
            continue
        if mark.encode() in read(f"/proc/{pid}/environ").split(b"\0") or (
                spaces and is_agent(pid) and namespace(pid) in spaces):
            command = read(f"/proc/{pid}/cmdline")
            line = command.replace(bytes(1), b" ").decode(errors="replace")
            found.append(f"process {pid}: {line[:100]}")
    group = own_group()
    for job in {e["job"] for e in jobs_of(events) if e.get("job")}:
        found += glob.glob(f"/tmp/mlaunch-*/{job}.*")
        found += glob.glob(f"{group}/mlaunch-*-{job}.*") if group else []
        for root in ["", *(f"/proc/{i}/root" for i in inits)]:
            found += glob.glob(f"{root}/dev/shm/mlaunch-*{job}*")
    print("\n".join(found[:20]) + (f"\n… and {len(found) - 20} more" if len(found) > 20 else ""))
    return 1 if found else 0


def is_agent(pid):
    return b"mlaunch-agent" in program(pid)


def outside(inner, space):
    """The pid, as it is here, of the process that is `inner` in a pid namespace."""
    for pid in pids():
        status = read(f"/proc/{pid}/status").splitlines()
        numbers = [line.split()[-1] for line in status if line.startswith(b"NSpid")]
        if numbers and int(numbers[0]) == inner and namespace(pid) == space:
            return pid
    return 0


def descendants(top):
    parents = {pid: stat(pid)[1] for pid in pids()}
    found = [top]
    for pid in found:
        found += [child for child, parent in parents.items() if parent == pid]
    return found


def agent(events, host, role, init=None):
    worker = next((e["pid"] for e in reversed(jobs_of(events))
                   if e["event"] == "connected" and e["host"] == host), 0)
    if init:
        worker = outside(worker, namespace(init))
    guard = stat(worker)[1]
    # The caller is going to kill it, so a pid that may have been reused is not reported.
    if not worker or not is_agent(worker) or not is_agent(guard):
        return 1
    sshd = guard
    while sshd > 1 and read(f"/proc/{sshd}/comm") != b"sshd\n":
        sshd = stat(sshd)[1]
    found = {"worker": [worker], "guard": [guard], "both": [guard, worker],
             "sshd": [sshd if init else 0], "all": descendants(sshd) if init else [0]}[role]
    if min(found) <= 1 or int(init or 0) in found:
        return 1
    print(*found)
    return 0


sys.exit({"left": left, "agent": agent}[sys.argv[1]](*sys.argv[2:]))
