#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Stands in for vllm, sglang.launch_server, llama-server, rpc-server or ray, by the name that it is
called by: takes the options of that program that doc/recipes.md has, and no others; meets the
others of its job at the addresses in them, and says so. Then it ends; with MEETS=N its node N exits
with 3 in the first run, and the others stay."""
import argparse
import os
import socket
import sys
import time

PATIENCE = 20


def fields_of(name, words):
    """(node, the port to listen on or None, from how many, the addresses to connect to)"""
    p = argparse.ArgumentParser(prog=name, allow_abbrev=False)
    if name == "vllm":
        p.add_argument("command", choices=["serve"])
        p.add_argument("model")
        p.add_argument("--tensor-parallel-size", type=int, required=True)
        p.add_argument("--pipeline-parallel-size", type=int, required=True)
        p.add_argument("--nnodes", type=int, required=True)
        p.add_argument("--node-rank", type=int, required=True)
        p.add_argument("--master-addr", required=True)
        p.add_argument("--master-port", type=int, required=True)
        p.add_argument("--headless", action="store_true")
        a = p.parse_args(words)
        if a.headless != (a.node_rank > 0):
            p.error("the first node is not headless, and all others are")
        head = (a.master_addr, a.master_port)
        return node(a.node_rank, a.nnodes, head)
    if name == "sglang":
        p.add_argument("--model-path", required=True)
        p.add_argument("--tp", type=int, required=True)
        p.add_argument("--nnodes", type=int, required=True)
        p.add_argument("--node-rank", type=int, required=True)
        p.add_argument("--dist-init-addr", required=True)
        p.add_argument("--host", required=True)
        a = p.parse_args(words)
        return node(a.node_rank, a.nnodes, address(a.dist_init_addr))
    if name == "llama-server":
        p.add_argument("-m", required=True)
        p.add_argument("--host", required=True)
        p.add_argument("--rpc", required=True)
        a = p.parse_args(words)
        return 0, None, 0, [address(text) for text in a.rpc.split(",")]
    if name == "rpc-server":
        p.add_argument("--host", required=True)
        p.add_argument("--port", type=int, required=True)
        a = p.parse_args(words)
        return 1, a.port, 2, []  # who looks whether it listens is one
    p.add_argument("command", choices=["start"])
    p.add_argument("--block", action="store_true", required=True)
    p.add_argument("--head", action="store_true")
    p.add_argument("--node-ip-address")
    p.add_argument("--port", type=int)
    p.add_argument("--address")
    a = p.parse_args(words)
    if a.head == (a.address is not None) or a.head == (a.port is None):
        p.error("--head with --port, or --address")
    if a.head:
        return node(0, 2, (a.node_ip_address, a.port))
    return node(1, 2, address(a.address))


def address(text):
    host, port = text.rsplit(":", 1)
    return host, int(port)


def node(number, of, head):
    return (0, head[1], of - 1, []) if number == 0 else (number, None, 0, [head])


def connected(to):
    end = time.monotonic() + PATIENCE
    while True:
        try:
            return socket.create_connection(to, 5)
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.05)


def main():
    name = os.path.basename(sys.argv[0]) if len(sys.argv[0]) else ""
    name = "sglang" if name == "launch_server.py" else name
    number, port, count, others = fields_of(name, sys.argv[1:])
    held = []
    if port is not None:
        with socket.create_server(("0.0.0.0", port)) as door:
            door.settimeout(PATIENCE)
            held = [door.accept()[0] for _ in range(count)]
            for s in held:
                s.sendall(b"met")
    for to in others:
        s = connected(to)
        s.settimeout(PATIENCE)
        if s.recv(3) != b"met":
            sys.exit(f"{name}: nobody at {to}")
        held.append(s)
    print(name, number, "has met", count or len(others), flush=True)
    if "MEETS" not in os.environ or os.environ.get("MLAUNCH_RESTART", "0") != "0":
        return
    if int(os.environ["MEETS"]) == number:
        sys.exit(3)
    held[0].settimeout(None)
    time.sleep(60)


main()
