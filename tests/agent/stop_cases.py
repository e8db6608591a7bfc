# SPDX-License-Identifier: MIT
"""stop_cases.py: how ranks are ended, and how that is reported. Each function is a case."""
import glob
import os
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

from harness import *


def ladder():
    """STOP: SIGINT, SIGTERM at half the grace, SIGKILL at its end; an earlier end is not ours"""
    # A busy machine may leave ranks no time to answer within a short grace.
    for grace_ms in (1200, 6000, 30000):
        try:
            return climb(grace_ms)
        except Failure:
            if grace_ms == 30000:
                raise


def climb(grace_ms):
    a = Agent()
    a.start(sh("exit 0"), sh("trap 'echo int; exit 5' INT; echo up; while :; do sleep 0.05; done"),
            sh("trap '' INT; trap 'echo term; exit 6' TERM; echo up; while :; do sleep 0.05; done"),
            STUBBORN)
    up(a, 3)
    a.until(lambda: 0 in a.exited, "rank 0 has ended")
    begin = time.monotonic()
    a.send(STOP, struct.pack(">II", signal.SIGINT, grace_ms))
    a.until(lambda: 2 in a.exited, "the one that needs SIGTERM")
    expect(1 in a.exited and 3 not in a.exited, f"not in their order: {a.exited}")
    expect(time.monotonic() - begin > 0.4 * grace_ms / 1000, "SIGTERM came too early")
    done = a.wait(DONE)
    expect(time.monotonic() - begin > 0.9 * grace_ms / 1000, "SIGKILL came too early")
    expect(a.exited[1].get("status") == 5 and a.exited[2].get("status") == 6
           and a.exited[3].get("signal") == 9, f"{a.exited}")
    expect([a.exited[r]["ended_by_us"] for r in range(4)] == [False, True, True, True],
           f"{a.exited}")
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
    wait_for(lambda: all(state(p) == "T" for p in a.pids.values()), "ranks stopped")
    a.send(RESUME)
    wait_for(lambda: all(state(p) != "T" for p in a.pids.values()), "ranks go on")
    for pid in a.pids.values():
        os.kill(pid, signal.SIGSTOP)
    a.send(STOP, struct.pack(">II", signal.SIGTERM, 60000))
    a.finish()
    expect(a.exited[0].get("status") == 7 and a.exited[1].get("signal") == 15, f"{a.exited}")
    a.check_gone(0)


def daemon_left():
    """a daemon, deaf to SIGTERM and in a session of its own, is gone when the job ends"""
    program, path = daemon("leave")
    a = Agent()
    a.start(program, grace_ms=500)
    done = a.finish()
    expect(a.exited[0]["status"] == 0 and done == {"survivors": []}, f"{a.exited} {done}")
    with open(path) as f:
        expect(not alive(int(f.read())), "the daemon is alive")
    a.check_gone(0)


def kill_all():
    """KILL ends them all, 1,000 children in sessions of their own included"""
    a = end_by(lambda a: a.send(KILL))
    expect(a.finish() == {"survivors": []}, "survivors")


def survivor():
    """a rank that is another user's cannot be ended: DONE names it, and the job ends anyway"""
    if os.getuid() != 0:
        return  # only root can make such a program
    with tempfile.TemporaryDirectory() as t:
        os.chmod(t, 0o755)
        python = shutil.copy(os.path.realpath(sys.executable), f"{t}/python")
        os.chmod(python, 0o4755)
        a = Agent(wrap=("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"))
        a.start((python, "-c",
                 "import os, signal; os.setuid(0); print('up', flush=True); signal.pause()"),
                 SLEEPER,
                env=["PYTHONHOME=" + sys.base_prefix])
        a.until(lambda: a.output.get((0, 1)) or 0 in a.exited, "the rank's word")
        if 0 in a.exited:
            return  # no set-user-ID programs on this file system, or a python that can't be copied
        a.send(KILL)
        done = a.wait(DONE)
        pid = a.pids[0]
        expect([s["pid"] for s in done["survivors"]] == [pid], f"{done}")
        expect("runs as another user (uid 0)" in done["survivors"][0]["text"], f"{done}")
        expect(a.exited[0]["signal"] == 9 and a.exited[1]["signal"] == 9, f"{a.exited}")
        a.send(BYE)
        try:
            a.process.wait(timeout=HANG_S)
        finally:
            os.kill(pid, signal.SIGKILL)
        expect(not glob.glob(f"/tmp/mlaunch-65534/{a.id}.*"), "its directory is left")


def leaderless():
    """a rank whose first thread has ended looks like a zombie, and is ended anyway"""
    a = Agent()
    a.start(("python3", "-c", "import ctypes, threading, time\n"
             "def rest(): print('up', flush=True); time.sleep(1000)\n"
             "threading.Thread(target=rest).start()\n"
             "ctypes.CDLL(None).pthread_exit(None)"))
    up(a, 1)
    with open(f"/proc/{a.pids[0]}/stat") as f:
        wait_for(lambda: f.seek(0) == 0 and ") Z " in f.read(), "the first thread's end")
    a.send(STOP, struct.pack(">II", signal.SIGTERM, 3000))
    expect(a.finish() == {"survivors": []} and a.exited[0]["ended_by_us"], f"{a.exited}")


def terminated():
    """SIGTERM to the worker ends the job politely; signals of a terminal have no effect"""
    a = Agent()
    a.start(POLITE)
    up(a, 1)
    for pid in (a.worker(), a.process.pid):
        for number in (signal.SIGINT, signal.SIGHUP, signal.SIGPIPE, signal.SIGTSTP,
                       signal.SIGQUIT):
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


def state(pid):
    """The state of a process, and whether SIGTERM waits for it."""
    with open(f"/proc/{pid}/status") as f:
        lines = dict(line.split(":\t", 1) for line in f if ":\t" in line)
    return lines["State"][0], bool(int(lines["ShdPnd"], 16) >> (signal.SIGTERM - 1) & 1)


def slurm():
    """Slurm signals all, the guard passes that on, and mlaunch asks: a rank gets SIGTERM once"""
    t = tempfile.mkdtemp(dir=os.environ.get("T"))
    log = os.path.join(t, "log")
    stepd = os.path.join(t, "slurmstepd")
    os.symlink("/bin/sh", stepd)
    a = Agent(wrap=("env", "SLURM_JOB_ID=1"))
    here = os.path.dirname(os.path.abspath(__file__))
    a.start((os.path.join(here, "../batch/signal_log.py"), log))

    def said():
        with open(log + ".0") as f:
            return f.read().split()

    wait_for(lambda: os.path.exists(log + ".0") and "ready" in said(), "the rank is ready")
    os.kill(a.worker(), signal.SIGSTOP)
    wait_for(lambda: state(a.worker())[0] == "T", "the worker has stopped")
    a.send(STOP, struct.pack(">IIII", signal.SIGTERM, 20000, 0, 1))
    os.kill(a.process.pid, signal.SIGTERM)
    wait_for(lambda: state(a.process.pid) == ("S", False), "the guard has passed SIGTERM on")
    with subprocess.Popen([stepd, "-c", f"kill {a.worker()} {a.pids[0]}; read line"],
                          stdin=subprocess.PIPE):
        wait_for(lambda: state(a.worker())[1], "the worker has been sent SIGTERM")
        os.kill(a.worker(), signal.SIGCONT)
        a.wait(KILLED)
    a.wait(DONE)
    expect(said().count("SIGTERM") == 1 and said()[-1] == "saved", f"{said()}")
    a.send(BYE)
    a.wait_exit(None)
    shutil.rmtree(t)


def shm():
    """segments that ranks left in /dev/shm are removed, others' are not"""
    a = Agent()
    name = f"/dev/shm/mlaunch-{os.getuid()}-"
    others = {f"{name}{a.id}.1.XXXXXX.g0-1": "another host's segment is gone",
              f"{name}{a.id}.0.XXXXXX.g0-1": "another run's segment is gone"}
    for other in others:
        open(other, "w").close()
    a.start(sh(f"touch {name}${{MLAUNCH_JOB_DIR##*/}}.g0-1"))
    a.finish()
    for other, text in others.items():
        expect(os.path.exists(other), text)
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
    expect([a.exited[i]["consequence"] for i in range(5)] == [True, False, True, True, True],
           f"{a.exited}")
    expect([a.exited[i].get("lost") for i in range(5)] == [None, None, "rank 1 is gone", "?",
                                                           None], f"{a.exited}")


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
