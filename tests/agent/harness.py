# SPDX-License-Identifier: MIT
"""harness.py: an agent under test and the launcher's side of its protocol, for drive.py's cases."""
import glob
import json
import os
import re
import select
import signal
import socket
import struct
import subprocess
import sys
import time

HEADER = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                      "../../launcher/wire/protocol/agent_protocol.h")


def enumerators(path):
    """The constants of a header's enums, by name."""
    with open(path) as f:
        text = re.sub(r"/\*.*?\*/", "", f.read(), flags=re.S)
    values = {}
    for body in re.findall(r"enum[^{;]*\{(.*?)\}", text, re.S):
        value = -1
        for name, given in re.findall(r"(\w+)\s*(?:=([^,]*))?", body):
            value = eval(" ".join(given.split()), {}, values) if given.strip() else value + 1
            values[name] = value
    return values


PROTOCOL = enumerators(HEADER)
# HELLO is AGENT_HELLO, JOB is LAUNCH_JOB, and so on.
globals().update({name.split("_", 1)[1]: value for name, value in PROTOCOL.items()})
WINDOW = PROTOCOL["AGENT_OUTPUT_WINDOW"]
EXTRA = PROTOCOL["AGENT_OUTPUT_EXTRA"]
SLOW = 5 if os.environ.get("SANITIZE", "no") != "no" else 1
# Seconds after which something does not happen any more. They end a hang only: on a busy machine
# all may take long, and what happens is what is judged.
HANG_S = 180
BEAT_S = 2


class Failure(Exception):
    pass


def expect(condition, text):
    if not condition:
        raise Failure(text)


def wait_for(what, text):
    """Polls; for what has no event to wait for, such as the end of somebody else's process."""
    end = time.monotonic() + HANG_S
    while not what():
        expect(time.monotonic() < end, f"not within {HANG_S} s: {text}")
        select.select([], [], [], 0.01)


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


class Agent:
    all = []  # that this program has started
    beat_at = time.monotonic() + BEAT_S

    def __init__(self, *args, build=True, credit=True, wrap=()):
        ours, theirs = socket.socketpair()
        path = sys.argv[1]
        version = subprocess.run([path, "--version"], capture_output=True, text=True,
                                 check=True).stdout
        self.build = version.split("(")[1].split(")")[0]
        if build and not args:
            args = ("--build", self.build)
        self.stderr_path = os.path.join(os.environ.get("T", "/tmp"), f"agent-stderr.{os.getpid()}")
        with open(self.stderr_path, "wb") as err:
            self.process = subprocess.Popen([*wrap, path, *args], stdin=theirs, stdout=theirs,
                                            stderr=err)
        theirs.close()
        self.socket = ours
        self.id = f"t{os.getpid()}-{id(self) & 0xffff:x}"
        self.data = b""
        self.frames = []
        self.output = {}
        self.cost = 0  # all OUTPUT so far, in bytes of the window
        self.exited = {}
        self.pids = {}
        self.taken = {}
        self.credit = credit
        self.at_eof = False
        self.beats = 0  # that are not answered yet
        self.has_spoken = False
        Agent.all.append(self)

    def send(self, kind, payload=b""):
        if isinstance(payload, dict):
            payload = json.dumps(payload).encode()
        self.has_spoken = True
        try:
            self.socket.sendall(struct.pack(">IBBH", len(payload), 1, kind, 0) + payload)
        except OSError:
            if kind not in (BYE, CREDIT, PING):  # the agent may have ended, after DONE
                raise

    def note(self, kind, payload):
        """What most cases want to know of a frame is kept; the rest goes to self.frames."""
        if kind == OUTPUT:
            rank, stream = struct.unpack(">IB", payload[:5])
            self.output[rank, stream] = self.output.get((rank, stream), b"") + payload[5:]
            if payload[5:]:
                cost = len(payload) - 5 + EXTRA
                self.cost += cost
                if self.credit:
                    self.send(CREDIT, struct.pack(">I", cost))
        elif kind == PONG and self.beats:
            self.beats -= 1
            return
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

    @staticmethod
    def beat():
        """Pings all agents if it is time to, like mlaunch, because they end at 10 s of silence."""
        if time.monotonic() < Agent.beat_at:
            return
        Agent.beat_at = time.monotonic() + BEAT_S
        for a in Agent.all:
            if a.has_spoken and not a.at_eof:
                a.beats += 1
                a.send(PING)

    def until(self, what, text):
        end = time.monotonic() + HANG_S
        while not what():
            left = end - time.monotonic()
            Agent.beat()
            expect(left > 0, f"not within {HANG_S} s: {text}; frames {self.kinds()[-20:]} "
                             f"exited {self.exited} stderr {self.stderr()!r}")
            self.pump(min(left, 0.2))

    def kinds(self):
        return [k for k, _ in self.frames]

    def wait(self, kind):
        """The first frame of this kind, as JSON if it is."""
        self.until(lambda: kind in self.kinds() or self.at_eof, f"frame {kind}")
        expect(kind in self.kinds(),
               f"the agent ended without frame {kind}: {self.kinds()} {self.stderr()!r}")
        payload = next(p for k, p in self.frames if k == kind)
        return json.loads(payload) if payload[:1] == b"{" else payload

    def stderr(self):
        with open(self.stderr_path, "rb") as f:
            return f.read().decode(errors="replace")

    def job(self, *programs, **more):
        """A job on one host; programs: an argv for each rank."""
        n = len(programs)
        message = {
            "job": self.id, "restart": 0, "restarts": 0, "keep": 1, "fold_ms": 0,
            "secret": "ab" * 32,
            "size": n, "hosts": 1, "host": 0, "host_name": "here",
            "host_names": ["here"], "host_of": [0] * n, "backend": "none", "local_net": False,
            "secure": False,
            "compat": True,
            "bind_ip": "", "peer": "", "port": 0, "starting_port": 0, "init_timeout_ms": 60000,
            "stall_ms": 30000, "grace_ms": 5000, "signal_children": False,
            "stop_signal": "none", "elastic": 0, "replace_wait_ms": 10000,
            "eager": False, "flight_recorder": False,
            "command": "test", "buffer": "line", "mpi": "auto",
            "stdin": "none", "stdin_rank": 0, "env": [], "cwd": "/",
            "host_cwd": "",
            "prolog": "",
            "tmpdir": "",
            "mount": "",
            "container": "",
            "epilog": "",
            "name": "",
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

    def again(self):
        """After DONE, up to the next HELLO."""
        for past in (self.frames, self.exited, self.pids):
            past.clear()
        self.send(AGAIN)
        self.wait(HELLO)

    def finish(self):
        """To the orderly end; returns DONE."""
        done = self.wait(DONE)
        self.send(BYE)
        self.wait_exit(0)
        return done

    def wait_exit(self, status):
        got = self.process.wait(timeout=HANG_S)
        expect(status is None or got == status,
               f"the agent's status is {got}, not {status}: {self.stderr()!r}")
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

    def check_gone(self, seconds=HANG_S):
        end = time.monotonic() + seconds
        while self.left() or self.directories():
            expect(time.monotonic() < end,
                   f"still there after {seconds} s: {self.left()} {self.directories()}")
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
    agent.until(lambda: sum(b"up" in v for v in agent.output.values()) >= count,
                f"{count} ranks say that they are up")


def zoo():
    """ranks that are hard to end: a daemon, one deaf to SIGTERM, one stopped, 1,000 sessions"""
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
    a.check_gone()
    # A process that is about to end has no environment any more, by which left() finds it.
    wait_for(lambda: not alive(pid), "the daemon's end")
    return a
