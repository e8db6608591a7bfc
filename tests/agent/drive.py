#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""drive.py AGENT CASE: speaks the launcher's side of doc/protocol.md to one agent, without mlaunch.

Each case is a function below; its doc string says what is shown. It exits 0, or prints what was
expected and what came. After every case /proc is searched for processes that carry the mark of the
agent's job directory, and /tmp and /dev/shm for what it should have removed.
"""
import glob
import json
import os
import random
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

HELLO, READY, REFUSED, STARTED, OUTPUT, EXITED, STDIN_CREDIT, ABORTED, NOTE, LOST, DONE, PONG = range(16, 28)
JOB, START, STDIN, CREDIT, SIGNAL, STOP, KILL, PAUSE, RESUME, PING, BYE = range(64, 75)
WINDOW, STDIN_WINDOW = 4 << 20, 256 << 10
SLOW = 5 if os.environ.get("SANITIZE", "no") != "no" else 1


class Failure(Exception):
    pass


def expect(condition, text):
    if not condition:
        raise Failure(text)


def wait_for(what, seconds, text):
    """Polls; for what has no event to wait for, such as the end of somebody else's process."""
    end = time.monotonic() + seconds
    while not what():
        expect(time.monotonic() < end, f"not within {seconds} s: {text}")
        select.select([], [], [], 0.01)


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


class Agent:
    def __init__(self, *args, build=True, credit=True, wrap=()):
        ours, theirs = socket.socketpair()
        path = sys.argv[1]
        version = subprocess.run([path, "--version"], capture_output=True, text=True, check=True).stdout
        self.build = version.split("(")[1].split(")")[0]
        if build and not args:
            args = ("--build", self.build)
        self.stderr_path = os.path.join(os.environ.get("T", "/tmp"), f"agent-stderr.{os.getpid()}")
        with open(self.stderr_path, "wb") as err:
            self.process = subprocess.Popen([*wrap, path, *args], stdin=theirs, stdout=theirs, stderr=err)
        theirs.close()
        self.socket = ours
        self.id = f"t{os.getpid()}-{id(self) & 0xffff:x}"
        self.data = b""
        self.frames = []
        self.output = {}
        self.exited = {}
        self.pids = {}
        self.taken = {}
        self.credit = credit
        self.at_eof = False

    def send(self, kind, payload=b""):
        if isinstance(payload, dict):
            payload = json.dumps(payload).encode()
        self.socket.sendall(struct.pack(">IBBH", len(payload), 1, kind, 0) + payload)

    def note(self, kind, payload):
        """What most cases want to know of a frame is kept; the rest goes to self.frames."""
        if kind == OUTPUT:
            rank, stream = struct.unpack(">IB", payload[:5])
            self.output[rank, stream] = self.output.get((rank, stream), b"") + payload[5:]
            if self.credit and payload[5:]:
                self.send(CREDIT, struct.pack(">I", len(payload) - 5))
        elif kind == STDIN_CREDIT:
            rank, count = struct.unpack(">II", payload)
            self.taken[rank] = self.taken.get(rank, 0) + count
        elif kind == STARTED:
            said = json.loads(payload)
            self.pids[said["rank"]] = said["pid"]
        elif kind == EXITED:
            said = json.loads(payload)
            expect(said["rank"] not in self.exited, f"EXITED twice: {said}")
            self.exited[said["rank"]] = said
        self.frames.append((kind, payload))

    def close(self):
        if not self.at_eof:
            self.socket.close()
        self.at_eof = True

    def pump(self, seconds):
        if self.at_eof:
            select.select([], [], [], 0.01)
            return
        if not select.select([self.socket], [], [], seconds)[0]:
            return
        try:
            data = self.socket.recv(1 << 20)
        except ConnectionResetError:
            data = b""
        if not data:
            self.at_eof = True
        self.data += data
        while len(self.data) >= 8:
            size, version, kind, zero = struct.unpack(">IBBH", self.data[:8])
            expect(version == 1 and zero == 0, "a frame's header is wrong")
            if len(self.data) < 8 + size:
                break
            payload, self.data = self.data[8:8 + size], self.data[8 + size:]
            self.note(kind, payload)

    def until(self, what, text, seconds=20 * SLOW):
        end = time.monotonic() + seconds
        while not what():
            left = end - time.monotonic()
            expect(left > 0, f"not within {seconds} s: {text}; frames {self.kinds()[-20:]} "
                             f"exited {self.exited} stderr {self.stderr()!r}")
            self.pump(min(left, 0.2))

    def kinds(self):
        return [k for k, _ in self.frames]

    def wait(self, kind, seconds=20 * SLOW):
        """The first frame of this kind, as JSON if it is."""
        self.until(lambda: kind in self.kinds() or self.at_eof, f"frame {kind}", seconds)
        expect(kind in self.kinds(), f"the agent ended without frame {kind}: {self.kinds()} {self.stderr()!r}")
        payload = next(p for k, p in self.frames if k == kind)
        return json.loads(payload) if payload[:1] == b"{" else payload

    def stderr(self):
        with open(self.stderr_path, "rb") as f:
            return f.read().decode(errors="replace")

    def job(self, *programs, **more):
        """A job on one host; programs: an argv for each rank."""
        n = len(programs)
        message = {
            "job": self.id, "secret": "ab" * 32, "size": n, "hosts": 1, "host": 0, "host_name": "here",
            "host_names": ["here"], "host_of": [0] * n, "backend": "none", "local_net": False, "compat": True,
            "bind_ip": "", "peers": [], "port": 0, "starting_port": 0, "init_timeout_ms": 60000,
            "stall_ms": 30000, "grace_ms": 5000, "eager": False, "bind": "none",
            "command": "test", "stdin": "none", "stdin_rank": 0, "env": [], "cwd": "/",
            "host_cwd": "",
            "apps": [{"argv": list(p), "env": [], "cwd": ""} for p in programs],
            "ranks": [{"rank": i, "local_rank": i, "app": i} for i in range(n)],
        }
        message.update(more)
        return message

    def prepare(self, *programs, **more):
        self.send(JOB, self.job(*programs, **more))
        ready = self.wait(READY)
        self.send(START, {"coordinator": ready["coordinator"]})
        return ready

    def start(self, *programs, **more):
        ready = self.prepare(*programs, **more)
        self.until(lambda: len(self.pids) + len(self.exited) >= len(programs), "all ranks started")
        return ready

    def finish(self):
        """To the orderly end; returns DONE."""
        done = self.wait(DONE)
        self.send(BYE)
        self.wait_exit(0)
        return done

    def wait_exit(self, status, seconds=5 * SLOW):
        got = self.process.wait(timeout=seconds)
        expect(status is None or got == status, f"the agent's status is {got}, not {status}: {self.stderr()!r}")
        expect("Sanitizer" not in self.stderr(), self.stderr())

    def worker(self):
        return self.wait(HELLO)["pid"]

    def directories(self):
        return glob.glob(f"/tmp/mlaunch-{os.getuid()}/{self.id}.*")

    def left(self):
        """Processes with the mark of this job."""
        mark = f"MLAUNCH_JOB={self.id}".encode()
        found = []
        for path in glob.glob("/proc/[0-9]*/environ"):
            pid = int(path.split("/")[2])
            try:
                with open(path, "rb") as f:
                    if mark in f.read().split(b"\0") and alive(pid):
                        with open(f"/proc/{pid}/cmdline", "rb") as c:
                            found.append((pid, c.read()))
            except OSError:
                pass
        return found

    def check_gone(self, seconds=3.0):
        end = time.monotonic() + seconds
        while self.left() or self.directories():
            expect(time.monotonic() < end, f"still there after {seconds} s: {self.left()} {self.directories()}")
            self.pump(0.02)
        shm = glob.glob(f"/dev/shm/mlaunch-{os.getuid()}-{self.id}*")
        expect(not shm, f"left in /dev/shm: {shm}")


def sh(script):
    return ("sh", "-c", script)


# A parent that does not wait: the daemon's parent is gone, its session another one, its group too.
DAEMON = ("python3", "-c", """
import os, signal, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        null = os.open("/dev/null", os.O_RDWR)
        for fd in (0, 1, 2): os.dup2(null, fd)
        open(sys.argv[1], "w").write(str(os.getpid()))
        signal.pause()
    os._exit(0)
while not os.path.exists(sys.argv[1]) or not open(sys.argv[1]).read(): time.sleep(0.01)
print("up", flush=True)
if sys.argv[2] == "stay": signal.pause()
""")
SLEEPER = sh("echo up; exec sleep 1000")
POLITE = sh("trap 'echo term; exit 7' TERM; sleep 1000 & echo up; wait; wait")
STUBBORN = sh("trap '' TERM INT; echo up; while :; do sleep 1000; done")
# Each child in a session of its own, deaf to SIGTERM.
BROOD = ("python3", "-c", """
import os, signal
for i in range(1000):
    if os.fork() == 0:
        os.setsid()
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.pause()
print("up", flush=True)
signal.pause()
""")


def daemon(how):
    path = os.path.join(os.environ.get("T", "/tmp"), f"daemon.{os.getpid()}")
    if os.path.exists(path):
        os.unlink(path)
    return (*DAEMON, path, how), path


def up(agent, count):
    agent.until(lambda: sum(b"up" in v for v in agent.output.values()) >= count, f"{count} ranks say that they are up")


# ---- cases ----

def ranks():
    """three ranks: output intact, statuses, pids, EXITED after the last output, DONE, exit 0"""
    a = Agent()
    hello = a.wait(HELLO)
    expect(hello["build"] == a.build and alive(hello["pid"]), f"HELLO: {hello}")
    a.start(sh("echo out 0; echo err 0 >&2"), sh("echo out 1; exit 3"), sh("echo out 2; kill -SEGV $$"))
    expect(a.finish() == {"survivors": []}, "survivors")
    expect(a.output[0, 1] == b"out 0\n" and a.output[0, 2] == b"err 0\n", f"{a.output}")
    expect(a.exited[0]["status"] == 0 and a.exited[1]["status"] == 3 and a.exited[2]["signal"] == 11, f"{a.exited}")
    for rank in range(3):
        expect(a.exited[rank]["pid"] == a.pids[rank], "pids differ")
        expect(not a.exited[rank]["ended_by_us"] and not a.exited[rank]["consequence"], f"{a.exited}")
        said = [i for i, (k, p) in enumerate(a.frames) if k == OUTPUT and p[3] == rank and len(p) > 5]
        ended = [i for i, (k, p) in enumerate(a.frames) if k == EXITED and json.loads(p)["rank"] == rank]
        expect(max(said) < ended[0], f"rank {rank}: EXITED before its output")
    a.check_gone(0)


def build():
    """another build is refused before anything is read"""
    a = Agent("--build", "0123456789abcdef")
    a.wait_exit(94)
    expect(not a.frames, "it said something")


def by_hand():
    """a person at a terminal gets a sentence"""
    master, slave = os.openpty()
    p = subprocess.run([sys.argv[1]], stdin=slave, capture_output=True, text=True, timeout=10)
    os.close(master)
    expect(p.returncode == 125 and "mlaunch starts this program" in p.stderr, f"{p}")


def exec_errors():
    """programs that are not there, not executable, without an interpreter; a script without its first line"""
    t = os.environ.get("T", "/tmp")
    for name, mode, text in (("data", 0o644, "x"), ("script", 0o755, "echo script $1"),
                             ("orphan", 0o755, "#!/no/such/interpreter\n")):
        with open(f"{t}/{name}", "w") as f:
            f.write(text)
        os.chmod(f"{t}/{name}", mode)
    os.mkdir(f"{t}/closed", 0)  # of no effect on root
    a = Agent()
    a.start(("no-such-program",), ("/no/such/program",), (f"{t}/data",), (f"{t}/orphan",), (f"{t}/script", "arg"),
            ("./script", "x"), ("data",), cwd=t, env=[f"PATH={t}/closed:{t}:/usr/bin:/bin"])
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
    """what a rank finds in its environment, its directory, its stdin, its signals and descriptors"""
    os.umask(0o27)
    os.environ.update({"PMI_RANK": "7", "OMPI_COMM_WORLD_RANK": "9", "SLURM_PROCID": "4", "MINE": "kept"})
    a = Agent()
    a.start(("env",), sh("pwd; umask; ls -l /proc/self/fd | wc -l; grep -E 'SigIgn|SigBlk' /proc/self/status; "
                         "cat; ulimit -Sn"), cwd="/usr", env=["FROM=hostfile", "PATH=/usr/bin:/bin"])
    a.finish()
    env = dict(line.split("=", 1) for line in a.output[0, 1].decode().splitlines() if "=" in line)
    want = {"MLAUNCH_RANK": "0", "MLAUNCH_SIZE": "2", "MLAUNCH_LOCAL_RANK": "0", "MLAUNCH_LOCAL_SIZE": "2",
            "MLAUNCH_HOST_RANK": "0", "MLAUNCH_HOSTS": "1", "MLAUNCH_JOB": a.id, "MLAUNCH_BACKEND": "none",
            "RANK": "0", "WORLD_SIZE": "2", "OMPI_COMM_WORLD_RANK": "0", "MLX_RANK": "0", "MASTER_ADDR": "127.0.0.1",
            "FROM": "hostfile", "PWD": "/usr", "MINE": "kept"}
    expect(want.items() <= env.items(), f"missing or different: {want.items() - env.items()}")
    expect(not {"PMI_RANK", "SLURM_PROCID", "LD_PRELOAD"} & env.keys(), "an outer launcher's variables are left")
    lines = a.output[1, 1].decode().split("\n")
    expect(lines[0] == "/usr" and lines[1] == "0027", f"{lines}")
    expect(int(lines[2]) == 5, f"descriptors leak into ranks: {lines}")  # 0, 1, 2, ls's own, the total line
    # Signals 32 and 33 are the C library's own; a caller may have them ignored, and nobody can change it.
    expect(all(int(x.split()[1], 16) & ~(3 << 31) == 0 for x in lines[3:5]), f"signals: {lines}")
    import resource
    expect(lines[5] == str(resource.getrlimit(resource.RLIMIT_NOFILE)[0]), f"ulimit -n: {lines}")
    a.check_gone(0)


def directories():
    """a directory that is not there: home with a warning; one that was asked for: refused, nothing made"""
    a = Agent()
    ready = a.start(sh("pwd"), cwd="/no/such/dir")
    expect("no directory /no/such/dir: its ranks start in" in ready["warnings"][0], f"{ready}")
    a.finish()
    expect(a.output[0, 1].decode().strip() == os.path.realpath(os.environ["HOME"]), f"{a.output}")
    b = Agent()
    b.send(JOB, b.job(("true",), host_cwd="/no/such/dir"))
    refused = b.wait(REFUSED)
    expect("/no/such/dir: No such file" in refused["text"] and refused["status"] == 125, f"{refused}")
    b.wait_exit(0)
    b.check_gone(0)


def malformed():
    """frames and jobs that make no sense end the agent, or are refused in words"""
    for bad, word in (({"ranks": []}, "ranks"), ({"secret": "xyz"}, "secret"), ({"job": "../../etc"}, "job"),
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


def output():
    """4 × 30 MB through a window that the launcher keeps small, byte for byte"""
    n, size = 4, 30_000_000 // SLOW
    script = ("python3", "-c", "import sys\n"
              f"b = bytes(range(256)) * 256\nleft = {size}\n"
              "while left > 0: left -= sys.stdout.buffer.write(b[:left])\n")
    a = Agent(credit=False)
    a.start(*[script] * n)
    got = [0] * n
    acknowledged = 0
    pattern = bytes(range(256)) * 257

    def check():
        nonlocal acknowledged
        for kind, payload in a.frames:
            if kind == OUTPUT and payload[4] == 1 and len(payload) > 5:
                rank, bytes_ = payload[3], payload[5:]
                at = got[rank] % 256
                expect(bytes_ == (pattern * (len(bytes_) // 65536 + 1))[at:at + len(bytes_)], f"rank {rank}: torn")
                got[rank] += len(bytes_)
        a.frames = [f for f in a.frames if f[0] != OUTPUT]
        a.output.clear()
        expect(sum(got) - acknowledged <= WINDOW, f"{sum(got) - acknowledged} bytes on their way")
        if sum(got) > acknowledged:
            a.send(CREDIT, struct.pack(">I", sum(got) - acknowledged))
            acknowledged = sum(got)
        return DONE in a.kinds()
    a.until(check, "all output", 60 * SLOW)
    expect(got == [size] * n, f"{got} instead of {size} each")
    a.finish()


def blocked():
    """no credit: the ranks stop, the agent answers pings and stays small; credit: they go on"""
    a = Agent(credit=False)
    a.start(sh("yes"), sh("yes"))
    a.until(lambda: sum(map(len, a.output.values())) >= WINDOW, "a window of output")
    for i in range(3):
        a.frames = []
        a.send(PING)
        a.wait(PONG, 1 * SLOW)
    expect(sum(map(len, a.output.values())) == WINDOW, "more than the window allows")
    with open(f"/proc/{a.worker() if HELLO in a.kinds() else a.process.pid}/status") as f:
        rss = next(int(x.split()[1]) for x in f if x.startswith("VmRSS"))
    expect(rss < 40_000 * SLOW, f"{rss} kB resident")
    a.send(CREDIT, struct.pack(">I", WINDOW))
    a.until(lambda: sum(map(len, a.output.values())) >= WINDOW * 3 // 2, "more output after credit")
    a.credit = True
    a.send(CREDIT, struct.pack(">I", WINDOW))
    a.send(KILL)
    a.finish()
    expect(all(e["signal"] == 9 and e["ended_by_us"] for e in a.exited.values()), f"{a.exited}")
    a.check_gone(0)


def stdin():
    """input to a rank before and after it has started, its end; a rank that reads nothing harms nobody"""
    a = Agent()
    a.prepare(("cat",), ("sleep", "1000"), ("true",), stdin="all")
    data = os.urandom(200_000)
    for rank in range(3):
        a.send(STDIN, struct.pack(">I", rank) + data)
    a.until(lambda: a.taken.get(0, 0) == len(data), "rank 0 has taken all")
    a.send(STDIN, struct.pack(">I", 0) + b"last")
    a.send(STDIN, struct.pack(">I", 0))
    a.until(lambda: 0 in a.exited and 2 in a.exited, "cat and true have ended")
    expect(a.output[0, 1] == data + b"last", "input is not what was sent")
    a.until(lambda: a.taken.get(2, 0) == len(data), "what nobody will read counts as taken")
    a.send(STDIN, struct.pack(">I", 2) + b"late")
    a.until(lambda: a.taken[2] == len(data) + 4, "after the rank's end too")
    expect(a.taken.get(1, 0) <= 1 << 17, "a rank that reads nothing has taken more than a pipe holds")
    a.send(KILL)
    a.finish()
    a.check_gone(0)


def grandchild():
    """a grandchild that holds the pipe does not delay EXITED; what it writes later still comes; it ends with the job"""
    a = Agent()
    a.start(sh("(read x < /dev/zero; sleep 1000) & (echo later >&2; exec sleep 1000) & echo up"), SLEEPER)
    a.until(lambda: 0 in a.exited, "rank 0 has ended", 5 * SLOW)
    expect(a.output[0, 1] == b"up\n", f"{a.output}")
    a.until(lambda: a.output.get((0, 2)) == b"later\n", "what was written later")
    a.send(STOP, struct.pack(">II", signal.SIGTERM, 2000))
    a.finish()
    a.check_gone(0)


def ladder():
    """STOP: SIGINT, SIGTERM at half the grace, SIGKILL at its end; who had ended before was not ended by us"""
    a = Agent()
    a.start(sh("exit 0"), sh("trap 'echo int; exit 5' INT; echo up; while :; do sleep 0.05; done"),
            sh("trap '' INT; trap 'echo term; exit 6' TERM; echo up; while :; do sleep 0.05; done"), STUBBORN)
    up(a, 3)
    a.until(lambda: 0 in a.exited, "rank 0 has ended")
    begin = time.monotonic()
    a.send(STOP, struct.pack(">II", signal.SIGINT, 1200))
    a.until(lambda: 1 in a.exited, "the polite rank", 0.9 * SLOW)
    a.until(lambda: 2 in a.exited, "the one that needs SIGTERM", 1.4 * SLOW)
    expect(time.monotonic() - begin > 0.5, "SIGTERM came too early")
    done = a.wait(DONE, 3 * SLOW)
    expect(time.monotonic() - begin > 1.1, "SIGKILL came too early")
    expect(a.exited[1].get("status") == 5 and a.exited[2].get("status") == 6 and a.exited[3].get("signal") == 9, f"{a.exited}")
    expect([a.exited[r]["ended_by_us"] for r in range(4)] == [False, True, True, True], f"{a.exited}")
    expect(done == {"survivors": []}, f"{done}")
    a.finish()
    a.check_gone(0)


def stop_early():
    """STOP before START: DONE at once; STOP while many are being started: no more are"""
    a = Agent()
    a.send(JOB, a.job(SLEEPER))
    a.wait(READY)
    a.send(STOP, struct.pack(">II", signal.SIGTERM, 5000))
    a.finish()
    expect(not a.pids, "something was started")
    b = Agent()
    b.prepare(*[SLEEPER] * 200)
    b.until(lambda: len(b.pids) > 0, "the first rank")
    b.send(KILL)
    b.finish()
    expect(b.pids.keys() == b.exited.keys(), "ranks without an EXITED")
    b.check_gone(0)


def stopped():
    """ranks stopped by SIGSTOP get SIGTERM and end; PAUSE and RESUME stop and continue"""
    a = Agent()
    a.start(POLITE, SLEEPER)
    up(a, 2)

    def state(pid):
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rsplit(")", 1)[1].split()[0]
    a.send(PAUSE)
    wait_for(lambda: all(state(p) == "T" for p in a.pids.values()), 2 * SLOW, "ranks stopped")
    a.send(RESUME)
    wait_for(lambda: all(state(p) != "T" for p in a.pids.values()), 2 * SLOW, "ranks go on")
    for pid in a.pids.values():
        os.kill(pid, signal.SIGSTOP)
    a.send(STOP, struct.pack(">II", signal.SIGTERM, 2000 * SLOW))
    a.finish()
    expect(a.exited[0].get("status") == 7 and a.exited[1].get("signal") == 15, f"{a.exited}")
    a.check_gone(0)


def daemon_left():
    """a daemon left behind, deaf to SIGTERM and in a session of its own, is gone when the job ends"""
    program, path = daemon("leave")
    a = Agent()
    a.start(program, grace_ms=500)
    done = a.finish()
    expect(a.exited[0]["status"] == 0 and done == {"survivors": []}, f"{a.exited} {done}")
    with open(path) as f:
        expect(not alive(int(f.read())), "the daemon is alive")
    a.check_gone(0)


def zoo():
    """ranks that are hard to end: a daemon, one deaf to SIGTERM, a stopped one, 1,000 children in 1,000 sessions"""
    program, path = daemon("stay")
    return (program, SLEEPER, STUBBORN, BROOD), path


def end_by(how):
    programs, path = zoo()
    a = Agent()
    a.start(*programs)
    up(a, 4)
    os.kill(a.pids[1], signal.SIGSTOP)
    expect(len(a.left()) > 1000, "the test's processes are not there")
    with open(path) as f:
        pid = int(f.read())
    how(a)
    a.check_gone(3.0 * SLOW)
    expect(not alive(pid), "the daemon is alive")
    return a


def kill_all():
    """KILL ends them all, 1,000 children in sessions of their own included"""
    a = end_by(lambda a: a.send(KILL))
    expect(a.finish() == {"survivors": []}, "survivors")


def channel_end():
    """the channel's end: everything is gone within 3 s"""
    a = end_by(lambda a: a.close())
    a.wait_exit(1)


def worker_killed():
    """the worker is killed with SIGKILL: everything is gone within 3 s, with a sentence"""
    a = end_by(lambda a: os.kill(a.worker(), signal.SIGKILL))
    a.wait_exit(125)
    expect("worker (pid" in a.stderr() and "killed by signal 9" in a.stderr(), a.stderr())


def guard_killed():
    """the guard is killed with SIGKILL: everything is gone within 3 s, LOST says it, DONE follows"""
    a = end_by(lambda a: a.process.kill())
    expect("guard process" in a.wait(LOST)["text"], f"{a.frames[-5:]}")
    a.wait(DONE)
    worker = a.worker()
    a.send(BYE)
    wait_for(lambda: not alive(worker), 3 * SLOW, "the worker's end")


def worker_stopped():
    """a worker that was stopped when the channel ended: its guard does its work"""
    a = Agent()
    program, path = daemon("stay")
    a.start(program, STUBBORN)
    up(a, 2)
    worker = a.worker()
    os.kill(worker, signal.SIGSTOP)
    a.close()
    a.check_gone(3.0 * SLOW)
    a.wait_exit(125)


def terminated():
    """SIGTERM to the worker ends the job politely; signals of terminals and lost connections are nothing to it"""
    a = Agent()
    a.start(POLITE)
    up(a, 1)
    for pid in (a.worker(), a.process.pid):
        for number in (signal.SIGINT, signal.SIGHUP, signal.SIGPIPE, signal.SIGTSTP, signal.SIGQUIT):
            os.kill(pid, number)
    a.send(PING)
    a.wait(PONG)
    os.kill(a.worker(), signal.SIGTERM)
    a.wait(LOST)
    a.wait(DONE)
    expect(a.exited[0]["status"] == 7, f"{a.exited}")
    a.send(BYE)
    a.wait_exit(None)
    a.check_gone(0)


def survivor():
    """a rank that became another user's can't be ended: DONE names it, and the job ends all the same"""
    if os.getuid() != 0:
        return  # only root can make such a program
    with tempfile.TemporaryDirectory() as t:
        os.chmod(t, 0o755)
        python = shutil.copy(os.path.realpath(sys.executable), f"{t}/python")
        os.chmod(python, 0o4755)
        a = Agent(wrap=("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"))
        a.start((python, "-c", "import os, signal; os.setuid(0); print('up', flush=True); signal.pause()"), SLEEPER,
                env=["PYTHONHOME=" + sys.base_prefix])
        a.until(lambda: a.output.get((0, 1)) or 0 in a.exited, "the rank's word")
        if 0 in a.exited:
            return  # no set-user-ID programs on this file system, or a python that can't be copied
        begin = time.monotonic()
        a.send(KILL)
        done = a.wait(DONE)
        pid = a.pids[0]
        expect([s["pid"] for s in done["survivors"]] == [pid], f"{done}")
        expect("runs as another user (uid 0)" in done["survivors"][0]["text"], f"{done}")
        expect(time.monotonic() - begin < 3 * SLOW, "that took long")
        expect(a.exited[0]["signal"] == 9 and a.exited[1]["signal"] == 9, f"{a.exited}")
        a.send(BYE)
        try:
            a.process.wait(timeout=5 * SLOW)
        finally:
            os.kill(pid, signal.SIGKILL)
        expect(not glob.glob(f"/tmp/mlaunch-65534/{a.id}.*"), "its directory is left")


def silence():
    """10 s without a frame is the channel's end; not while a pause was announced"""
    a, b = Agent(), Agent()
    a.start(SLEEPER)
    b.start(SLEEPER)
    b.send(PAUSE)
    wait_for(lambda: a.pump(0.05) or a.at_eof, 15, "the agent's end")
    a.wait_exit(1)
    a.check_gone(0)
    expect(b.process.poll() is None and b.left(), "the paused one has ended too")
    b.send(KILL)
    b.finish()


def shm():
    """segments that ranks left in /dev/shm are removed, others' are not"""
    a = Agent()
    name = f"/dev/shm/mlaunch-{os.getuid()}-{a.id}"
    other = f"{name}.1.g0-other"
    open(other, "w").close()
    a.start(sh(f"touch {name}.0.g0-1"))
    a.finish()
    expect(os.path.exists(other), "another host's segment is gone")
    os.unlink(other)
    a.check_gone(0)


def broken():
    """the mark that a rank's runtime had reported a dead peer comes through as consequence"""
    a = Agent()
    a.start(sh("touch $MLAUNCH_JOB_DIR/rank.0.broken; exit 1"), sh("exit 1"),
            sh("printf 'rank 1\\nis gone' > $MLAUNCH_JOB_DIR/rank.2.broken; exit 1"),
            sh("printf '\\377' > $MLAUNCH_JOB_DIR/rank.3.broken; exit 1"),
            sh("mkfifo $MLAUNCH_JOB_DIR/rank.4.broken; exit 1"))
    a.finish()
    expect([a.exited[i]["consequence"] for i in range(5)] == [True, False, True, True, True], f"{a.exited}")
    expect([a.exited[i].get("lost") for i in range(5)] == [None, None, "rank 1 is gone", None, None], f"{a.exited}")


def leaderless():
    """a rank whose first thread has ended while others run looks like a zombie, and is ended all the same"""
    a = Agent()
    a.start(("python3", "-c", "import ctypes, threading, time\n"
             "threading.Thread(target=lambda: (print('up', flush=True), time.sleep(1000))).start()\n"
             "ctypes.CDLL(None).pthread_exit(None)"))
    up(a, 1)
    with open(f"/proc/{a.pids[0]}/stat") as f:
        wait_for(lambda: f.seek(0) == 0 and ") Z " in f.read(), 5 * SLOW, "the first thread's end")
    a.send(STOP, struct.pack(">II", signal.SIGTERM, 3000))
    expect(a.finish() == {"survivors": []} and a.exited[0]["ended_by_us"], f"{a.exited}")


def core():
    """EXITED names the core file, if the system writes one where it can be found"""
    with open("/proc/sys/kernel/core_pattern") as f:
        if f.read(1) == "|":
            return
    t = os.environ.get("T", "/tmp")
    a = Agent()
    a.start(sh("ulimit -c unlimited; kill -SEGV $$"), cwd=t)
    a.finish()
    if a.exited[0]["core"]:
        expect(os.path.exists(a.exited[0]["core_file"]), f"{a.exited}")
        os.unlink(a.exited[0]["core_file"])


def chaos():
    """random faults at random moments of start, run and stop: 20 (200 in check-long), and never anything left"""
    seed = random.randrange(1 << 32)
    dice = random.Random(seed)
    crowd = ("python3", "-c", "import os, signal, sys, time\n"
             "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
             "for i in range(20):\n"
             "    if os.fork() == 0: os.setsid(); os.fork(); print('up'); time.sleep(1000)\n"
             "    time.sleep(0.005)\n"
             "time.sleep(1000)")
    rounds = 200 if os.environ.get("MLAUNCH_TEST_LONG") else 20
    for i in range(rounds):
        a = Agent()
        worker = a.worker()
        a.send(JOB, a.job(crowd, SLEEPER, STUBBORN, ("true",), *[SLEEPER] * dice.randrange(30), grace_ms=300))
        fault = dice.choice(("close", "worker", "guard", "kill", "stop", "stop and close", "stop and worker"))
        moment = dice.random() * 0.3
        try:
            a.send(START, {"coordinator": ""})
            end = time.monotonic() + moment
            while time.monotonic() < end:
                a.pump(0.001)
            if "stop" in fault:
                a.send(STOP, struct.pack(">II", signal.SIGTERM, 100))
                a.pump(dice.random() * 0.15)
            if "close" in fault:
                a.close()
            elif "worker" in fault:
                os.kill(worker, signal.SIGKILL)
            elif fault == "guard":
                a.process.kill()
            elif fault == "kill":
                a.send(KILL)
            a.check_gone(3.0 * SLOW)
            if not a.at_eof and fault in ("kill", "stop"):
                a.finish()
            a.close()
            a.process.wait(timeout=5 * SLOW)
            wait_for(lambda: not alive(worker), 3 * SLOW, "the worker's end")
        except (Failure, subprocess.TimeoutExpired) as failure:
            raise Failure(f"seed {seed}, round {i}, {fault} after {moment:.3f} s: {failure}") from failure


def many():
    """256 and 1,024 ranks of true"""
    for n in (256, 1024):
        if SLOW > 1 and n > 256:
            continue
        a = Agent()
        a.prepare(*[("true",)] * n)
        a.wait(DONE, 60 * SLOW)
        expect(len(a.exited) == n and all(e.get("status") == 0 for e in a.exited.values()), f"{len(a.exited)} of {n}")
        a.finish()
        a.check_gone(0)


def bind():
    """--bind-to core binds each rank to one core's CPUs"""
    a = Agent()
    a.send(JOB, a.job(*[sh("grep Cpus_allowed_list /proc/self/status")] * 2, bind="core"))
    a.until(lambda: READY in a.kinds() or REFUSED in a.kinds(), "an answer")
    if REFUSED in a.kinds():
        expect("hwloc" in a.wait(REFUSED)["text"], f"{a.frames}")
        return
    a.send(START, {"coordinator": ""})
    a.finish()
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) > 1:
        expect(a.output[0, 1] != a.output[1, 1], f"{a.output}")


def main():
    if len(sys.argv) == 2 and sys.argv[1] == "--list":
        skip = {"expect", "wait_for", "alive", "sh", "daemon", "up", "zoo", "end_by", "main"}
        for name, thing in list(globals().items()):
            if callable(thing) and getattr(thing, "__doc__", None) and name not in skip and name[0].islower():
                print(f"{name} {thing.__doc__}")
        return 0
    try:
        globals()[sys.argv[2]]()
    except Failure as failure:
        print(failure)
        return 1
    return 0


sys.exit(main())
