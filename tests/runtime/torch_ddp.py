# SPDX-License-Identifier: MIT
"""DistributedDataParallel of a small model, as any script for torch has it: env://, no word of
mlaunch but the import that a backend of its own needs. Rank 0 prints the loss of each step.

    torch_ddp.py BACKEND
"""

import sys

import torch
import torch.distributed as dist

backend = sys.argv[1]
if backend == "mlaunch":
    import mlaunch.torch  # noqa: F401
dist.init_process_group(backend)
torch.manual_seed(1)
model = torch.nn.Sequential(torch.nn.Linear(20, 50), torch.nn.ReLU(), torch.nn.Linear(50, 1))
model = torch.nn.parallel.DistributedDataParallel(model, bucket_cap_mb=0.001)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
data = torch.randn(64 * dist.get_world_size(), 20)
mine = data[dist.get_rank()::dist.get_world_size()]
for step in range(10):
    optimizer.zero_grad()
    loss = (model(mine) - mine.sum(1, keepdim=True)).pow(2).mean()
    loss.backward()
    optimizer.step()
    dist.all_reduce(loss.data)
    if dist.get_rank() == 0:
        print("%d %s" % (step, (loss.item() / dist.get_world_size()).hex()), flush=True)
dist.destroy_process_group()
