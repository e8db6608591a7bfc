# SPDX-License-Identifier: MIT
"""DistributedDataParallel in a job that loses or gets ranks: mlaunch.torch.steps() repairs it.

    torch_elastic.py [MLAUNCH]

Rank 1 is killed in step 3, and rank 0 in step 6. With an argument rank 0 adds two ranks in step 3
instead, and all go on until four have done five steps. They print the members of each step and the
loss, which is that of one process with the data of these members but for rounding.
"""

import os
import signal
import subprocess
import sys

import torch
import torch.distributed as dist

import mlaunch.torch

MLAUNCH = sys.argv[1] if len(sys.argv) > 1 else None
STEPS, DEATHS = (10**6, {}) if MLAUNCH else (10, {3: 1, 6: 0})


def data(step, member):
    return torch.randn(8, 20, generator=torch.Generator().manual_seed(100 * step + member))


def loss_of(model, step, member):
    mine = data(step, member)
    return (model(mine) - mine.sum(1, keepdim=True)).pow(2).mean()


def make():
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(20, 50), torch.nn.ReLU(), torch.nn.Linear(50, 1))
    return model, torch.optim.Adam(model.parameters(), lr=0.05)


def alone(members):
    """The losses of one process that has the data of these members in each step."""
    model, optimizer = make()
    for step in range(len(members)):
        optimizer.zero_grad()
        loss = sum(loss_of(model, step, m) for m in members[step]) / len(members[step])
        loss.backward()
        optimizer.step()
        yield loss.item()


dist.init_process_group("mlaunch")
model, optimizer = make()
losses, members, grow = {}, {}, None
for step in mlaunch.torch.steps(STEPS, state={"model": model, "optimizer": optimizer}):
    with step as w:
        if step.renewed:
            parallel = torch.nn.parallel.DistributedDataParallel(model, bucket_cap_mb=0.001)
        optimizer.zero_grad()
        loss = loss_of(parallel, step.number, w.id)
        if DEATHS.get(step.number) == w.id and os.environ.get("MLAUNCH_RESTART", "0") == "0":
            os.kill(os.getpid(), signal.SIGKILL)
        if MLAUNCH and step.number == 3 and w.id == 0:
            grow = grow or subprocess.Popen([MLAUNCH, "grow", os.environ["MLAUNCH_JOB"], "-H",
                                             "localhost:2"], stdout=subprocess.DEVNULL)
        loss.backward()
        optimizer.step()
        total = loss.detach().clone()
        dist.all_reduce(total)
        assert (dist.get_rank(), dist.get_world_size()) == (w.rank, w.size)
        losses[step.number], members[step.number] = total.item() / w.size, w.ids
    if MLAUNCH and sum(len(m) == 4 for m in members.values()) == 5:
        break
assert grow is None or grow.wait() == 0
if 0 in members:  # a newcomer has not done all steps
    for step, loss in enumerate(alone(members)):
        assert abs(losses[step] - loss) < 1e-4 * loss, (step, losses[step], loss)
print(*("%s:%s" % ("".join(map(str, members[i])), losses[i].hex()) for i in sorted(members)))
dist.destroy_process_group()
