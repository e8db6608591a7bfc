# SPDX-License-Identifier: MIT
"""configurations.py SEED COUNT POOL DIR: writes COUNT configurations of ssh about the laboratory of
pool.sh, the same ones for the same seed: DIR/000/home (what the user's home has), DIR/000/etc (what
/etc/ssh has) and DIR/000/case.json (what is asked for). The last line printed counts, for each
keyword, the configurations that have it.

A configuration begins as one that lets the user in and takes three subjects from a shuffled deck
of all, each of which changes it or adds to it; some then let nobody in. So each subject is in at
least COUNT * 3 / len(SUBJECTS) of them, rounded down."""
import base64
import hashlib
import hmac
import json
import os
import random
import re
import shutil
import subprocess
import sys

ADDRESSES = {1: "10.88.0.2", 2: "10.88.0.3", 3: "10.88.0.4"}
NAMES = {1: ["h1", "alpha.lab.test", "ALPHA"], 2: ["h2", "beta.lab.test", "Beta"],
         3: ["h3", "gamma.lab.test"]}
# Who lets in whom: keys of pool.sh's authorized/ files.
PERMITTED = {("root", False): ["ed1", "rsa1", "ec1"], ("alice", False): ["ed2", "rsa1"],
             ("root", True): ["ed2"], ("alice", True): ["ed1"]}
AGENTS = {"agent": ["agent1", "agent2", "agent3"], "second": ["agent3", "spare1"]}
ALL_KEYS = ["ed1", "ed2", "ed3", "rsa1", "ec1", "stranger", "locked"]
SUBJECTS = []
HOME = "/root"
# What doc/ssh.md names as another than ssh's: certificates of hosts, those of users whose key an
# agent alone has, KnownHostsCommand; and values, which become others. DIFFERENCES=1 has them too.
ALL = bool(os.environ.get("DIFFERENCES"))
OTHER_SUBJECTS = ("known_authority", "certificate_agent", "known_hosts_command")
OTHER_VALUES = {("StrictHostKeyChecking", "accept-new"): "no",
                ("BindAddress", "client"): "10.88.0.1",
                ("MACs", "umac-64@openssh.com"): "hmac-sha2-256",
                ("KexAlgorithms", "sntrup761x25519-sha512@openssh.com"): "curve25519-sha256"}
MATCHES = ("host", "originalhost", "user", "localuser", "exec", "all", "final", "canonical",
           "tagged")
# Whose values ssh takes as they are written, quotes included.
AS_WRITTEN = ("include", "proxycommand", "proxyjump", "remotecommand", "knownhostscommand")
# Not counted as keywords: made up, or forgotten by ssh.
NO_KEYWORDS = ("nonsense", "usekeychain", "anotherone", "cipher", "protocol", "useroaming",
               "rhostsrsaauthentication")


def subject(f):
    if ALL or f.__name__ not in OTHER_SUBJECTS:
        SUBJECTS.append(f)
    return f


class Dealer(random.Random):
    """Whose choice from a list takes each of its items once before it takes one twice."""

    def __init__(self, seed):
        super().__init__(seed)
        self.decks = {}

    def choice(self, seq, of=None):
        deck = self.decks.setdefault(of or repr(seq), [])
        if not deck:
            deck += list(seq)
            self.shuffle(deck)
        return deck.pop()

    def mostly(self, of):
        """True five times of six, for what has this name."""
        return self.choice([True, True, True, True, True, False], of)


def ssh_version():
    """(9, 2) of the ssh that will read them, LAB_SSH or this machine's."""
    said = subprocess.run([os.environ.get("LAB_SSH") or "ssh", "-V"], capture_output=True,
                          text=True).stderr
    m = re.match(r"OpenSSH_(\d+)\.(\d+)", said)
    return (int(m[1]), int(m[2])) if m else (0, 0)


class Case:
    def __init__(self, r, pool):
        self.r, self.pool = r, pool
        self.subjects = []
        self.target = r.choice([1, 1, 1, 2, 2, 3])
        self.asked = "box"
        self.user = r.choice(["root", "root", "alice"])
        self.port = r.choice([22, 22, 22, 2222, 2200])
        self.hostname = r.choice([ADDRESSES[self.target]] * 2 + NAMES[self.target])
        self.hostname_line = None  # as written, if that differs; "" if it is not
        self.key = r.choice(PERMITTED[self.user, self.port == 2222])
        self.identities = None     # lines (keyword, written), or None: one with self.key
        self.options = []          # (keyword, value), the first one counts
        self.header = "Host box"
        self.head, self.tail, self.first = [], [], []
        self.files = {}            # path below the home: text
        self.copies = {}           # path below the home: path below the pool
        self.modes = {}            # path below the home: permissions other than 600
        self.late = []             # called when all else is settled
        self.alias = None
        self.known_style = "plain"
        self.known_types = r.sample(["ed25519", "rsa", "ecdsa"], 3)
        self.known_path = ".ssh/known_hosts"
        self.known_lines = None    # all of the file instead
        self.known_name = None
        self.user_by = r.choice(["config", "config", "asked"])
        self.port_by = r.choice(["config", "config", "asked"])
        self.default_config = r.random() < 0.2
        self.system = []           # lines of /etc/ssh/ssh_config
        self.global_known = []
        self.env = {}
        self.crlf = False
        self.noise = r.choice([0, 0, 1, 2])
        self.jumps = False
        if r.random() < 0.4:
            self.env["SSH_AUTH_SOCK"] = "/run/lab/agent"
        if r.random() < 0.4:
            self.options.append(("IdentitiesOnly", "yes"))

    def set(self, keyword, value):
        """The keyword's only value from now on."""
        value = value if ALL else OTHER_VALUES.get((keyword, value), value)
        self.options = [o for o in self.options if o[0] != keyword]
        self.options.append((keyword, value))

    def has(self, keyword):
        return any(o[0] == keyword for o in self.options)

    def place(self, key, path, public=True):
        """A key of the pool in the home."""
        self.copies[path] = "keys/" + key
        if public:
            self.copies[path + ".pub"] = "keys/%s.pub" % key

    def expand(self, text):
        """Tokens, as ssh replaces them in the laboratory; a path relative to the home."""
        values = {"h": self.hostname.lower(), "n": self.asked, "r": self.user, "u": "root",
                  "p": str(self.port), "L": "client", "l": "client.lab.test", "i": "0",
                  "k": self.alias or self.asked, "%": "%", "d": "~"}
        text = re.sub(r"%(.)", lambda m: values[m[1]], text)
        return re.sub(r"^~/", "", text)

    # --- writing ---

    def host_key(self, kind):
        with open("%s/host/%s.pub" % (self.pool, kind)) as f:
            return " ".join(f.read().split()[:2])

    def ca_key(self, name):
        with open("%s/keys/%s.pub" % (self.pool, name)) as f:
            return " ".join(f.read().split()[:2])

    def name_known(self):
        if self.known_name:
            return self.known_name
        if self.alias:
            return self.alias
        name = self.hostname.lower()
        return name if self.port == 22 else "[%s]:%d" % (name, self.port)

    def known(self):
        """The lines of known_hosts about the target."""
        name, lines, style = self.name_known(), [], self.known_style
        if style == "hashed":
            salt = bytes(self.r.randrange(256) for _ in range(20))
            digest = hmac.new(salt, name.encode(), hashlib.sha1).digest()
            name = "|1|%s|%s" % (base64.b64encode(salt).decode(), base64.b64encode(digest).decode())
        elif style == "wildcard":
            name = self.r.choice(["*", name[:-1] + "?", name[:2] + "*", "other," + name[:-2] + "*"])
        elif style == "several":
            name = "elsewhere," + name + ",10.1.1.1"
        elif style == "capitals":
            name = name.upper()
        elif style == "negated":
            name = "!%s,*" % name
        elif style == "negated-other":
            name = "!elsewhere,*,!10.1.*"
        elif style == "other-name":
            name = "elsewhere"
        for kind in self.known_types:
            key = self.host_key("other" if style == "changed" else kind)
            if style == "tabs":
                key = key.replace(" ", "\t")
                lines.append("%s\t%s" % (name, key))
            elif style == "comment":
                lines += ["# %s" % kind, "", "%s %s %s" % (name, key, "root@somewhere # x")]
            else:
                lines.append("%s %s" % (name, key))
            if style == "revoked":
                lines.insert(self.r.randrange(len(lines) + 1), "@revoked %s %s" %
                             (self.r.choice(["*", name]), key))
        if style == "authority":
            lines = ["@cert-authority %s %s" % (name, self.ca_key("host_ca"))]
        elif style == "authority-all":
            lines = ["@cert-authority * %s" % self.ca_key("host_ca")]
        elif style == "authority-other":
            lines = ["@cert-authority * %s" % self.ca_key("other_ca")]
        elif style == "malformed":
            lines = ["this is no line", "%s ssh-ed25519 AAAA" % name] + lines
        return lines

    def line(self, keyword, value, indent="    "):
        """One line, written in one of the ways that ssh reads alike."""
        r = self.r
        if self.noise == 0:
            return "%s%s %s" % (indent, keyword, value)
        indent = r.choice([indent, "", "\t", "  \t"])
        if r.random() < 0.3:
            keyword = r.choice([keyword.lower(), keyword.upper()])
        plain = re.fullmatch(r"[\w./~:@+,*-]+", value)
        if plain and r.random() < 0.25 and keyword.lower() not in AS_WRITTEN:
            value = '"%s"' % value
        separator = r.choice([" ", " ", "=", " = ", "\t", "   ", "= ", " =", "\t=\t"])
        if keyword.lower() in ("host", "match", "include"):
            separator = r.choice([" ", "\t", "  "])
        text = indent + keyword + separator + value
        if self.noise == 2 and r.random() < 0.2:
            text += r.choice([" ", "\t", "   "])
        if self.noise == 2 and r.random() < 0.15 and plain and (
                keyword.lower() not in AS_WRITTEN):
            text += " # " + r.choice(["a comment", "Port 1", "it's"])
        return text

    def block(self):
        """The lines about the target."""
        r = self.r
        options = list(self.options)
        if self.hostname_line or self.hostname_line is None and self.hostname != self.asked:
            options.append(("HostName", self.hostname_line or self.hostname))
        if self.user_by == "config" and self.user != "root" or (
                self.user_by == "config" and r.random() < 0.7):
            options.append(("User", self.user))
        if self.port_by == "config" and (self.port != 22 or r.random() < 0.3):
            options.append(("Port", str(self.port)))
        if self.alias:
            options.append(("HostKeyAlias", self.alias))
        r.shuffle(options)
        identities = list(self.identities)
        lines = []
        for option in options:
            while identities and r.random() < 0.3:
                lines.append(identities.pop(0))
            lines.append(option)
        return lines + identities

    def finish(self):
        if self.identities is None:
            if self.r.random() < 0.15:
                kind = {"e": "ed25519", "r": "rsa"}[self.key[0]]
                if self.key == "ec1":
                    kind = "ecdsa"
                self.place(self.key, ".ssh/id_" + kind)
                self.identities = []
            else:
                path = ".ssh/keys/" + self.key
                self.place(self.key, path)
                self.identities = [("IdentityFile", "~/" + path)]
        for f in self.late:
            f()

    def write(self, folder):
        self.finish()
        r, home = self.r, os.path.join(folder, "home")
        text = [self.line(*l, indent="") if isinstance(l, tuple) else l for l in self.first]
        text += self.head
        body = self.block()
        cut = r.randrange(len(body) + 1) if r.random() < 0.4 else len(body)
        if self.tail or self.jumps or self.header != "Host box":
            cut = len(body)  # else a block in between might come first
        keyword, value = self.header.split(" ", 1)
        text.append(self.line(keyword, value, ""))
        text += [self.line(*l) for l in body[:cut]]
        if r.random() < 0.3:
            text += ["", "# the rest", "   # of it"]
        text += self.tail
        if cut < len(body):
            text.append(self.line("Host", r.choice(["*", "b*", "?*", "box"]), ""))
            text += [self.line(*l) for l in body[cut:]]
        end = "\r\n" if self.crlf else "\n"
        if self.known_lines is None:
            self.known_lines = self.known()
        self.file(home, self.known_path, "\n".join(self.known_lines) + "\n")
        config = ".ssh/config" if self.default_config else ".ssh/lab.conf"
        self.file(home, config, end.join(text) + end)
        for path, content in self.files.items():
            self.file(home, path, content)
        for path, source in self.copies.items():
            to = os.path.join(home, path)
            os.makedirs(os.path.dirname(to), exist_ok=True)
            shutil.copyfile(os.path.join(self.pool, source), to)
            os.chmod(to, self.modes.get(path, 0o600))
        etc = os.path.join(folder, "etc")
        os.makedirs(etc, exist_ok=True)
        if self.global_known:
            self.file(etc, "ssh_known_hosts", "\n".join(self.global_known) + "\n")
        if self.system:
            self.file(etc, "ssh_config", "\n".join(self.system) + "\n")
        about = {"host": self.asked, "env": self.env, "subjects": self.subjects,
                 "config": None if self.default_config else "/root/.ssh/lab.conf",
                 "user": self.user if self.user_by == "asked" else None,
                 "port": self.port if self.port_by == "asked" else None}
        with open(os.path.join(folder, "case.json"), "w") as f:
            json.dump(about, f, indent=1)

    def file(self, home, path, content):
        path = os.path.join(home, path)
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        with open(path, "w", newline="") as f:
            f.write(content)
        os.chmod(path, 0o600)


# --- which lines apply ----------------------------------------------------------------------------

WRONG = ["    Port 1", "    User nobody-at-all", "    HostName 10.88.0.1", "    Ciphers aes128-cbc"]


def wrong_lines(c, count=2):
    """For a block that does not apply; or, behind all others, that comes too late."""
    lines = [l for l in WRONG if "Ciphers" not in l or c.r.random() < 0.3]
    return c.r.sample(lines, min(count, len(lines)))


def too_late(c):
    """Values that others in front of them have settled."""
    lines = ["    HostName 10.88.0.1"] if c.hostname_line or c.hostname != c.asked else []
    if c.user_by == "asked":
        lines.append("    User nobody-at-all")
    if c.port_by == "asked":
        lines.append("    Port 1")
    return lines


@subject
def host_star(c):
    c.header = "Host " + c.r.choice(["b*", "*x", "*", "b*x", "**o**", "*box*"])
    c.head += ["Host b*y"] + wrong_lines(c)


@subject
def host_question(c):
    c.header = "Host " + c.r.choice(["b?x", "???", "?ox", "bo?", "?*"])
    c.head += ["Host box?"] + wrong_lines(c)


@subject
def host_negated(c):
    c.header = "Host " + c.r.choice(["!other *", "* !bo", "*ox !alpha !beta", "!b?y,* b*"])
    c.head += [c.r.choice(["Host * !box", "Host !b* *", "Host !box"])] + wrong_lines(c)


@subject
def host_several(c):
    c.header = "Host " + c.r.choice(["alpha box beta", "x y box", 'x "box"', "box box"])
    c.head += [c.r.choice(["Host boxes bo", 'Host "box alpha"', "Host alpha,box"])] + wrong_lines(c)


@subject
def host_comment(c):
    c.header = "Host " + c.r.choice(["box # the target", "box #alpha", "box other # !box"])
    c.head += [c.r.choice(["Host other # box", "Host alpha #box"])] + wrong_lines(c)


@subject
def host_capitals(c):
    if c.jumps:
        return
    c.asked = c.r.choice(["Box", "BOX"])
    c.header = "Host " + c.r.choice([c.asked, "box", "?ox", "*"])


@subject
def host_by_name(c):
    """No nickname: the name or the address is what is asked for."""
    if c.jumps or c.header != "Host box":
        return
    c.asked = c.hostname = c.r.choice(NAMES[c.target] + [ADDRESSES[c.target]])
    c.hostname_line = None
    c.header = "Host " + c.r.choice([c.asked, "*"])


def match_with(c, right, wrong):
    c.header = "Match " + c.r.choice(right)
    c.head += ["Match " + c.r.choice(wrong)] + wrong_lines(c)
    c.tail += ["Match " + c.r.choice(right)] + too_late(c)


@subject
def match_originalhost(c):
    match_with(c, ["originalhost box", "originalhost b*,alpha", "OriginalHost !alpha,b?x",
                   'originalhost "box"', "!originalhost alpha", "originalhost=box"],
               ["originalhost bo", "!originalhost b*", "originalhost !box,*"])


@subject
def match_host(c):
    name = c.asked
    match_with(c, ["host " + name.lower(), "host b*,*", "Host *", "!host nowhere",
                   "host !nowhere,*"],
               ["host 10.88.0.77", "!host *", "host !*,box"])


@subject
def match_host_behind(c):
    """HostName is settled in front of a Match host about it."""
    c.first.append("Host box")
    c.first.append("    HostName " + c.hostname)
    c.header = "Match host " + c.r.choice([c.hostname.lower(), c.hostname[:2] + "*", "*"])
    c.head += ["Match host box"] + wrong_lines(c)


@subject
def match_user(c):
    if c.user_by != "asked" and c.user != "root":
        c.user_by = "asked"
    match_with(c, ["user " + c.user, "user *", "User !nobody,*", "!user nobody,carol"],
               ["user carol", "!user " + c.user, "user !%s,*" % c.user])


@subject
def match_localuser(c):
    match_with(c, ["localuser root", "localuser r*", "!localuser alice", "LocalUser alice,root"],
               ["localuser alice", "!localuser root", "localuser !root,*"])


@subject
def match_exec(c):
    match_with(c, ['exec "test %n = ' + c.asked + '"', "exec true", '!exec "exit 1"',
                   'exec "test -d %d -a %u = root"', 'exec "[ %L = client ] && [ %% = %% ]"',
                   "exec 'true'", 'exec "true # x"'],
               ["exec false", '!exec true', 'exec "test %n = other"', 'exec "exit 3"'])


@subject
def match_exec_tokens(c):
    token, value = c.r.choice([("%i", "0"), ("%l", "client.lab.test"), ("%n", c.asked),
                               ("%C", None), ("%k", None), ("%j", ""), ("%p", None), ("%r", None)])
    if value is None:
        c.header = 'Match exec "test -n \'%s\'"' % token
    else:
        c.header = 'Match exec "test x%s = x%s"' % (token, value)


@subject
def match_all(c):
    if c.jumps:
        return
    c.header = "Match all"
    c.tail += [c.r.choice(["Match all", "Match !all", "Host *"])] + too_late(c)


@subject
def match_final(c):
    kind = c.r.randrange(4)
    if kind == 0:
        c.head += ["Match final all", "    Port 1", "    ConnectTimeout 9"]
        c.port_by = "config"
        c.options.append(("Port", str(c.port)))
    elif kind == 1:
        c.tail += ["Match final", "    Compression yes"]
    elif kind == 2:
        c.head += ["Match !final originalhost elsewhere"] + wrong_lines(c)
    else:
        c.port_by = "asked" if c.port == 22 else "final"
        if c.port != 22:
            c.head += ["Match final host " + c.hostname.lower(), "    Port %d" % c.port]


@subject
def match_final_host(c):
    """The final HostName is what host means in the second pass."""
    c.head += ["Match final host box"] + wrong_lines(c)
    c.tail += ["Match final host " + c.r.choice([c.hostname.lower(), "*"]),
               "    ServerAliveInterval 7"]


@subject
def match_canonical(c):
    c.head += [c.r.choice(["Match canonical", "Match canonical all",
                           "Match canonical originalhost box"])]
    c.head += wrong_lines(c)


@subject
def match_several(c):
    match_with(c, ["originalhost box localuser root", "host * exec true user *",
                   "!user nobody originalhost b*", "exec \"true\" originalhost box"],
               ["originalhost box user nobody", "originalhost box exec false",
                "host x localuser root"])


@subject
def match_tagged(c):
    """Where ssh knows it."""
    if ssh_version() >= (9, 4):
        c.first += ["Host box", "    Tag lab"]
        match_with(c, ["tagged lab", "tagged l*", "!tagged other"], ["tagged other", "!tagged lab"])
    else:
        c.first[:0] = [("IgnoreUnknown", "Tag"), ("Tag", "lab")]


@subject
def match_newer(c):
    """Where ssh knows it."""
    if ssh_version() >= (10, 0) and c.r.choice([True, False]):
        match_with(c, ["version OpenSSH_1*", "!version OpenSSH_9*"], ["version OpenSSH_9*"])
    elif ssh_version() >= (9, 4):
        match_with(c, ["localnetwork 10.88.0.0/24", "localnetwork 10.0.0.0/8,192.168.0.0/16"],
                   ["localnetwork 10.77.0.0/24", "!localnetwork 10.88.0.0/24"])
    else:
        match_with(c, ["all", "originalhost " + c.asked], ["localnetwork 10.77.0.0/24"]
                   if c.r.random() < 0.2 else ["originalhost elsewhere"])


@subject
def match_wrong(c):
    """ssh reads no further."""
    if c.r.random() < 0.5:
        c.head += [c.r.choice(["Match nonsense x", "Match host", "Match originalhost box all",
                               "Match originalhost", "Match"]), "    Port 22"]
    else:
        c.head += [c.r.choice(["Match originalhost elsewhere host x", "Match user x exec false"])]
        c.head += wrong_lines(c)


@subject
def include_plain(c):
    form = c.r.choice(["~/.part.conf", "/root/.part.conf", '"/root/.part.conf"',
                       "~/none.conf ~/.part.conf",
                       "part.d/*.conf", "~/.ssh/part.d/*.conf", "~/.ssh/part.d/?0.conf"])
    name = ".part.conf"
    if "part.d" in form:
        name = ".ssh/part.d/10.conf"
    c.files[name] = "Host bo\n    Port 1\nHost box\n    ConnectTimeout 8\n    Compression no\n"
    c.first.append("Include " + form)


@subject
def include_inside(c):
    c.files[".ssh/inside.conf"] = c.r.choice(
        ["ConnectTimeout 8\n", "Host x\n    Port 1\n",
         "Host x\n    Port 1\nHost *\n    LogLevel INFO\n",
         "Match host elsewhere\n    Port 1\n"])
    if c.r.random() < 0.5:
        c.head += ["Host elsewhere", "    Include inside.conf", "    Port 1"]
    c.options.append(("Include", c.r.choice(["inside.conf", "~/.ssh/inside.conf", "nowhere.conf"])))


@subject
def include_not_applying(c):
    """An Include below a Host of others has no effect, whatever it has."""
    c.files[".ssh/others.conf"] = c.r.choice(
        ["Host *\n    Port 1\n", "Host box\n    User nobody-at-all\n", "Match all\n    Port 1\n"])
    c.head += ["Host elsewhere", "    Include others.conf"]


@subject
def include_nested(c):
    c.files[".ssh/one.conf"] = "Include two.conf\nHost box\n    ConnectTimeout 8\n"
    c.files[".ssh/two.conf"] = "Include ~/.ssh/thr*.conf\n"
    c.files[".ssh/three.conf"] = "Host box\n    ServerAliveInterval 9\n"
    c.first.append("Include one.conf")


@subject
def include_several(c):
    c.files[".ssh/b.conf"] = "Host box\n    ConnectTimeout 9\n"
    c.files[".ssh/a.conf"] = "Host x\n    Port 1\n"
    c.first.append(c.r.choice(["Include a.conf b.conf", "Include [ab].conf",
                               'Include "a.conf" "b.conf"',
                               "Include a.conf # b.conf", "Include ${HOME}/.ssh/a.conf"]))


@subject
def system_config(c):
    """No -F: the user's file and then the system's, as distributions have it."""
    c.default_config = True
    c.system += ["Host *", "    SendEnv LANG LC_*", "    HashKnownHosts yes",
                 "    GSSAPIAuthentication yes"]
    if c.r.random() < 0.5:
        c.system += ["Match final all", "    Ciphers aes256-gcm@openssh.com,aes256-ctr,aes128-ctr",
                     "    Port 1"]
        if c.port_by == "config":
            c.options.append(("Port", str(c.port)))


# --- where to, and as whom ------------------------------------------------------------------------

@subject
def hostname_tokens(c):
    if c.asked != "box" or c.r.random() < 0.3:
        c.hostname_line = c.r.choice([None, "%h"]) if c.asked == c.hostname else None
        return
    first, _, rest = NAMES[c.target][1].partition(".")
    if "*" not in c.header and c.header != "Host box":
        return
    c.asked = first
    c.hostname = first + "." + rest
    c.hostname_line = "%h.lab.test"
    if c.header == "Host box":
        c.header = "Host " + first


@subject
def hostname_wrong(c):
    c.hostname_line = c.r.choice(["%n", "nowhere.invalid", "10.88.0.%%", "%x"])


@subject
def hostname_six(c):
    c.hostname = c.r.choice(["six%d", "fd88::%d"])
    if "six" in c.hostname:
        c.hostname %= c.target
    else:
        c.hostname %= c.target + 1
    c.hostname_line = None


@subject
def user_twice(c):
    if c.user_by != "asked":
        c.user_by = "config"
        c.options = [("User", c.user)] + c.options
    c.tail += [c.header, "    User nobody-at-all"]


@subject
def user_other(c):
    c.user_by = c.r.choice(["asked", "config"])
    if c.user_by == "asked":
        c.head += [c.header, "    User nobody-at-all"]
    else:
        c.user = c.r.choice(["nobody-at-all", "bob"])
        c.options.append(("User", c.user))


@subject
def port_asked(c):
    c.port_by = "asked"
    c.head += [c.header, "    Port 1"]


@subject
def port_wrong(c):
    if c.r.random() < 0.6:
        c.head += ["Host elsewhere", "    Port 1"]
    else:
        c.head += [c.header, "    Port " + c.r.choice(["0", "70000", "ssh", "22x", "2299", "-1"])]


@subject
def host_key_alias(c):
    c.alias = c.r.choice(["kept", "KEPT", "kept.lab.test", "[kept]:7"])
    c.late.append(lambda: None)


@subject
def host_key_alias_wrong(c):
    c.alias = "kept"
    if c.r.random() < 0.5:
        c.known_name = c.hostname.lower()


# --- keys -----------------------------------------------------------------------------------------

def identity(c, path, written=None, key=None):
    c.place(key or c.key, path)
    c.identities = (c.identities or []) + [("IdentityFile", written or "~/" + path)]


@subject
def identity_several(c):
    wrong = c.r.sample([k for k in ALL_KEYS if k != c.key], c.r.choice([1, 2, 3]))
    keys = wrong + [c.key]
    c.r.shuffle(keys)
    for key in keys:
        identity(c, ".ssh/keys/" + key, key=key)


@subject
def identity_crowd(c):
    """More keys than sshd lets a client try."""
    keys = ["spare%d" % i for i in range(1, c.r.choice([5, 6, 7]))] + [c.key]
    for key in keys:
        identity(c, ".ssh/keys/" + key, key=key)


@subject
def identity_tokens(c):
    written = c.r.choice(["~/.ssh/%r", "%d/.ssh/%u_%h", "~/.ssh/keys/%n.%p", "~/.ssh/%L-%k",
                          "~/.ssh/%i%%", "~/.ssh/%l", "/root/.ssh/id_%r@%n", "~/.ssh/%h"])

    def settle():
        path = c.expand(written)
        path = path[len("/root/"):] if path.startswith("/root/") else path
        c.place(c.key, path)
    c.identities = (c.identities or []) + [("IdentityFile", written)]
    c.late.append(settle)


@subject
def identity_variable(c):
    c.env["KEYS"] = "/root/.ssh/keys"
    written = c.r.choice(["${KEYS}/" + c.key, "${HOME}/.ssh/keys/" + c.key, "${NOT_SET}/x"])
    if "NOT" in written:
        c.identities = [("IdentityFile", written)]
    else:
        identity(c, ".ssh/keys/" + c.key, written)


@subject
def identity_quoted(c):
    path = ".ssh/my key"
    written = c.r.choice(['"~/.ssh/my key"', "'~/.ssh/my key'", "~/.ssh/my\\ key",
                          "~/.ssh/\"my key\"",
                          '"/root/.ssh/my key" # x', "~/.ssh/'my key'", '"~/.ssh/my\\ key"',
                          "~/.ssh/my key", '"~/.ssh/my key'])
    identity(c, path, written)


@subject
def identity_quote_in(c):
    path, written = c.r.choice([('.ssh/a"b', '~/.ssh/a\\"b'), (".ssh/a'b", "\"~/.ssh/a'b\""),
                                (".ssh/a#b", "~/.ssh/a#b"), (".ssh/a=b", "~/.ssh/a=b"),
                                (".ssh/a,b", "~/.ssh/a,b"), (".ssh/a\\b", "~/.ssh/a\\\\b")])
    identity(c, path, written)


@subject
def identity_missing(c):
    c.identities = [("IdentityFile", "~/.ssh/missing")] + (c.identities or [])
    if c.r.random() < 0.7:
        identity(c, ".ssh/keys/" + c.key)


@subject
def identity_none(c):
    c.identities = [("IdentityFile", "none")]
    c.place(c.key, ".ssh/id_ed25519" if c.key[:2] == "ed" else ".ssh/id_rsa")


@subject
def identity_relative(c):
    """Relative to where ssh was started, which is /."""
    identity(c, ".ssh/keys/" + c.key, "root/.ssh/keys/" + c.key)


@subject
def identity_public(c):
    """The public half of a key that an agent holds."""
    c.env["SSH_AUTH_SOCK"] = "/run/lab/agent"
    key = {("root", False): "agent1", ("root", True): "agent3", ("alice", False): "agent2",
           ("alice", True): "agent1"}.get((c.user, c.port == 2222), "agent1")
    path = ".ssh/keys/" + key
    c.copies[path + ".pub"] = "keys/%s.pub" % key
    c.set("IdentitiesOnly", "yes")
    c.identities = (c.identities or []) + [("IdentityFile", "~/" + path + c.r.choice([".pub", ""]))]


@subject
def identity_locked(c):
    identity(c, ".ssh/keys/locked", key="locked")
    c.env["SSH_AUTH_SOCK"] = c.r.choice(["/run/lab/agent", "/run/lab/locked"])


@subject
def identity_modes(c):
    """A key that others may read is not used."""
    identity(c, ".ssh/keys/open", key=c.key)
    if c.r.random() < 0.5:
        identity(c, ".ssh/keys/" + c.key)
    c.modes[".ssh/keys/open"] = 0o644


@subject
def identities_only(c):
    c.set("IdentitiesOnly", c.r.choice(["yes", "no", "true", "YES", "false"]))
    c.env["SSH_AUTH_SOCK"] = c.r.choice(["/run/lab/agent", "/run/lab/crowd"])


@subject
def identities_only_defaults(c):
    """Nothing is named: then the default files are all that may be used."""
    c.set("IdentitiesOnly", "yes")
    c.env["SSH_AUTH_SOCK"] = "/run/lab/agent"
    c.identities = []
    if c.r.random() < 0.5:
        c.place("ec1", ".ssh/id_ecdsa")
        c.place("rsa1", ".ssh/id_rsa")
        c.place("ed2", ".ssh/id_ed25519")


@subject
def identity_agent(c):
    c.env.pop("SSH_AUTH_SOCK", None)
    value = c.r.choice(["/run/lab/second", "none", "SSH_AUTH_SOCK", "$LAB_AGENT", "${LAB}/agent",
                        "/run/lab/missing", '"/run/lab/agent"', "/run/%u/lab/agent", "$NOT_SET",
                        "~/agent"])
    c.env["LAB_AGENT"], c.env["LAB"] = "/run/lab/agent", "/run/lab"
    if c.r.random() < 0.6:
        c.env["SSH_AUTH_SOCK"] = "/run/lab/agent"
    c.set("IdentityAgent", value)
    if c.r.random() < 0.6:
        c.identities = []
        c.options = [o for o in c.options if o[0] != "IdentitiesOnly"]


@subject
def agent_only(c):
    c.identities = []
    c.options = [o for o in c.options if o[0] != "IdentitiesOnly"]
    c.env["SSH_AUTH_SOCK"] = c.r.choice(["/run/lab/agent", "/run/lab/agent", "/run/lab/crowd"])


@subject
def agent_and_defaults(c):
    c.env["SSH_AUTH_SOCK"] = "/run/lab/" + c.r.choice(["agent", "second"])
    c.identities = []
    c.place("ed1", ".ssh/id_ed25519")
    c.place("rsa1", ".ssh/id_rsa")


@subject
def certificate_file(c):
    identity(c, ".ssh/keys/ed3", key="ed3")
    kind = c.r.choice(["good", "good", "missing", "token"])
    name = {"missing": "~/.ssh/none.pub", "token": "~/.ssh/%u.cert"}.get(kind, "~/.ssh/good.cert")
    c.copies[".ssh/root.cert" if kind == "token" else ".ssh/good.cert"] = "keys/good.cert"
    c.set("CertificateFile", name)
    if c.r.random() < 0.5:
        c.user = "bob"


@subject
def certificate_agent(c):
    """The certificate is a file, its key an agent's."""
    c.env["SSH_AUTH_SOCK"] = "/run/lab/agent"
    c.copies[".ssh/agent.cert"] = "keys/agent.cert"
    c.set("CertificateFile", "~/.ssh/agent.cert")
    if c.r.random() < 0.7:
        c.options = [o for o in c.options if o[0] != "IdentitiesOnly"]
    if c.r.random() < 0.5:
        c.identities = []


@subject
def certificate_beside(c):
    key, certificate = c.r.choice([("ed3", "good"), ("ed1", "old"), ("ed1", "foreign")])
    identity(c, ".ssh/keys/" + key, key=key)
    c.copies[".ssh/keys/%s-cert.pub" % key] = "keys/%s.cert" % certificate


@subject
def pubkey_authentication(c):
    c.set("PubkeyAuthentication", c.r.choice(["yes", "no", "unbound", "host-bound", "NO", "true"]))


@subject
def preferred_authentications(c):
    c.set("PreferredAuthentications", c.r.choice(
        ["publickey", "publickey,password", "password", "gssapi-with-mic,publickey", "none",
         "keyboard-interactive", "hostbased,password,publickey", "nonsense", '"publickey"']))


@subject
def password_prompts(c):
    c.port = 2200
    c.set("NumberOfPasswordPrompts", c.r.choice(["0", "1", "3"]))
    if c.r.mostly("password"):
        c.set("PasswordAuthentication", c.r.choice(["yes", "no"]))
    if c.r.random() < 0.5:
        identity(c, ".ssh/keys/stranger", key="stranger")
        c.env.pop("SSH_AUTH_SOCK", None)


@subject
def batch_mode(c):
    c.set("BatchMode", c.r.choice(["yes", "no"]))
    if c.r.random() < 0.4:
        c.port = 2200
        identity(c, ".ssh/keys/locked", key="locked")


@subject
def rsa_size(c):
    if ssh_version() < (9, 1):
        return
    c.set("RequiredRSASize", c.r.choice(["1024", "2048", "3072", "4096", "x"]))
    if c.r.random() < 0.7:
        identity(c, ".ssh/keys/rsa1", key="rsa1")
    if c.r.random() < 0.4:
        c.known_types = ["rsa"]


@subject
def add_keys_to_agent(c):
    c.set("AddKeysToAgent", c.r.choice(["yes", "no", "ask", "confirm", "1h", "confirm 1h"]))


@subject
def forward_agent(c):
    c.set("ForwardAgent", c.r.choice(["yes", "no", "/run/lab/second", "$LAB_AGENT"]))
    c.env["LAB_AGENT"] = "/run/lab/agent"


# --- algorithms -----------------------------------------------------------------------------------

@subject
def pubkey_key_types(c):
    """The older name."""
    c.set("PubkeyAcceptedKeyTypes", c.r.choice(["+ssh-rsa", "^rsa-sha2-256",
                                                "ssh-ed25519*,rsa-sha2-512"]))


@subject
def pubkey_algorithms(c):
    c.set("PubkeyAcceptedAlgorithms", c.r.choice(
        ["+ssh-rsa", "ssh-ed25519", "-ssh-ed25519", "^rsa-sha2-256", "rsa-sha2-*,ssh-ed25519",
         "*", "ecdsa-sha2-nistp256,rsa-sha2-512", "-*cert*", "nonsense"]))
    if c.r.random() < 0.5:
        identity(c, ".ssh/keys/ec1", key="ec1")
        identity(c, ".ssh/keys/rsa1", key="rsa1")
        identity(c, ".ssh/keys/ed1", key="ed1")


@subject
def host_key_algorithms(c):
    c.set("HostKeyAlgorithms", c.r.choice(
        ["+ssh-rsa", "ssh-ed25519", "rsa-sha2-512,rsa-sha2-256", "-ssh-ed25519*",
         "^ecdsa-sha2-nistp256",
         "ecdsa-*", "ssh-dss", "*", "rsa-sha2-256,nonsense", "-*"]))


@subject
def kex_algorithms(c):
    c.set("KexAlgorithms", c.r.choice(
        ["+diffie-hellman-group14-sha1", "curve25519-sha256", "^ecdh-sha2-nistp256", "-curve*",
         "ecdh-sha2-nistp256,ecdh-sha2-nistp384", "sntrup761x25519-sha512@openssh.com",
         "diffie-hellman-group14-sha256", "ecdh-*", "nonsense"]))


@subject
def ciphers(c):
    c.set("Ciphers", c.r.choice(
        ["aes256-ctr", "^aes256-ctr", "-*cbc", "+aes128-cbc", "aes*",
         "chacha20-poly1305@openssh.com",
         "aes128-gcm@openssh.com,aes256-ctr", "-chacha20*", "nonsense", "3des-cbc"]))


@subject
def macs(c):
    c.set("MACs", c.r.choice(
        ["hmac-sha2-256", "+hmac-sha1", "-*sha1*", "^hmac-sha2-512", "hmac-sha2-512,hmac-sha2-256",
         "umac-64@openssh.com", "*-etm@openssh.com", "nonsense", "umac-*,hmac-sha2-512"]))
    if c.r.random() < 0.5:
        c.set("Ciphers", "aes256-ctr")


@subject
def compression(c):
    c.set("Compression", c.r.choice(["yes", "no", "yes", "YES"]))


# --- the way there --------------------------------------------------------------------------------

@subject
def address_family(c):
    c.hostname = c.r.choice(["both%d", "six%d"]) % c.target
    c.hostname_line = None
    c.set("AddressFamily", c.r.choice(["any", "inet", "inet6", "INET"]))


@subject
def bind_address(c):
    c.set("BindAddress", c.r.choice(["10.88.0.101", "10.88.0.101", "10.88.0.1", "*", "10.1.2.3",
                                     "client", "fd88::1"]))


@subject
def bind_interface(c):
    c.set("BindInterface", c.r.choice(["netns0", "lo", "nothing0"]))


def jump_block(c, name, number, user="root", port=22):
    """A host to jump over, in front of all others."""
    c.copies[".ssh/keys/jump"] = "keys/ed1"
    c.copies[".ssh/keys/jump.pub"] = "keys/ed1.pub"
    c.files[".ssh/known_jumps"] = "\n".join(
        "%s %s" % (n if port == 22 else "[%s]:%d" % (n, port), c.host_key(kind))
        for n in ADDRESSES.values() for kind in ("ed25519", "rsa", "ecdsa")) + "\n"
    c.first += ["Host " + name, "    HostName " + ADDRESSES[number], "    User " + user,
                "    Port %d" % port, "    IdentityFile ~/.ssh/keys/jump", "    IdentitiesOnly yes",
                "    UserKnownHostsFile ~/.ssh/known_jumps", "    ProxyJump none"]


def jump_header(c):
    """Whatever would be about the jump host as well is left out."""
    c.asked, c.header = "box", "Host box"
    c.jumps = True
    c.tail, c.head = [], []


@subject
def proxy_command(c):
    jump_header(c)
    number = c.target % 3 + 1
    jump_block(c, "gate", number)

    def settle():
        config = "" if c.default_config else "-F /root/.ssh/lab.conf "
        c.set("ProxyCommand", c.r.choice(
            ["ssh %s-W %%h:%%p gate" % config, "ssh %s-W [%%h]:%%p gate 2> /dev/null" % config,
             "exec ssh %sgate -W %%h:%%p" % config, "none", "echo out of cables >&2; exit 1",
             "/usr/bin/ssh %s-q -W '%%h':%%p gate # a way" % config]))
    c.late.append(settle)


@subject
def proxy_jump(c):
    jump_header(c)
    number = c.target % 3 + 1
    address = ADDRESSES[number]
    jump_block(c, "gate", number)
    value = c.r.choice(["gate", "root@gate", "gate:22", "ssh://root@gate:22", "ssh://gate", "none",
                        "nowhere.invalid", '"gate"', "GATE"])
    if c.r.random() < 0.2:
        c.first[c.first.index("Host gate")] = "Host gate " + address
        value = address
    c.set("ProxyJump", value)


@subject
def proxy_jump_two(c):
    jump_header(c)
    one, two = [n for n in (1, 2, 3) if n != c.target]
    jump_block(c, "gate", one)
    jump_block(c, "door", two)
    c.set("ProxyJump", c.r.choice(["gate,door", "door,gate", "root@gate:22,door", "gate, door"]))


@subject
def proxy_both(c):
    """Which of the two comes first counts."""
    jump_header(c)
    jump_block(c, "gate", c.target % 3 + 1)
    lines = ["    ProxyCommand none", "    ProxyJump gate"]
    if c.r.random() < 0.5:
        lines = ["    ProxyJump none", "    ProxyCommand exit 1"]
    c.first += ["Host box"] + lines


@subject
def proxy_jump_user(c):
    """The jump host's user and port are the list's, not the target's."""
    jump_header(c)
    number = c.target % 3 + 1
    jump_block(c, "gate", number)
    c.first[:] = [l for l in c.first if l != "    User root"]
    c.set("ProxyJump", c.r.choice(["root@gate", "gate"]))


@subject
def connect_timeout(c):
    c.set("ConnectTimeout", c.r.choice(["5", "10s", "1m", "none", "x"]))
    if c.r.mostly("attempts"):
        c.set("ConnectionAttempts", "2")


@subject
def server_alive(c):
    c.set("ServerAliveInterval", c.r.choice(["30", "1m", "0"]))
    c.set("ServerAliveCountMax", c.r.choice(["3", "1"]))
    if c.r.mostly("alive"):
        c.set("TCPKeepAlive", c.r.choice(["yes", "no"]))


# --- known hosts ----------------------------------------------------------------------------------

def known_style(c, *styles):
    c.known_style = c.r.choice(styles)


@subject
def known_hashed(c):
    known_style(c, "hashed")


@subject
def known_patterns(c):
    known_style(c, "wildcard", "several", "negated-other", "capitals")


@subject
def known_negated(c):
    known_style(c, "negated")
    c.set("StrictHostKeyChecking", "yes")


@subject
def known_revoked(c):
    known_style(c, "revoked")


@subject
def known_authority(c):
    known_style(c, "authority", "authority-all", "authority-other")
    c.target = c.r.choice([2, 2, 2, 1])
    if "six" not in c.hostname and "both" not in c.hostname:
        c.hostname = c.r.choice(["h%d" % c.target, ADDRESSES[c.target]])
        if c.asked != "box":
            c.asked = c.hostname
    c.hostname_line = None


@subject
def known_changed(c):
    known_style(c, "changed")
    if c.r.random() < 0.4:
        c.set("StrictHostKeyChecking", c.r.choice(["no", "yes", "accept-new"]))


@subject
def known_syntax(c):
    known_style(c, "tabs", "comment", "malformed", "several")


@subject
def known_port(c):
    """A host on another port is known by its bare name as well."""
    c.port = c.r.choice([2200, 2200, 22])
    c.known_name = c.hostname.lower() if c.r.random() < 0.6 else "[%s]:%d" % (
        c.hostname.lower(), c.port)
    c.alias = None


@subject
def known_one_type(c):
    c.known_types = [c.r.choice(["ed25519", "rsa", "ecdsa"])]


@subject
def known_unknown(c):
    known_style(c, "other-name")
    c.set("StrictHostKeyChecking", c.r.choice(["ask", "yes", "no", "accept-new", "off"]))


@subject
def user_known_hosts(c):
    kind = c.r.randrange(7)
    c.known_path = ".ssh/lab_known"
    value = ["~/.ssh/lab_known", "~/.ssh/none ~/.ssh/lab_known",
             "~/.ssh/known_hosts ~/.ssh/lab_known",
             '"/root/.ssh/lab known"', "~/.ssh/%r_known", "none", "${HOME}/.ssh/lab_known"][kind]
    if kind == 2:
        c.files[".ssh/known_hosts"] = "elsewhere %s\n" % c.host_key("ed25519")
    elif kind == 3:
        c.known_path = ".ssh/lab known"
    elif kind == 4:
        c.late.append(lambda: setattr(c, "known_path", ".ssh/%s_known" % c.user))
    c.set("UserKnownHostsFile", value)


@subject
def known_dev_null(c):
    c.set("UserKnownHostsFile", "/dev/null")
    c.set("StrictHostKeyChecking", c.r.choice(["no", "yes", "accept-new", "off"]))
    if c.r.random() < 0.5:
        c.set("LogLevel", c.r.choice(["ERROR", "QUIET"]))


@subject
def global_known_hosts(c):
    kind = c.r.choice([0, 0, 1, 2, 2, 3])
    if kind == 0:
        c.set("GlobalKnownHostsFile", "/dev/null")
    elif kind == 1:
        c.late.append(lambda: (c.global_known.extend(c.known()), setattr(c, "known_lines",
                                                                         ["# none"])))
    else:
        c.set("GlobalKnownHostsFile", ["~/.ssh/all", "~/.ssh/none ~/.ssh/all"][kind - 2])
        c.late.append(lambda: (c.files.update({".ssh/all": "\n".join(c.known()) + "\n"}),
                               setattr(c, "known_lines", ["# none"])))


@subject
def strict_checking(c):
    c.set("StrictHostKeyChecking", c.r.choice(["yes", "ask", "accept-new", "no", "off", "true",
                                               "x"]))
    if c.r.random() < 0.4:
        known_style(c, "other-name")


@subject
def check_host_ip(c):
    c.set("CheckHostIP", c.r.choice(["yes", "no"]))
    if c.r.random() < 0.6:
        address = ADDRESSES[c.target]
        c.late.append(lambda: setattr(c, "known_lines", c.known() + [
            "%s %s" % (address, c.host_key(c.r.choice(["other", "ed25519"])))]))


@subject
def hash_known_hosts(c):
    c.set("HashKnownHosts", c.r.choice(["yes", "no"]))
    if c.r.random() < 0.4:
        known_style(c, "other-name")
        c.set("StrictHostKeyChecking", "accept-new")


@subject
def update_host_keys(c):
    c.set("UpdateHostKeys", c.r.choice(["yes", "no", "ask"]))
    c.known_types = ["rsa"]


@subject
def revoked_host_keys(c):
    kind = c.r.choice(["list", "other-list", "krl", "other-krl", "missing", "none"])
    # OpenSSH 9.2 takes a tilde there for a directory's name.
    value = {"none": "none", "missing": "/root/.ssh/missing",
             "other-krl": "~/.ssh/revoked"}.get(kind, "/root/.ssh/revoked")
    if kind == "list":
        c.files[".ssh/revoked"] = "\n".join(c.host_key(k) for k in ("ed25519", "rsa",
                                                                    "ecdsa")) + "\n"
    elif kind == "other-list":
        c.files[".ssh/revoked"] = c.host_key("other") + " comment\n"
    elif kind == "krl":
        c.copies[".ssh/revoked"] = "host/revoked.krl"
    elif kind == "other-krl":
        c.copies[".ssh/revoked"] = "host/other.krl"
    c.set("RevokedHostKeys", value)


@subject
def known_hosts_command(c):
    def settle():
        lines = c.known()
        c.files[".ssh/asked_keys"] = "\n".join(lines) + "\n"
        if c.r.random() < 0.7:
            c.known_lines = ["# none"]
    c.late.append(settle)
    c.set("KnownHostsCommand", c.r.choice(["/bin/cat /root/.ssh/asked_keys", "none", "/bin/false",
                                           "/usr/bin/printf %%s",
                                           "/bin/cat /root/.ssh/asked_keys %H"]))


@subject
def verify_dns(c):
    c.set("VerifyHostKeyDNS", c.r.choice(["no", "yes", "ask"]))


@subject
def canonicalize(c):
    """Names are completed by CanonicalDomains before they are looked up."""
    if c.jumps:
        return
    first, _, domain = NAMES[c.target][1].partition(".")
    c.asked = first
    c.hostname = NAMES[c.target][1]
    c.hostname_line = c.r.choice([first, ""])
    c.header = "Host " + c.r.choice([first, first + " " + c.hostname, "*"])
    value = c.r.choice(["yes", "always", "always", "yes", "no"])
    domains = c.r.choice([domain, "nowhere.test " + domain, domain, "nowhere.test"])
    c.first += ["CanonicalizeHostname " + value, "CanonicalDomains " + domains]
    c.known_name, c.alias = None, None
    if c.r.mostly("fallback"):
        c.first.append("CanonicalizeFallbackLocal " + c.r.choice(["yes", "no"]))
    if c.r.mostly("dots"):
        c.first.append("CanonicalizeMaxDots " + c.r.choice(["0", "1"]))
    if c.r.mostly("names"):
        c.first.append("CanonicalizePermittedCNAMEs *:*.test")
    if c.r.random() < 0.4:
        c.tail += ["Match canonical host " + c.hostname, "    ServerAliveInterval 5"]
    if value == "no" or domain not in domains:
        c.hostname = first
        c.hostname_line = None


# --- the session, and the rest --------------------------------------------------------------------

@subject
def send_env(c):
    c.set("SendEnv", c.r.choice(["LANG LC_*", "FOO", "-LC_* FOO"]))
    c.set("SetEnv", c.r.choice(["A=b", 'A=b C="d e"', "A=b # c"]))


@subject
def log_level(c):
    c.set("LogLevel", c.r.choice(["QUIET", "FATAL", "ERROR", "INFO", "VERBOSE", "DEBUG", "DEBUG3",
                                  "quiet", "NONSENSE"]))


@subject
def request_tty(c):
    c.set("RequestTTY", c.r.choice(["yes", "no", "force", "auto"]))


@subject
def remote_command(c):
    c.set("RemoteCommand", c.r.choice(["tmux attach || tmux new", "none", "exit 9", "echo %n %h"]))


@subject
def session_type(c):
    if ssh_version() >= (8, 7):
        c.set("SessionType", c.r.choice(["none", "default", "subsystem"]))
    c.set("StdinNull", c.r.choice(["yes", "no"])) if ssh_version() >= (8, 7) else None


@subject
def fork_after(c):
    if ssh_version() >= (8, 7):
        c.set("ForkAfterAuthentication", c.r.choice(["yes", "no"]))
    c.set("StdinNull", c.r.choice(["yes", "no"])) if ssh_version() >= (8, 7) else None


@subject
def control_master(c):
    c.set("ControlMaster", c.r.choice(["auto", "no", "yes"]))
    c.set("ControlPath", c.r.choice(["~/.ssh/%C", "~/.ssh/%r@%h:%p", "none", "/run/lab/%n"]))
    if c.r.mostly("persist"):
        c.set("ControlPersist", c.r.choice(["no", "10m", "yes"]))


@subject
def local_forward(c):
    for i, keyword in enumerate(("LocalForward", "RemoteForward", "DynamicForward")):
        if c.r.mostly(keyword):
            c.set(keyword, "1080" if keyword == "DynamicForward" else
                  c.r.choice(["8080 localhost:80", "9090 h1:22"]))
    c.set("ExitOnForwardFailure", c.r.choice(["yes", "no"]))


@subject
def ignore_unknown(c):
    keyword = c.r.choice(["UseKeychain", "Nonsense", "AnotherOne"])
    c.first.append("IgnoreUnknown " + c.r.choice([keyword, "UseKey*,Nonsense,AnotherOne",
                                                  "Use*,*One,N*"]))
    c.head += ["Host *", "    %s yes" % keyword]


@subject
def unknown_keyword(c):
    kind = c.r.randrange(5)
    if kind == 0:
        c.head += ["Host *", "    Nonsense yes"]
    elif kind == 1:
        c.head += ["Host elsewhere", "    Nonsense yes"]
    elif kind == 2:
        c.head += ["Host *", "    Port"]
    elif kind == 3:
        c.head += ["Host elsewhere", "    Compression perhaps"]
    else:
        c.head += ["Host *", "    UseRoaming no", "    RhostsRSAAuthentication no",
                   "    Protocol 2", "    Cipher blowfish"]


@subject
def extra_words(c):
    """Words behind a value."""
    c.head += [c.r.choice(["Host *", "Host elsewhere"]),
               c.r.choice(["    Compression yes no", "    Port 22 23", "    LogLevel INFO x",
                           "    ConnectTimeout 5 # x", "    Compression no #x"])]


@subject
def line_ends(c):
    c.crlf = True


@subject
def line_forms(c):
    c.noise = 2


@subject
def line_long(c):
    c.first.append("# " + "x" * c.r.choice([900, 1100, 4000]))
    c.header = c.header if "#" in c.header or c.jumps or c.r.random() < 0.5 else (
        c.header + " # " + "y" * 1500)


@subject
def line_continued(c):
    """A backslash at the end of a line continues nothing."""
    c.first += ["# a comment \\", "Host elsewhere"]
    c.head += ["    LogLevel INFO"]


@subject
def gssapi(c):
    c.set("GSSAPIAuthentication", c.r.choice(["yes", "no"]))
    c.set("HostbasedAuthentication", c.r.choice(["yes", "no"]))
    c.set("KbdInteractiveAuthentication", c.r.choice(["yes", "no"]))


# --- all together ---------------------------------------------------------------------------------

def line_subjects(line):
    """The keyword, and what a Match line asks for; nothing of a comment."""
    m = re.match(r"\s*([A-Za-z]+)[\s=]", line)
    if not m:
        return []
    found = [m[1].lower()]
    if found[0] == "match":
        found += ["match-" + w for w in MATCHES if re.search(r"[\s!]%s\b" % w, line, re.I)]
    return found


def keywords_count(folder):
    """In how many configurations each keyword is."""
    counts = {}
    for case in sorted(os.listdir(folder)):
        found = set()
        for place, _, names in os.walk(os.path.join(folder, case, "home")):
            for name in names:
                if name.endswith(".conf") or name == "config":
                    with open(os.path.join(place, name)) as f:
                        found.update(*(line_subjects(line) for line in f))
        for keyword in found:
            counts[keyword] = counts.get(keyword, 0) + 1
    return counts


def main():
    seed, count, pool, folder = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
    r, deck = Dealer(seed), []
    for i in range(count):
        case = Case(r, pool)
        for _ in range(3):
            if not deck:
                deck = list(SUBJECTS)
                r.shuffle(deck)
            chosen = deck.pop()
            case.subjects.append(chosen.__name__)
            chosen(case)
        path = os.path.join(folder, "%03d" % i)
        os.makedirs(path)
        case.write(path)
    print(" ".join("%s:%d" % pair for pair in sorted(keywords_count(folder).items())
                   if pair[0] not in NO_KEYWORDS))


if __name__ == "__main__":
    main()
