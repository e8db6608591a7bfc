# SPDX-License-Identifier: MIT
"""compare.py POOL CASES RESULTS MLAUNCH NUMBER OF: in a laboratory (lab), logs in with ssh and with
mlaunch by each OF-th configuration of CASES, from NUMBER on, in a fresh home for each of the two.
RESULTS/NAME.json has what they did: the answer ("in", "refused", "asked") and, by the logs of the
hosts' sshds, each login's host, port, client's address, user, keys offered and key let in. CASES
is what configurations.py wrote.

ssh is called as scp calls it: what ssh_config says of the session itself (forwarded ports, a
command of the host's own, a terminal) is another matter than who logs in where, and both have a
command of their own to run."""
import json
import os
import re
import shutil
import subprocess
import sys
import time

LAB = "/run/lab"
HOSTS = ("h1", "h2", "h3")
LIMIT_S = 40
AS_SCP = ["-x", "-T"] + [word for option in (
    "PermitLocalCommand=no", "ClearAllForwardings=yes", "RemoteCommand=none", "RequestTTY=no",
    "ForwardAgent=no", "ControlPath=none", "SessionType=default",
    "ForkAfterAuthentication=no") for word in ("-o", option)]
AGENTS = {"agent": ["agent1", "agent2", "agent3"],
          "second": ["agent3", "spare1"],
          "crowd": ["spare%d" % i for i in range(1, 7)] + ["agent1"],
          "locked": ["locked"]}


def fingerprints(pool):
    """Names of the pool's keys by their fingerprints."""
    names = {}
    for folder in ("keys", "host"):
        for name in sorted(os.listdir(os.path.join(pool, folder))):
            if name.endswith(".pub") and "-cert" not in name:
                path = os.path.join(pool, folder, name)
                out = subprocess.run(["ssh-keygen", "-l", "-f", path], capture_output=True,
                                     text=True, check=True).stdout
                names[out.split()[1]] = name[:-4]
    return names


class Lab:
    def __init__(self, pool, mlaunch):
        self.pool, self.mlaunch = pool, mlaunch
        self.names = fingerprints(pool)
        self.home = os.path.expanduser("~")
        self.inits = {}
        self.agents = {}
        for host in HOSTS:
            with open("%s/%s.init" % (LAB, host)) as f:
                self.inits[host] = f.read().strip()
        with open(LAB + "/ini", "w") as f:
            f.write("[ssh]\nconnect-timeout = 20\n")

    def agents_start(self):
        """Fresh ones where a program has added a key or removed one."""
        for name, keys in AGENTS.items():
            socket = "%s/%s" % (LAB, name)
            env = dict(os.environ, SSH_AUTH_SOCK=socket)
            if name in self.agents:
                listed = subprocess.run(["ssh-add", "-l"], env=env, capture_output=True,
                                        text=True).stdout
                if [self.names.get(line.split()[1]) for line in listed.splitlines()] == keys:
                    continue
                self.agents[name].terminate()
                self.agents[name].wait()
                if os.path.exists(socket):
                    os.unlink(socket)
            self.agents[name] = subprocess.Popen(["ssh-agent", "-D", "-a", socket],
                                                 stdout=subprocess.DEVNULL)
            # The socket is there before anybody listens: 2 means that no agent answers.
            until(lambda: subprocess.run(["ssh-add", "-l"], env=env,
                                         capture_output=True).returncode != 2)
            for key in keys:
                self.key_add(env, os.path.join(self.pool, "keys", key))

    def key_add(self, env, path):
        answer = "%s/passphrase" % LAB
        if not os.path.exists(answer):
            with open(answer, "w") as f:
                f.write("#!/bin/sh\necho secret\n")
            os.chmod(answer, 0o755)
        subprocess.run(["ssh-add", "-q", path], check=True, stdin=subprocess.DEVNULL,
                       env=dict(env, SSH_ASKPASS=answer, SSH_ASKPASS_REQUIRE="force"))

    def fill(self, case):
        """The home and /etc/ssh as the configuration has them."""
        for to, part in ((self.home, "home"), ("/etc/ssh", "etc")):
            for name in os.listdir(to):
                path = os.path.join(to, name)
                if os.path.isdir(path) and not os.path.islink(path):
                    shutil.rmtree(path)
                elif name != "moduli":
                    os.unlink(path)
            if os.path.isdir(os.path.join(case, part)):
                shutil.copytree(os.path.join(case, part), to, symlinks=True, dirs_exist_ok=True)

    def sessions(self):
        """Whether an sshd still has a connection."""
        for init in self.inits.values():
            with open("/proc/%s/task/%s/children" % (init, init)) as f:
                children = f.read().split()
            for child in children:
                try:
                    with open("/proc/%s/cmdline" % child, "rb") as f:
                        if f.read():
                            return True
                except OSError:
                    pass
        return False

    def logs(self):
        """Where the logs end."""
        return {host: os.stat("%s/%s.log" % (LAB, host)).st_size for host in HOSTS}

    def logins(self, begin):
        """What the hosts' sshds wrote since then, in the order of hosts."""
        found = []
        for host in HOSTS:
            with open("%s/%s.log" % (LAB, host), errors="replace") as f:
                f.seek(begin[host])
                lines = f.read().splitlines()
            login = None
            for line in lines:
                m = re.match(r"Connection from (\S+) port \d+ on (\S+) port (\d+)", line)
                if m:
                    login = {"host": host, "address": m[2], "port": int(m[3]), "from": m[1],
                             "user": None, "offered": [], "key": None}
                    found.append(login)
                if login:
                    self.line_take(login, line)
        unlike = []
        for login in found:
            if login not in unlike: # a client may try twice
                unlike.append(login)
        return unlike

    def line_take(self, login, line):
        m = re.match(r"Accepted key (\S+) (SHA256:\S+) found", line)
        if not m:
            m = re.match(r"(?:Failed|Accepted) publickey for .* ssh2: (\S+) (SHA256:\S+)", line)
        if m:
            key = self.names.get(m[2], m[2]) + ("-cert" if m[1].endswith("-CERT") else "")
            if key not in login["offered"]:
                login["offered"].append(key)
        m = re.match(r"(Failed|Accepted) \S+ for (?:invalid user )?(\S*) from ", line)
        if m:
            login["user"] = m[2]
        m = re.match(r"(?:Connection (?:closed|reset) by|Disconnected from) "
                     r"(?:authenticating|invalid) user (\S*) ", line)
        if m:
            login["user"] = m[1]
        if line.startswith("Accepted publickey"):
            login["key"] = login["offered"][-1]

    def command(self, side, about):
        """What is run for a configuration."""
        config = ["-F", about["config"]] if about["config"] else []
        if side == "ssh" or self.mlaunch == "ssh":
            words = ["ssh"] + config + AS_SCP
            if about["port"]:
                words += ["-p", str(about["port"])]
            if about["user"]:
                words += ["-l", about["user"]]
            return words + [about["host"], "echo there"]
        host = about["host"]
        if ":" in host:
            host = "[%s]" % host
        if about["user"]:
            host = "%s@%s" % (about["user"], host)
        where = ["-H", host]
        if about["port"]: # a port is no part of what -H takes
            with open(LAB + "/hosts.json", "w") as f:
                json.dump([{"ssh": "%s:%d" % (host, about["port"])}], f)
            where = ["--hostfile", LAB + "/hosts.json"]
        if config:
            config = ["--ssh-config", about["config"]]
        return [self.mlaunch, "--config", LAB + "/ini"] + config + where + ["-n", "1", "--", "echo",
                                                                         "there"]

    def run(self, side, case, about):
        self.fill(case)
        self.agents_start()
        asked = "/run/asked"
        if os.path.exists(asked):
            os.unlink(asked)
        env = {"PATH": os.environ["PATH"], "HOME": self.home, "LC_ALL": "C.UTF-8",
               "USER": "root", "LOGNAME": "root", "SSH_ASKPASS": self.pool + "/askpass",
               "SSH_ASKPASS_REQUIRE": "force"}
        env.update(about["env"])
        words = self.command(side, about)
        begin = self.logs()
        begun = time.monotonic()
        with open(LAB + "/out", "w+") as out, open(LAB + "/err", "w+") as err:
            p = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=env,
                                 cwd="/", start_new_session=True)
            try:
                status = p.wait(LIMIT_S)
            except subprocess.TimeoutExpired:
                p.kill()
                p.wait()
                status = 124
            until(lambda: not self.sessions())
            out.seek(0)
            err.seek(0)
            said, wrong = out.read(), err.read()
        did = {"command": words, "status": status, "said": said, "wrong": wrong,
               "seconds": round(time.monotonic() - begun, 2), "logins": self.logins(begin)}
        did["answer"] = "refused"
        if status == 0 and said == "there\n":
            did["answer"] = "in"
        elif os.path.exists(asked):
            did["answer"] = "asked"
        return did


def until(true, seconds=20):
    """Looks every few milliseconds; after that time it goes on all the same."""
    end = time.monotonic() + seconds
    while not true() and time.monotonic() < end:
        time.sleep(0.005)


def main():
    pool, cases, results, mlaunch = sys.argv[1:5]
    number, of = int(sys.argv[5]), int(sys.argv[6])
    lab = Lab(pool, mlaunch)
    for i, name in enumerate(sorted(os.listdir(cases))):
        if i % of != number:
            continue
        case = os.path.join(cases, name)
        with open(case + "/case.json") as f:
            about = json.load(f)
        did = {side: lab.run(side, case, about) for side in ("ssh", "mlaunch")}
        with open(os.path.join(results, name + ".json.new"), "w") as f:
            json.dump(did, f, indent=1)
        os.rename(os.path.join(results, name + ".json.new"), os.path.join(results, name + ".json"))
    for agent in lab.agents.values():
        agent.terminate()


main()
