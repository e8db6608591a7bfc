# SPDX-License-Identifier: MIT
"""stdio_cases.py: the ranks' standard input and output. Each function is a case."""
import os
import signal
import struct
import sys

from harness import *


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
                expect(bytes_ == (pattern * (len(bytes_) // 65536 + 1))[at:at + len(bytes_)],
                       f"rank {rank}: torn")
                got[rank] += len(bytes_)
        a.frames = [f for f in a.frames if f[0] != OUTPUT]
        a.output.clear()
        expect(a.cost - acknowledged <= WINDOW, f"{a.cost - acknowledged} bytes on their way")
        if a.cost > acknowledged:
            a.send(CREDIT, struct.pack(">I", a.cost - acknowledged))
            acknowledged = a.cost
        return DONE in a.kinds()
    a.until(check, "all output")
    expect(got == [size] * n, f"{got} instead of {size} each")
    a.finish()


def blocked():
    """no credit: the ranks stop, the agent answers pings and stays small; credit: they go on"""
    a = Agent(credit=False)
    a.start(sh("yes"), sh("yes"))
    a.until(lambda: a.cost >= WINDOW - EXTRA, "a window of output")
    for i in range(3):
        a.frames = []
        a.send(PING)
        a.wait(PONG)
    expect(a.cost <= WINDOW, "more than the window allows")
    with open(f"/proc/{a.worker() if HELLO in a.kinds() else a.process.pid}/status") as f:
        rss = next(int(x.split()[1]) for x in f if x.startswith("VmRSS"))
    expect(rss < 40_000 * SLOW, f"{rss} kB resident")
    a.send(CREDIT, struct.pack(">I", WINDOW))
    a.until(lambda: a.cost >= WINDOW * 3 // 2, "more output after credit")
    a.credit = True
    a.send(CREDIT, struct.pack(">I", WINDOW))
    a.send(KILL)
    a.finish()
    expect(all(e["signal"] == 9 and e["ended_by_us"] for e in a.exited.values()), f"{a.exited}")
    a.check_gone(0)


def stdin():
    """input to a rank before and after its start, and its end; a rank that reads nothing"""
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
    expect(a.taken.get(1, 0) <= 1 << 17,
           "a rank that reads nothing has taken more than a pipe holds")
    a.send(KILL)
    a.finish()
    a.check_gone(0)


def stdin_of_all():
    """input that is sent once for all ranks of a host, of which one has ended"""
    a = Agent()
    a.start(("cat",), ("true",), ("cat",), stdin="all")
    a.until(lambda: 1 in a.exited, "true has ended")
    data, every = os.urandom(100_000), struct.pack(">I", 0xffffffff)
    a.send(STDIN, every + data)
    a.until(lambda: [a.taken.get(r, 0) for r in range(3)] == [len(data)] * 3, "all is taken")
    a.send(STDIN, every)
    a.until(lambda: 0 in a.exited and 2 in a.exited, "both cats have ended")
    expect(a.output[0, 1] == data and a.output[2, 1] == data, "input is not what was sent")
    a.finish()
    a.check_gone(0)


def grandchild():
    """a grandchild with the pipe: no delay of EXITED, later output, its end with the job"""
    a = Agent()
    a.start(sh("(read x < /dev/zero; sleep 1000) & (echo later >&2; exec sleep 1000) & echo up"),
            SLEEPER)
    a.until(lambda: 0 in a.exited, "rank 0 has ended")
    expect(a.output[0, 1] == b"up\n", f"{a.output}")
    a.until(lambda: a.output.get((0, 2)) == b"later\n", "what was written later")
    a.send(STOP, struct.pack(">II", signal.SIGTERM, 2000))
    a.finish()
    a.check_gone(0)


def terminal():
    """a rank with a terminal: its size, a size that there isn't, the typed end, one stream"""
    a = Agent()
    pty = {"rank": 0, "rows": 7, "columns": 65535, "term": "xterm"}
    a.start(("python3", "-c", """
import os, sys
print(*os.get_terminal_size(), os.environ["TERM"], flush=True)
sys.stdin.readline()
print(*os.get_terminal_size(), file=sys.stderr, flush=True)
print(repr(sys.stdin.read()))
"""), stdin="rank", pty=pty)
    a.until(lambda: b"65535 7 xterm\r\n" in a.output.get((0, 1), b""), "the first size")
    for size in ((0, 80), (24, 0), (65536, 80), (24, 1 << 31), (33, 101), (34, 65536)):
        a.send(RESIZE, struct.pack(">II", *size))
    a.send(STDIN, struct.pack(">I", 0) + b"line\nrest")
    a.until(lambda: b"101 33\r\n" in a.output[0, 1], "the last size that is one")
    a.send(STDIN, struct.pack(">I", 0))
    a.until(lambda: 0 in a.exited, "the rank has seen the end of its input")
    expect(b"'rest'" in a.output[0, 1], f"{a.output}")
    expect(not a.output.get((0, 2)), "standard error is a stream of its own")
    a.finish()
    a.check_gone(0)


def resize_malformed():
    """a RESIZE that is too short ends the channel"""
    a = Agent()
    a.start(SLEEPER, pty={"rank": 0, "rows": 24, "columns": 80, "term": ""})
    a.send(RESIZE, struct.pack(">I", 24))
    a.wait_exit(1)
    a.check_gone()
