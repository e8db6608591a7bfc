#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""listener.py MODE [COUNT ADDRESS PORT]: replaces an sshd; prints its port, then serves.

silent: accepts and sends nothing. other: answers as some other service. drop: hangs up at once;
with more arguments only on the first COUNT connections, passing later ones on to ADDRESS PORT."""
import socket
import sys
import threading


def copy(source, sink):
    while data := source.recv(65536):
        sink.sendall(data)
    sink.shutdown(socket.SHUT_WR)


def pass_on(client, address):
    server = socket.create_connection(address)
    threading.Thread(target=copy, args=(server, client), daemon=True).start()
    copy(client, server)


def main():
    mode = sys.argv[1]
    drops = int(sys.argv[2]) if len(sys.argv) > 2 else -1
    listener = socket.create_server(("127.0.0.1", 0), backlog=64)
    print(listener.getsockname()[1], flush=True)
    kept = []
    while True:
        client = listener.accept()[0]
        if mode == "silent":
            kept.append(client)
        elif mode == "other":
            client.sendall(b"220 mail.example ESMTP " + b"x" * 1000 + b"\r\n")
            kept.append(client)
        elif drops:
            drops -= 1
            client.close()
        else:
            address = (sys.argv[3], int(sys.argv[4]))
            threading.Thread(target=pass_on, args=(client, address), daemon=True).start()


main()
