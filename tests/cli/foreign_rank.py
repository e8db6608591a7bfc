# SPDX-License-Identifier: MIT
"""foreign_rank.py READY SEEDS BEHAVIOUR...: a rank that hangs in a collective call of torch or
NCCL, of which it has only what a report of a hang asks for. Rank N does what word N says:

    dumps     torch's monitor thread: makes the named pipe, and writes recorded dump N of SEEDS for
              each byte that comes through it
    keeps     the same, but never writes
    ras       NCCL's RAS: answers at NCCL_RAS_ADDR as client_support.cc does, with SEEDS/ras.txt
    mute      listens there, and never answers
    serves    torch's worker server: answers the handler's POST with SEEDS/dump.json
    deaf      listens at that socket, and never answers
    debugs    torch.distributed.debug: answers the same POST at any TCP port, beside torch's store
              at MASTER_PORT, which must not be asked
    debugged  the same server, which never answers
    listens   listens at such a port, but is no such server, and must not be asked
    absent    has nothing that could be asked

It makes READY.N once it can be asked, and then waits until it is killed. A mute one makes
READY.N.heard once it has been asked: who asked has waited for an answer that never came."""
import os
import socket
import sys
import threading

ready, seeds, behaviours = sys.argv[1], sys.argv[2], sys.argv[3:]
rank = int(os.environ["RANK"])


def tell(name):
    open(name, "x").close()


def dump(answers):
    pipe = os.environ["TORCH_NCCL_DEBUG_INFO_PIPE_FILE"] + "%d.pipe" % rank
    os.mkfifo(pipe, 0o666)
    fd = os.open(pipe, os.O_RDWR)  # as torch's, which does not end with its writer
    tell("%s.%d" % (ready, rank))
    with open("%s/rank%d.pickle" % (seeds, rank), "rb") as f:
        recorded = f.read()
    while os.read(fd, 1):
        if not answers:
            continue
        # In two writes, as a long dump: the first half alone is no dump.
        with open(os.environ["TORCH_FR_DUMP_TEMP_FILE"] + str(rank), "wb") as f:
            f.write(recorded[: len(recorded) // 2])
            f.flush()
            f.write(recorded[len(recorded) // 2:])


def listen():
    if behaviours[rank] in ("ras", "mute"):
        host, port = os.environ["NCCL_RAS_ADDR"].split(":")
        return socket.create_server((host, int(port)))
    if behaviours[rank] in ("debugs", "debugged", "listens"):
        return socket.create_server(("", 0))
    s = socket.socket(socket.AF_UNIX)
    s.bind(os.environ["TORCH_WORKER_SERVER_SOCKET"])
    s.listen()
    return s


def ras(s):
    with open(seeds + "/ras.txt", "rb") as f:
        text = f.read().split(b"OK\n", 1)[1]
    for line in s.makefile("rb"):
        command = line.rstrip(b"\r\n").lower()
        if command.startswith(b"client protocol "):
            s.sendall(b"SERVER PROTOCOL 2\n")
        elif command.startswith(b"timeout "):
            int(command.split()[1])
            s.sendall(b"OK\n")
        elif command in (b"status", b"verbose status"):
            s.sendall(text)
            s.close()
            return
        else:
            s.sendall(b"ERROR: Unknown command " + line)


def serve(s):
    head = b""
    while b"\r\n\r\n" not in head:
        head += s.recv(4096)
    if not head.startswith(b"POST /handler/dump_nccl_trace_json HTTP/1."):
        s.sendall(b"HTTP/1.1 404 Not Found\r\nConnection: close\r\n\r\n")
    else:
        with open(seeds + "/dump.json", "rb") as f:
            body = f.read()
        s.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n"
                  b"Content-Type: application/json\r\n\r\n" % len(body) + body)
    s.shutdown(socket.SHUT_WR)


def mute(s):
    s.recv(1)
    tell("%s.%d.heard" % (ready, rank))
    threading.Event().wait()


behaviour = behaviours[rank]
if behaviour in ("dumps", "keeps"):
    dump(behaviour == "dumps")
if behaviour == "absent":
    tell("%s.%d" % (ready, rank))
    threading.Event().wait()
listener = listen()
if behaviour in ("debugs", "debugged"):
    with open("/proc/self/task/%d/comm" % threading.get_native_id(), "w") as f:
        f.write("pt_workerserver")  # as torch calls the server's thread
if behaviour == "debugs":
    store = socket.create_server(("", int(os.environ["MASTER_PORT"])))
    threading.Thread(target=lambda: mute(store.accept()[0]), daemon=True).start()
tell("%s.%d" % (ready, rank))
speak = {"ras": ras, "serves": serve, "debugs": serve}.get(behaviour, mute)
while True:
    speak(listener.accept()[0])
