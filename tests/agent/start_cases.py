# SPDX-License-Identifier: MIT
"""start_cases.py: what an agent checks and sets up to start ranks. Each function is a case."""
import json
import os
import resource
import signal
import socket
import struct
import subprocess
import sys

from harness import *


def ranks():
    """three ranks: output intact, statuses, pids, EXITED after the last output, DONE, exit 0"""
    a = Agent()
    hello = a.wait(HELLO)
    expect(hello["build"] == a.build and hello["arch"] == os.uname().machine
           and alive(hello["pid"]), f"HELLO: {hello}")
    a.start(sh("echo out 0; echo err 0 >&2"), sh("echo out 1; exit 3"),
            sh("echo out 2; kill -SEGV $$"))
    expect(a.finish() == {"survivors": []}, "survivors")
    expect(a.output[0, 1] == b"out 0\n" and a.output[0, 2] == b"err 0\n", f"{a.output}")
    expect(a.exited[0]["status"] == 0 and a.exited[1]["status"] == 3
           and a.exited[2]["signal"] == 11, f"{a.exited}")
    for rank in range(3):
        expect(a.exited[rank]["pid"] == a.pids[rank], "pids differ")
        expect(not a.exited[rank]["ended_by_us"] and not a.exited[rank]["consequence"],
               f"{a.exited}")
        said = [i for i, (k, p) in enumerate(a.frames)
                if k == OUTPUT and p[3] == rank and len(p) > 5]
        ended = [i for i, (k, p) in enumerate(a.frames)
                 if k == EXITED and json.loads(p)["rank"] == rank]
        expect(max(said) < ended[0], f"rank {rank}: EXITED before its output")
    a.check_gone(0)


def build():
    """another build is refused before anything is read"""
    a = Agent("--build", "0123456789abcdef")
    a.wait_exit(PROTOCOL["AGENT_EXIT_NOT_OURS"])
    expect(not a.frames, "it said something")


def by_hand():
    """a person at a terminal gets a sentence"""
    master, slave = os.openpty()
    p = subprocess.run([sys.argv[1]], stdin=slave, capture_output=True, text=True, timeout=HANG_S)
    os.close(master)
    expect(p.returncode == 125 and "mlaunch starts this program" in p.stderr, f"{p}")


def foreign_path():
    """a PATH that is not UTF-8: the rank's failure is reported nevertheless"""
    a = Agent(wrap=("env", b"PATH=/opt/caf\xe9:" + os.environb[b"PATH"]))
    a.prepare(("no-such-program",))
    a.finish()
    expect(a.exited[0]["status"] == 127 and "/opt/caf?" in a.exited[0]["error"], f"{a.exited}")


def exec_errors():
    """programs that are missing, not executable, without an interpreter; a script without #!"""
    t = os.environ.get("T", "/tmp")
    for name, mode, text in (("data", 0o644, "x"), ("script", 0o755, "echo script $1"),
                             ("orphan", 0o755, "#!/no/such/interpreter\n")):
        with open(f"{t}/{name}", "w") as f:
            f.write(text)
        os.chmod(f"{t}/{name}", mode)
    os.mkdir(f"{t}/closed", 0)  # has no effect on root
    a = Agent()
    a.start(("no-such-program",), ("/no/such/program",), (f"{t}/data",), (f"{t}/orphan",),
            (f"{t}/script", "arg"), ("./script", "x"), ("data",), cwd=t,
            env=[f"PATH={t}/closed:{t}:/usr/bin:/bin"])
    a.finish()
    got = {r: (e.get("status"), e.get("error", "")) for r, e in a.exited.items()}
    expect(got[0][0] == 127 and "no-such-program: not found in PATH" in got[0][1], f"{got}")
    expect(got[1][0] == 127 and "/no/such/program" in got[1][1], f"{got}")
    expect(got[2][0] == 126 and "Permission denied" in got[2][1], f"{got}")
    expect(got[3][0] == 127 and "interpreter" in got[3][1], f"{got}")
    expect(got[4] == (0, "") and a.output[4, 1] == b"script arg\n", f"{got} {a.output}")
    os.rmdir(f"{t}/closed")
    expect(got[6][0] == 126 and got[6][1] == "data: Permission denied", f"{got}")
    expect(got[5] == (0, "") and a.output[5, 1] == b"script x\n", f"{got} {a.output}")
    a.check_gone(0)


def environment():
    """a rank's environment, directory, stdin, signals and descriptors"""
    os.umask(0o27)
    os.environ.update({"PMI_RANK": "7", "OMPI_COMM_WORLD_RANK": "9", "SLURM_PROCID": "4",
                       "MINE": "kept"})
    a = Agent()
    a.start(("env",), sh("pwd; umask; ls -l /proc/self/fd | wc -l; "
                         "grep -E 'SigIgn|SigBlk' /proc/self/status; cat; ulimit -Sn"),
            cwd="/usr", env=["FROM=hostfile", "PATH=/usr/bin:/bin"])
    a.finish()
    env = dict(line.split("=", 1) for line in a.output[0, 1].decode().splitlines() if "=" in line)
    want = {"MLAUNCH_RANK": "0", "MLAUNCH_SIZE": "2", "MLAUNCH_LOCAL_RANK": "0",
            "MLAUNCH_LOCAL_SIZE": "2", "MLAUNCH_HOST_RANK": "0", "MLAUNCH_HOSTS": "1",
            "MLAUNCH_JOB": a.id, "MLAUNCH_BACKEND": "none", "RANK": "0", "WORLD_SIZE": "2",
            "OMPI_COMM_WORLD_RANK": "0", "MLX_RANK": "0", "MASTER_ADDR": "127.0.0.1",
            "FROM": "hostfile", "PWD": "/usr", "MINE": "kept"}
    expect(want.items() <= env.items(), f"missing or different: {want.items() - env.items()}")
    expect(env["PMI_RANK"] == "0" and env["PMI_SIZE"] == "2", f"{env}")
    expect(not {"SLURM_PROCID", "LD_PRELOAD"} & env.keys(),
           "an outer launcher's variables are left")
    lines = a.output[1, 1].decode().split("\n")
    expect(lines[0] == "/usr" and lines[1] == "0027", f"{lines}")
    expect(int(lines[2]) == 6,  # 0, 1, 2, PMI_FD, ls's own, the total line
           f"descriptors leak into ranks: {lines}")
    # Signals 32 and 33 are the C library's own; a caller may ignore them, and nobody can change it.
    expect(all(int(x.split()[1], 16) & ~(3 << 31) == 0 for x in lines[3:5]), f"signals: {lines}")
    expect(lines[5] == str(resource.getrlimit(resource.RLIMIT_NOFILE)[0]), f"ulimit -n: {lines}")
    a.check_gone(0)


def directories():
    """a missing directory: home with a warning; one that was named: refused, nothing made"""
    a = Agent()
    ready = a.start(sh("pwd"), cwd="/no/such/dir")
    expect("no directory /no/such/dir: its ranks start in" in ready["warnings"][0], f"{ready}")
    a.finish()
    home = os.environ.get("HOME", "")
    home = os.path.realpath(home) if os.path.isdir(home) else "/"
    expect(a.output[0, 1].decode().strip() == home, f"{a.output}")
    b = Agent()
    b.send(JOB, b.job(("true",), host_cwd="/no/such/dir"))
    refused = b.wait(REFUSED)
    expect("/no/such/dir: No such file" in refused["text"] and refused["status"] == 125,
           f"{refused}")
    b.wait_exit(0)
    b.check_gone(0)


def malformed():
    """frames and jobs that make no sense end the agent, or are refused with a message"""
    for bad, word in (({"ranks": []}, "ranks"), ({"secret": "xyz"}, "secret"),
                      ({"job": "../../etc"}, "job"),
                      ({"size": -1}, "size"), ({"host_of": [5]}, "host_of")):
        a = Agent()
        a.send(JOB, a.job(("true",), **bad))
        expect(f'"{word}"' in a.wait(REFUSED)["text"], f"{bad}: {a.frames}")
        a.wait_exit(0)
    for bytes_ in (b"\xff" * 8, b"\0\0\0\0\x02\x40\0\0", b"GET / HTTP/1.0\r\n\r\n",
                   struct.pack(">IBBH", 0, 1, 99, 0), struct.pack(">IBBH", 2, 1, START, 0) + b"{}"):
        a = Agent()
        a.wait(HELLO)
        a.socket.sendall(bytes_)
        a.wait_exit(None)
    a.check_gone(0)


def many():
    """256 and 1,024 ranks of true"""
    for n in (256, 1024):
        if SLOW > 1 and n > 256:
            continue
        a = Agent()
        a.prepare(*[("true",)] * n)
        a.wait(DONE)
        expect(len(a.exited) == n and all(e.get("status") == 0 for e in a.exited.values()),
               f"{len(a.exited)} of {n}")
        a.finish()
        a.check_gone(0)


def places():
    """START with places: who comes has the number given, and no input; with 0 nobody is started"""
    a = Agent()
    a.send(JOB, a.job(*[sh("echo $MLAUNCH_RESTART; cat")] * 3, stdin="all", elastic=1, restarts=3))
    ready = a.wait(READY)
    a.send(START, {"coordinator": ready["coordinator"], "places": [2, 0, 1]})
    for rank in (0, 2):
        a.until(lambda: rank in a.exited, "its end")
        a.send(REPLACE, struct.pack(">II", rank, 0))
    a.finish()
    expect(sorted(a.pids) == [0, 2], f"{a.pids}")
    expect((a.output[0, 1], a.output[2, 1]) == (b"2\n", b"1\n"), f"{a.output}")


def places_malformed():
    """START with places that are no list of as many numbers: LOST"""
    for wrong in ([1], [1, 2, 3], [-1, 1], "x", {}):
        a = Agent()
        a.send(JOB, a.job(*[sh("true")] * 2, elastic=1, restarts=3))
        ready = a.wait(READY)
        a.send(START, {"coordinator": ready["coordinator"], "places": wrong})
        expect("START is invalid" in a.wait(LOST)["text"], f"{wrong}: {a.frames}")
        a.finish()


def placed():
    """PLACED with a wiring: rdma.json has it before WIRED comes; with that of other hosts: LOST"""
    wiring = {"entries": [["d"], ["e"]], "own": [0], "others": []}
    a = Agent()

    def devices():
        with open(a.directories()[0] + "/rdma.json") as f:
            return json.load(f)["wiring"]

    a.start(sh("exec sleep 100"), backend="rdma", wiring=wiring, elastic=1)
    expect(devices() == [[["d"]]], f"{devices()}")
    a.send(PLACED, {"host": 0, "name": "there"})
    a.send(PLACED, {"host": 0, "name": "there", "wiring": {**wiring, "own": [1]}})
    a.wait(WIRED)
    expect(devices() == [[["e"]]], f"{devices()}")
    expect(a.kinds().count(WIRED) == 1, f"{a.kinds()}")
    a.send(PLACED, {"host": 0, "name": "there", "wiring": {**wiring, "own": [2]}})
    expect("no wiring of this job's hosts" in a.wait(LOST)["text"], f"{a.frames}")
    expect(devices() == [[["e"]]], f"{devices()}")
    a.send(STOP, struct.pack(">II", signal.SIGTERM, 5000))
    a.finish()
    a.check_gone(0)


def keeper():
    """KEEPER, again and again: job.json names the next host's, and the same coordinator"""
    a = Agent()

    def written():
        with open(a.directories()[0] + "/job.json") as f:
            return json.load(f)

    ready = a.start(sh("exec sleep 100"), backend="tcp", elastic=1, keep=2)
    for i in range(3):
        a.send(KEEPER, f"10.0.0.{i}:1".encode())
        a.until(lambda: written()["keeper"] == f"10.0.0.{i}:1", "job.json with that keeper")
        expect(ready["coordinator"] and written()["coordinator"] == ready["coordinator"],
               f"{i}: {written()}")
    a.send(STOP, struct.pack(">II", signal.SIGTERM, 5000))
    a.finish()
    a.check_gone(0)


def keeper_ends():
    """the keeper is killed: another one is started, and KEEPS says where it listens, 10 times"""
    a = Agent()

    worker = a.worker()

    def keeper():
        with open(f"/proc/{worker}/task/{worker}/children") as f:
            return [p for p in map(int, f.read().split()) if p != a.pids[0]]

    address = a.start(sh("exec sleep 100"), backend="tcp", elastic=1, keep=2)["keeper"]
    expect(address, "no keeper")
    for i in range(10):
        (pid,) = keeper()
        os.kill(pid, signal.SIGKILL)
        said = a.wait(KEEPS)
        a.frames.clear()
        expect("was killed by signal 9" in said["text"], f"{said}")
        if i < 9:
            expect(said["keeper"] not in ("", address) and "takes its place" in said["text"],
                   f"{i}: {said}")
            host, port = said["keeper"].rsplit(":", 1)
            socket.create_connection((host, int(port))).close()
            address = said["keeper"]
    expect(said["keeper"] == "" and "cannot be replaced: 10 have" in said["text"], f"{said}")
    expect(not keeper(), "there is another one")
    a.send(STOP, struct.pack(">II", signal.SIGTERM, 5000))
    a.finish()
    a.check_gone(0)


def grow():
    """GROW: GREW, then REPLACE starts the rank; LEAVE ends it; PLACED changes nothing here"""
    a = Agent()
    a.start(sh("echo $MLAUNCH_RANK $MLAUNCH_RESTART; sleep 1000"), elastic=1)
    a.send(GROW, struct.pack(">III", 1, 0, 0))
    expect(a.wait(GREW) == struct.pack(">I", 1), f"{a.frames}")
    a.send(PLACED, {"host": 0, "name": "there"})
    for wrong in ({"host": 1, "name": "x"}, {"host": -1, "name": "x"}, {"host": 0}, b"[]", b"xx"):
        a.send(PLACED, wrong)
    a.send(REPLACE, struct.pack(">II", 1, 1))
    a.until(lambda: a.output.get((1, 1)) == b"1 1\n", "the second rank")
    a.send(LEAVE, struct.pack(">I", 2))  # there is no such rank
    for rank in (1, 0):
        a.send(LEAVE, struct.pack(">I", rank))
        a.until(lambda: rank in a.exited, "its end")
        expect(a.exited[rank].get("signal") == signal.SIGTERM, f"{a.exited}")
        a.send(REPLACE, struct.pack(">II", rank, 0))
    a.finish()
    a.check_gone(0)


def grow_malformed():
    """GROW with another number than the next, or of no host or program: LOST"""
    for wrong in ((0, 0, 0), (2, 0, 0), (2**32 - 1, 0, 0), (1, 1, 0), (1, 0, 1)):
        a = Agent()
        a.start(sh("sleep 1000"), elastic=1)
        a.send(GROW, struct.pack(">III", *wrong))
        expect("GROW is invalid" in a.wait(LOST)["text"], f"{wrong}: {a.frames}")
        a.send(KILL)
        a.finish()


def bind():
    """--bind-to core and hwthread bind each rank to CPUs of its own, socket and numa to several"""
    for to in ("core", "hwthread", "socket", "numa", "l3cache"):
        a = Agent()
        binding = {"to": to, "each": 0, "map": "none", "block": 0, "cpus": "", "gpus": 0,
                   "memory": "none", "nodes": "", "threads": 0, "report": True}
        a.send(JOB, a.job(*[sh("grep Cpus_allowed_list /proc/self/status")] * 2, binding=binding))
        a.until(lambda: READY in a.kinds() or REFUSED in a.kinds(), "an answer")
        if REFUSED in a.kinds():
            expect("hwloc" in a.wait(REFUSED)["text"], f"{a.frames}")
            continue
        a.send(START, {"coordinator": ""})
        a.finish()
        cpus = len(os.sched_getaffinity(0))
        if cpus > 1 and (to == "hwthread" or to == "core"):
            expect(a.output[0, 1] != a.output[1, 1], f"{to}: {a.output}")
