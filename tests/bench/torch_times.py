# SPDX-License-Identifier: MIT
"""What tests/bench/torch runs in each rank: prints WHAT, gloo's and mlaunch's microseconds."""

import statistics
import sys
import time

import torch
import torch.distributed as dist

import mlaunch.torch  # noqa: F401

SIZES = (("4 B", 4), ("1 KiB", 1 << 10), ("64 KiB", 64 << 10), ("1 MiB", 1 << 20),
         ("64 MiB", 64 << 20))

rounds = int(sys.argv[1])
torch.set_num_threads(1)
dist.init_process_group("gloo")
groups = [dist.group.WORLD, dist.new_group(backend="mlaunch")]


def measure(what, calls, count):
    """calls: one for each of groups. Each round times `count` calls of the one, then the other."""
    times = [[], []]
    for turn in range(rounds + 1):
        for which, call in enumerate(calls):
            dist.barrier()
            begin = time.perf_counter()
            for _ in range(count):
                call()
            if turn > 0:  # the first round warms up
                times[which].append((time.perf_counter() - begin) / count * 1e6)
    if dist.get_rank() == 0:
        print("%s\t%.1f\t%.1f" % (what, *map(statistics.median, times)), flush=True)


for name, size in SIZES:
    t = torch.zeros(size // 4)
    measure("all_reduce " + name, [lambda g=g: dist.all_reduce(t, group=g) for g in groups],
            max(2, min(100, (16 << 20) // size)))


def stepper(group):
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.ReLU(),
                                torch.nn.Linear(256, 256), torch.nn.ReLU(),
                                torch.nn.Linear(256, 10))
    model = torch.nn.parallel.DistributedDataParallel(model, process_group=group)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    data = torch.randn(32, 256)

    def step():
        optimizer.zero_grad()
        model(data).pow(2).mean().backward()
        optimizer.step()
    return step


measure("DDP step", [stepper(g) for g in groups], 20)
dist.destroy_process_group()
