# SPDX-License-Identifier: MIT
"""fault_cases.py: an agent, its guard or its channel fails. Each function is a case."""
import os
import random
import signal
import struct
import subprocess
import time

from harness import *


def channel_end():
    """the channel's end ends everything; the worker does it, at the latest in five attempts"""
    is_late = channel_closed(end_by(lambda a: a.close()))
    for _ in range(4):
        if not is_late:
            return
        a = Agent()
        a.start(SLEEPER)
        up(a, 1)
        a.close()
        a.check_gone()
        is_late = channel_closed(a)
    expect(not is_late, "the worker was killed each time")


def channel_closed(a):
    """True: the guard killed the worker, as that was slow, or the machine too busy."""
    a.wait_exit(None)
    expect("has been silent" not in a.stderr(), a.stderr())
    is_late = "killed by signal 9 (Killed); its ranks are ended" in a.stderr()
    expect(a.process.returncode == (125 if is_late else 1), a.stderr())
    return is_late


def worker_killed():
    """the worker is killed with SIGKILL: its guard ends everything, with a sentence"""
    a = end_by(lambda a: os.kill(a.worker(), signal.SIGKILL))
    a.wait_exit(125)
    expect("worker (pid" in a.stderr() and "killed by signal 9" in a.stderr(), a.stderr())


def guard_killed():
    """the guard is killed with SIGKILL: the worker ends all, LOST says so, DONE follows"""
    a = end_by(lambda a: a.process.kill())
    expect("guard process" in a.wait(LOST)["text"], f"{a.frames[-5:]}")
    a.wait(DONE)
    worker = a.worker()
    a.send(BYE)
    wait_for(lambda: not alive(worker), "the worker's end")


def farewell():
    """after DONE the guard removes the directory, and if it is killed before, the worker does"""
    of_two = {"hosts": 2, "host_names": ["here", "there"], "bind_ip": "127.0.0.1"}
    a, b, c = Agent(), Agent(), Agent()
    a.start(SLEEPER)
    a.send(KILL)
    a.wait(DONE)
    a.wait_exit(0)  # the only host's needs no BYE
    a.check_gone(0)
    b.start(SLEEPER, **of_two)
    b.send(KILL)
    b.wait(DONE)
    b.check_gone()
    expect(alive(b.worker()), "the worker did not wait for BYE")
    b.finish()
    c.start(SLEEPER, **of_two)
    c.process.send_signal(signal.SIGSTOP)
    c.send(KILL)
    c.wait(DONE)
    expect(c.directories(), "the worker has removed the directory")
    c.process.kill()
    c.check_gone()
    wait_for(lambda: not alive(c.worker()), "the worker's end")


def again():
    """--restarts: AGAIN after DONE: the next JOB finds what ranks have kept, and nothing else"""
    of_two = {"hosts": 2, "host_names": ["here", "there"], "bind_ip": "127.0.0.1", "restarts": 9}
    a = Agent()
    a.start(SLEEPER, **of_two)
    [place] = a.directories()
    stem = f"/dev/shm/mlaunch-{os.getuid()}-{os.path.basename(place)}."
    kept, other = stem + "keep.0.0.x", stem + "other"
    for path in (kept, other, place + "/rank.0.broken"):
        with open(path, "w"):
            pass
    a.send(KILL)
    a.wait(DONE)
    for _ in range(30):  # more than the socket to the guard has room for
        a.again()
        a.start(SLEEPER, **of_two)
        expect(a.directories() == [place], f"{a.directories()} instead of {place}")
        expect(not os.path.exists(other) and os.listdir(place).count("rank.0.broken") == 0,
               "more than what was kept has stayed")
        expect(os.path.exists(kept), "what was kept is gone")
        a.send(KILL)
        a.wait(DONE)
    a.finish()
    a.check_gone()
    expect(not os.path.exists(kept), "what was kept is left after the job")
    # Another job's JOB gets neither the directory nor what is in it.
    b = Agent()
    b.start(SLEEPER, **of_two)
    b.send(KILL)
    b.wait(DONE)
    b.again()
    b.send(JOB, dict(b.job(SLEEPER, **of_two), job="1another-000000"))
    expect("is another one" in b.wait(REFUSED)["text"], f"{b.frames[-3:]}")
    b.check_gone()
    # While ranks run it is no valid frame.
    c = Agent()
    c.start(SLEEPER, **of_two)
    c.send(AGAIN)
    c.check_gone()
    c.wait_exit(1)


def late():
    """after DONE a QUERY is answered; a second JOB or START is no valid frame"""
    of_two = {"hosts": 2, "host_names": ["here", "there"], "bind_ip": "127.0.0.1"}
    a = Agent()
    a.start(SLEEPER, **of_two)
    a.send(KILL)
    a.wait(DONE)
    a.send(QUERY, {"what": "list", "job": a.id, "host": 0, "ask": 7})
    expect(a.wait(ANSWER)["ask"] == 7, f"{a.frames[-3:]}")
    a.finish()
    a.check_gone()
    for kind, payload in ((JOB, a.job(SLEEPER)), (START, {"coordinator": ""})):
        b = Agent()
        b.start(SLEEPER)
        b.send(kind, payload)
        b.check_gone()
        b.wait_exit(1)


def worker_stopped():
    """a worker that was stopped when the channel ended: its guard does its work"""
    a = Agent()
    program, path = daemon("stay")
    a.start(program, STUBBORN)
    up(a, 2)
    worker = a.worker()
    os.kill(worker, signal.SIGSTOP)
    a.close()
    a.check_gone()
    a.wait_exit(125)


def silence():
    """10 s without a frame end the channel; not in a pause, before JOB, or without any frame"""
    a, b, early, done, unheard = (Agent() for _ in range(5))
    unheard.wait(HELLO)
    early.wait(HELLO)
    early.send(PAUSE)
    done.start(sh("exit 0"), hosts=2, host_names=["here", "there"], host_of=[0])
    done.wait(DONE)
    done.send(PAUSE)
    a.start(SLEEPER)
    b.start(SLEEPER)
    b.send(PAUSE)
    wait_for(lambda: a.pump(0.05) or a.at_eof, "the agent's end")
    a.wait_exit(1)
    a.check_gone(0)
    expect(b.process.poll() is None and b.left(), "the paused one has ended too")
    b.send(KILL)
    b.finish()
    early.send(RESUME)
    early.start(sh("exit 0"))
    early.finish()
    unheard.start(sh("exit 0"))
    unheard.finish()
    done.send(RESUME)
    done.finish()


def chaos():
    """20 (200 in check-long) random faults at random moments; never anything left"""
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
        a.prepare(crowd, SLEEPER, STUBBORN, ("true",), *[SLEEPER] * dice.randrange(30),
                  grace_ms=300)
        fault = dice.choice(("close", "worker", "guard", "kill", "stop", "stop and close",
                             "stop and worker"))
        moment = dice.random() * 0.3
        try:
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
            a.check_gone()
            if not a.at_eof and fault in ("kill", "stop"):
                a.finish()
            a.close()
            a.process.wait(timeout=HANG_S)
            wait_for(lambda: not alive(worker), "the worker's end")
        except (Failure, subprocess.TimeoutExpired) as failure:
            raise Failure(f"seed {seed}, round {i}, {fault} after {moment:.3f} s: "
                          f"{failure}") from failure
        except OSError as failure:  # the agent has ended before it should
            raise Failure(f"seed {seed}, round {i}, {fault} after {moment:.3f} s: {failure}; "
                          f"the agent: {a.process.poll()}, {a.stderr()!r}") from failure
