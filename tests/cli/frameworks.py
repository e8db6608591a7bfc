#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""frameworks.py torch|lightning|accelerate|jax|mlx|record: finds the other ranks by the rules of
that framework, from the environment alone, and prints what it has found. Where the rules name an
address, rank 0 listens there and all others connect."""
import json
import os
import re
import socket
import sys
import time


def first(*names):
    """The first of the variables that is there, as a number."""
    return next(int(os.environ[name]) for name in names if name in os.environ)


def meet(rank, size, address, port):
    """Rank 0 listens at the address; it ends when all others have connected."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    if rank == 0:
        with socket.create_server((address, port), family=family) as listener:
            for _ in range(size - 1):
                listener.accept()[0].close()
        return
    end = time.monotonic() + 60
    while True:
        try:
            socket.create_connection((address, port), 60).close()
            return
        except ConnectionRefusedError:  # not yet: the stores of all frameworks try again
            if time.monotonic() > end:
                raise
            time.sleep(0.01)


def torch():
    """torch/distributed/rendezvous.py, env://; DeepSpeed (comm.py) reads the same."""
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    if os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True":
        sys.exit("rank 0 would not open the store")
    meet(rank, size, os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
    return f"rank {rank} of {size}"


def lightning():
    """lightning/fabric/plugins/environments/torchelastic.py: is_torchelastic_launched()."""
    if not os.environ.get("TORCHELASTIC_RUN_ID"):
        return "no cluster"
    return (f"rank {os.environ['RANK']} of {os.environ['WORLD_SIZE']}, local "
            f"{os.environ['LOCAL_RANK']}, node {os.environ['GROUP_RANK']}, restart "
            f"{os.environ['TORCHELASTIC_RESTART_COUNT']} of "
            f"{os.environ['TORCHELASTIC_MAX_RESTARTS']}")


def accelerate():
    """accelerate/utils/environment.py."""
    rank = first("RANK", "PMI_RANK", "OMPI_COMM_WORLD_RANK", "MV2_COMM_WORLD_RANK")
    size = first("WORLD_SIZE", "PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "MV2_COMM_WORLD_SIZE")
    local = first("LOCAL_RANK", "MPI_LOCALRANKID", "OMPI_COMM_WORLD_LOCAL_RANK")
    locals_ = first("LOCAL_WORLD_SIZE", "MPI_LOCALNRANKS", "OMPI_COMM_WORLD_LOCAL_SIZE")
    return f"rank {rank} of {size}, local {local} of {locals_}"


def jax():
    """jax/_src/clusters/ompi_cluster.py."""
    uri = os.environ["OMPI_MCA_orte_hnp_uri"]
    port = int(uri.split(".", maxsplit=1)[0]) // 4096 % 4096 + 61440
    address = next(filter(None, re.search(r"tcp://(.+?)[,:]|tcp6://\[(.+?)[,\]]", uri).groups()))
    if port != int(os.environ["JAX_COORDINATOR_PORT"]):
        sys.exit("two ports")
    rank, size = first("OMPI_COMM_WORLD_RANK"), first("OMPI_COMM_WORLD_SIZE")
    meet(rank, size, address, port)
    return f"rank {rank} of {size}, device {os.environ['OMPI_COMM_WORLD_LOCAL_RANK']}"


def mlx():
    """mlx/distributed/{ring/ring.cpp,jaccl/…}: the ring comes first."""
    rank = first("MLX_RANK")
    if "MLX_HOSTFILE" in os.environ:
        with open(os.environ["MLX_HOSTFILE"], encoding="utf-8") as file:
            hosts = json.load(file)
        address, port = hosts[rank][0].rsplit(":", 1)
        with socket.create_server((address.strip("[]"), int(port))):
            return f"ring, rank {rank} of {len(hosts)}"
    with open(os.environ["JACCL_IBV_DEVICES"], encoding="utf-8") as file:
        devices = json.load(file)
    kind = "ring" if "JACCL_RING" in os.environ else "mesh"
    address, port = os.environ["JACCL_COORDINATOR"].rsplit(":", 1)
    meet(rank, len(devices), address.strip("[]"), int(port))
    return f"jaccl's {kind}, rank {rank} of {len(devices)}, {devices[rank]}"


def record():
    """torch/distributed/elastic/multiprocessing/errors: what @record writes."""
    if os.environ["RANK"] == "1":
        with open(os.environ["TORCHELASTIC_ERROR_FILE"], "w", encoding="utf-8") as file:
            json.dump({"message": {"message": "ValueError: shard 7 is empty", "extraInfo": {
                "py_callstack": "Traceback …", "timestamp": "1"}}}, file)
        sys.exit(1)
    return "well"


print(globals()[sys.argv[1]]())
