# SPDX-License-Identifier: MIT
"""sync_cases.py: agents of mlaunch sync, and strangers between them. Each function is a case."""
import contextlib
import hashlib
import hmac
import shutil
import tempfile
import threading

from harness import *

WIRE = enumerators(os.path.join(os.path.dirname(HEADER), "../../base/tree/sync_wire.h"))
SECRET = "cd" * 32
FLOOD = 300  # more than a host lets wait (launcher/tools/copier/sync_chain.c)
LIMIT_S = 1  # a handshake has so long in any build (SYNC_HANDSHAKE_MS)
BLOCK = WIRE["SYNC_BLOCK_MOST"]
CONTENTS = bytes(range(256)) * 4096


def frame(kind, payload):
    return struct.pack(">IBBH", len(payload), 1, kind, 0) + payload


class Copier(Agent):
    """An agent with its part of mlaunch sync; it writes the file NAME in a directory of its own."""

    def __init__(self, number, secret=SECRET):
        super().__init__()
        self.number = number
        self.top = tempfile.mkdtemp()
        self.order("BEGIN", {"job": "sync-test", "secret": secret, "host": number,
                             "ip": "127.0.0.1", "roots": [[self.top, "name"]], "exclude": [],
                             "comparing": False, "checksum": False, "delete": False, "git": False})
        self.address = json.loads(self.report("READY"))["address"]

    def order(self, kind, payload):
        if isinstance(payload, dict):
            payload = json.dumps(payload).encode()
        self.send(SYNC, bytes([WIRE["SYNC_" + kind]]) + payload)

    def reports(self, kind, **said):
        """The payloads of all reports of that kind, if they are JSON that says so."""
        all = [p[1:] for k, p in self.frames if k == PROTOCOL["AGENT_SYNC"]
               and p[0] == WIRE["SYNC_" + kind]]
        return [p for p in all if not said or said.items() <= json.loads(p).items()]

    def report(self, kind, **said):
        self.until(lambda: self.reports(kind, **said), f"{kind} {said}")
        return self.reports(kind, **said)[-1]

    def link(self, round, previous=-1, next=-1, address=""):
        """previous -1: it is fed from here"""
        self.order("LINK", {"round": round, "is_fed": previous < 0, "previous": previous,
                            "next": next, "address": address})

    def feed(self, round, *frames):
        self.order("FEED", struct.pack(">I", round) + b"".join(frames))

    def file(self):
        try:
            with open(os.path.join(self.top, "name"), "rb") as f:
                return f.read()
        except FileNotFoundError:
            return None

    def end(self):
        self.close()
        self.process.wait(HANG_S)
        shutil.rmtree(self.top)


def key_hash(*parts):
    return hashlib.blake2b(b"".join(parts), key=bytes.fromhex(SECRET), digest_size=32).digest()


def list_send(first, round):
    entry = struct.pack(">BBHIqIQIHH", 2, 0, 0, 0o640, 1000 + round, 0, len(CONTENTS), 0, 4, 0)
    entry += b"name"
    first.feed(round, frame(WIRE["SYNC_ENTRIES"], entry),
               frame(WIRE["SYNC_LIST_END"], struct.pack(">I", 1) + key_hash(entry)))


def file_send(first, round):
    size = struct.pack(">Q", len(CONTENTS))
    blocks = [struct.pack(">Q", at) + CONTENTS[at:at + BLOCK]
              for at in range(0, len(CONTENTS), BLOCK)]
    first.feed(round, frame(WIRE["SYNC_GO"], b""),
               frame(WIRE["SYNC_FILE"], struct.pack(">IQ", 0, 0)))
    for b in blocks:
        first.feed(round, frame(WIRE["SYNC_BLOCK"], b))
    first.feed(round, frame(WIRE["SYNC_FILE_END"], struct.pack(">I", 0) +
                            key_hash(struct.pack(">I", 0), *blocks, size)),
               frame(WIRE["SYNC_END"], b""))


def copy(first, last, round):
    """Gives both hosts the file, as mlaunch would."""
    list_send(first, round)
    for c in (first, last):
        c.report("LOOKED", round=round)
    file_send(first, round)
    last.report("DONE", round=round)
    expect(last.file() == CONTENTS, "the file has not come")


def connect(address, *said):
    """A stranger's connection, on which this is said, as far as it is listened to."""
    ip, port = address.rsplit(":", 1)
    s = socket.create_connection((ip, int(port)), HANG_S)
    with contextlib.suppress(ConnectionError):
        for text in said:
            s.sendall(text)
    return s


def crowd(host, said):
    """Strangers who connect one after the other; each says one of these."""
    for text in said:
        yield connect(host.address, text)
        host.beat()


class Tap:
    """Stands between two hosts, and keeps what the first one says; `change` may change it."""

    def __init__(self, address, change=lambda data: data):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self.listener.getsockname()[1]
        self.to, self.change, self.heard = address, change, b""
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        ends = [self.listener.accept()[0], connect(self.to)]
        while True:
            for s in select.select(ends, [], [])[0]:
                try:
                    data = s.recv(1 << 20)
                    if data and s is ends[0]:
                        self.heard += data
                        data = self.change(data)
                    other = ends[s is ends[0]]
                    if data:
                        other.sendall(data)
                        continue
                    other.shutdown(socket.SHUT_WR)
                except OSError:
                    pass
                for e in ends:
                    e.close()
                return


def linked(first, last, round, address=None):
    first.link(round, next=last.number, address=address or last.address)
    for c in (first, last):
        c.report("LINKED", round=round)


def proof(role, hello, nonce=""):
    """The proof of a message of the handshake of those who know the secret (doc/protocol.md)."""
    said = [role, *(str(hello[key]) for key in ("build", "job", "purpose", "rank", "generation",
                                                "group", "nonce")), nonce]
    return hmac.new(bytes.fromhex(SECRET), "\0".join(said).encode(), "sha256").hexdigest()


def hello_of(host, proves):
    """A HELLO for this host, of somebody who knows the secret, or of a stranger."""
    hello = {"build": host.build, "job": "sync-test", "purpose": "sync", "rank": 0, "generation": 1,
             "group": 0, "nonce": "5a" * 32, "proof": "00" * 32}
    return {**hello, "proof": proof("hello", hello)} if proves else hello


def sync_strangers():
    """mlaunch sync: silent strangers at a host's port, liars and a flood do not hold it up"""
    first, last = Copier(0), Copier(1)
    hello = hello_of(last, proves=False)
    begun = frame(1, json.dumps(hello).encode())
    old = frame(1, json.dumps(hello_of(last, proves=True)).encode())
    last.link(1, previous=0)
    strangers = [connect(last.address) for _ in range(20)]
    for lie in (b"GET / HTTP/1.1\r\n\r\n", b"\xff" * 100, begun[:40], begun,
                old, old + frame(3, json.dumps({"proof": "00" * 32}).encode()),
                frame(1, json.dumps({**hello, "job": "other"}).encode()),
                frame(1, json.dumps({**hello, "build": "other"}).encode()), frame(3, b"{}"),
                frame(1, b"[" * 60000), struct.pack(">IBBH", 1 << 30, 1, 1, 0)):
        strangers.append(connect(last.address, lie))
    linked(first, last, 1)
    silent = strangers[:20]
    expect(len(select.select(silent, [], [], 0)[0]) < 20, "it was linked once they had been cut")
    strangers += [connect(last.address) for _ in range(20)]  # while files come
    copy(first, last, 1)
    last.link(2, previous=0)
    strangers += crowd(last, [begun if i % 2 else b"" for i in range(FLOOD)])
    linked(first, last, 2)
    copy(first, last, 2)
    expect(not first.reports("CUT") and not last.reports("CUT"), "the chain was cut")
    for s in strangers:
        s.close()
    first.end()
    last.end()


def is_cut(s):
    """Whether the other side has closed it."""
    if not select.select([s], [], [], 0)[0]:
        return False
    try:
        return s.recv(1, socket.MSG_PEEK) == b""
    except OSError:
        return True


def far_call(last):
    """A host calls, and sends its proof once a flood has come: whether it got in."""
    hello = hello_of(last, proves=True)
    far = connect(last.address, frame(1, json.dumps(hello).encode()))
    begin = time.monotonic()
    head = far.recv(8, socket.MSG_WAITALL)
    challenge = json.loads(far.recv(struct.unpack(">I", head[:4])[0], socket.MSG_WAITALL))
    begun = frame(1, json.dumps(hello_of(last, proves=False)).encode())
    strangers = list(crowd(last, [begun] * FLOOD))
    for s in strangers:  # each is answered, or refused
        last.beat()
        s.settimeout(HANG_S)
        with contextlib.suppress(ConnectionResetError):
            s.recv(1)
    seconds = time.monotonic() - begin
    said = json.dumps({"proof": proof("client", hello, challenge["nonce"])})
    with contextlib.suppress(OSError):
        far.sendall(frame(3, said.encode()))
    last.until(lambda: last.reports("LINKED", round=1) or is_cut(far), "it is in, or cut off")
    for s in (far, *strangers):
        s.close()
    is_in = bool(last.reports("LINKED", round=1))
    expect(is_in or seconds >= LIMIT_S, f"it was cut off after {seconds} s")
    return is_in


def sync_far():
    """mlaunch sync: a host gets in whose proof is on its way while strangers send HELLOs"""
    last = Copier(1)
    last.link(1, previous=0)
    while not far_call(last):  # it calls again, as hosts do, where this machine is slow
        pass
    last.end()


def sync_impostors():
    """those with another secret, number or round, or who repeat what was said, don't hold it up"""
    first, last = Copier(0), Copier(1)
    others = [Copier(0, "ef" * 32), Copier(2), Copier(0)]
    tap = Tap(last.address)
    last.link(1, previous=0)
    linked(first, last, 1, tap.address)
    copy(first, last, 1)
    last.link(2, previous=0)
    replay = connect(last.address, tap.heard)
    others[0].link(2, next=1, address=last.address)
    others[1].link(2, next=1, address=last.address)
    others[2].link(1, next=1, address=last.address)
    others[0].report("CUT", round=2, to_next=True)
    for number, round in ((1, 2), (2, 1)):  # they have the secret, and are turned away all the same
        others[number].report("LINKED", round=round)
    expect(not last.reports("LINKED", round=2), "an impostor was let in")
    linked(first, last, 2)
    copy(first, last, 2)
    replay.settimeout(HANG_S)
    try:
        while replay.recv(65536):
            pass
    except ConnectionResetError:
        pass
    for c in (first, last, *others):
        c.end()


def sync_changed():
    """what somebody changes on the way from host to host is not taken for the file"""
    middle = CONTENTS[1000:1100]
    for change, ends in ((lambda data: data.replace(middle, middle[::-1]), "FAILED"),
                         (lambda data: data.replace(b"name", b"evil"), "CUT"),
                         (lambda data: data.replace(b"name", b"../x"), "CUT")):
        first, last = Copier(0), Copier(1)
        tap = Tap(last.address, change)
        last.link(1, previous=0)
        linked(first, last, 1, tap.address)
        list_send(first, 1)
        if ends == "FAILED":
            last.report("LOOKED", round=1)
            file_send(first, 1)
        last.report(ends)
        expect(last.file() is None, "the changed file is there")
        # It is removed behind the report.
        wait_for(lambda: os.listdir(last.top) == [], f"{last.top} is empty")
        first.end()
        last.end()


def copier_pid(c):
    """The agent's mlaunch-copier."""
    worker = c.worker()
    with open(f"/proc/{worker}/task/{worker}/children") as f:
        (pid,) = f.read().split()
    with open(f"/proc/{pid}/comm") as f:
        expect(f.read() == "mlaunch-copier\n", "the agent's child is another program")
    return int(pid)


def sync_program():
    """mlaunch-copier, a child of the agent, ends with it; if it ends, the agent says so and ends"""
    a, b = Copier(0), Copier(1)
    copiers = [copier_pid(a), copier_pid(b)]
    os.kill(copiers[0], signal.SIGKILL)
    said = a.wait(PROTOCOL["AGENT_REFUSED"])
    expect(said["text"] == "mlaunch-copier has ended", f"it said {said}")
    a.end()
    os.kill(b.process.pid, signal.SIGSTOP)  # the guard
    os.kill(b.worker(), signal.SIGKILL)
    wait_for(lambda: not alive(copiers[1]), "the end of mlaunch-copier")
    os.kill(b.process.pid, signal.SIGCONT)
    b.end()


def sync_missing():
    """mlaunch-copier is missing beside an agent: it says so and ends"""
    top = tempfile.mkdtemp()
    place = os.path.join(top, "launcher")
    os.mkdir(place)
    agent = shutil.copy(sys.argv[1], place)
    # A build folder: no installation is looked at.
    open(os.path.join(top, "config.status"), "w").close()
    a = Agent(wrap=("sh", "-c", 'shift; exec "$0" "$@"', agent))
    a.send(SYNC, bytes([WIRE["SYNC_BEGIN"]]) + b"{}")
    said = a.wait(PROTOCOL["AGENT_REFUSED"])
    expect(said["text"].startswith("mlaunch-copier is not built yet: ./bootstrap"),
           f"it said {said}")
    a.wait_exit(0)
    shutil.rmtree(top)
