# SPDX-License-Identifier: MIT
"""The backend "mlaunch" of torch.distributed with tensors on a CUDA device, in each rank, by a
torch that has no CUDA: the tensors are torch's own as far as their device, type and shape go, and
their memory is a GPU's (python_gpu.py). What the backend lets torch compute there, this file does.
"""

import gc
import math
import types

import torch
import torch.distributed as dist

import mlaunch.torch
import python_gpu as gpu

LETTERS = {torch.int32: "i", torch.float64: "d"}
synchronized = []


class Tensor(torch.Tensor):
    """A tensor on cuda:0 without a storage of torch's. A piece of another one has its memory."""

    @staticmethod
    def __new__(cls, values, dtype=torch.int32, shape=None, of=None, at=0, device="cuda:0"):
        count = len(values) if shape is None else math.prod(shape)
        made = torch.Tensor._make_wrapper_subclass(
            cls, (count,) if shape is None else tuple(shape), dtype=dtype, device=device)
        made.memory = of or gpu.Memory(values, LETTERS[dtype])
        made.at = at
        made.turned = False
        return made

    def data_ptr(self):
        return self.memory.address + self.at

    def is_contiguous(self):
        return not self.turned

    def contiguous(self):
        assert self.turned
        gpu.must(gpu._cuda.cuStreamSynchronize(gpu.work))
        return Tensor(values(self)[::-1], self.dtype)  # what is turned runs backwards

    def detach(self):
        return self

    def copy_(self, other):
        got = values(other)
        self._fill(got[::-1] if self.turned else got)

    def div_(self, by):
        self._fill([value / by for value in values(self)])

    def _fill(self, got):
        whole = self.memory.read()
        first = self.at // self.memory.itemsize
        whole[first:first + len(got)] = got
        self.memory.fill(whole)

    def view(self, shape):
        return Tensor(None, self.dtype, shape, self.memory, self.at)

    def reshape(self, count):
        return self.view((self.numel() if count == -1 else count,))

    def split(self, counts):
        pieces, at = [], self.at
        for count in counts:
            pieces.append(Tensor(None, self.dtype, (count,), self.memory, at))
            at += count * self.memory.itemsize
        return pieces

    @classmethod
    def __torch_dispatch__(cls, function, kinds, arguments=(), named=None):
        raise AssertionError("torch computes %s" % function)


def values(tensor):
    first = tensor.at // tensor.memory.itemsize
    return tensor.memory.read()[first:first + tensor.numel()]


class Stream:
    cuda_stream = gpu.work

    def synchronize(self):
        synchronized.append(self)
        gpu.must(gpu._cuda.cuStreamSynchronize(gpu.work))


_empty, _cat = torch.empty, torch.cat


def empty(*shape, device="cpu", dtype=None):
    if torch.device(device).type == "cpu":
        return _empty(*shape, dtype=dtype)
    shape = shape[0] if isinstance(shape[0], (tuple, torch.Size)) else shape
    return Tensor([0] * math.prod(shape), dtype, shape)


def cat(tensors):
    if not isinstance(tensors[0], Tensor):
        return _cat(tensors)
    gpu.must(gpu._cuda.cuStreamSynchronize(gpu.work))
    return Tensor([value for tensor in tensors for value in values(tensor)], tensors[0].dtype)


torch.empty, torch.cat = empty, cat
torch.cuda.current_stream = lambda device=None: Stream()
dist.init_process_group("mlaunch")
rank, size = dist.get_rank(), dist.get_world_size()
right, left = (rank + 1) % size, (rank - 1) % size
N = 1000


def counting(first, count=N):
    return list(range(first, first + count))


def sums(count=N):
    return [sum(1000 * r + i for r in range(size)) for i in range(count)]


def is_right(tensor, expected):
    assert values(tensor) == list(expected), (rank, values(tensor)[:5], list(expected)[:5])


def reductions():
    data = Tensor(counting(1000 * rank))
    dist.all_reduce(data)
    is_right(data, sums())
    data = Tensor(counting(1000 * rank))
    work = dist.all_reduce(data, async_op=True)
    work.wait()
    is_right(data, sums())
    data = Tensor([float(rank)] * N, torch.float64)
    before = len(synchronized)
    dist.all_reduce(data, op=dist.ReduceOp.AVG)  # it is divided on the GPU, and waited for
    assert len(synchronized) > before
    is_right(data, [sum(range(size)) / size] * N)
    data = Tensor(counting(1000 * rank))
    dist.reduce(data, 1)
    is_right(data, sums() if rank == 1 else counting(1000 * rank))
    data, out = Tensor(counting(1000 * rank, N * size)), Tensor([0] * N)
    dist.reduce_scatter_tensor(out, data)
    is_right(out, sums(N * size)[N * rank:N * (rank + 1)])
    out = Tensor([0] * N)
    dist.reduce_scatter(out, [Tensor([rank + r] * N) for r in range(size)])  # not in a row
    is_right(out, [sum(r + rank for r in range(size))] * N)


def movements():
    data = Tensor(counting(500 * rank))
    dist.broadcast(data, 1)
    is_right(data, counting(500))
    data, outs = Tensor(counting(N * rank)), [Tensor([0] * N) for _ in range(size)]
    dist.all_gather(outs, data)
    for r, out in enumerate(outs):
        is_right(out, counting(N * r))
    out = Tensor([0] * (N * size))
    dist.all_gather_into_tensor(out, data)
    is_right(out, counting(0, N * size))
    dist.gather(data, outs if rank == 0 else None)
    out = Tensor([0] * N)
    dist.scatter(out, outs if rank == 0 else None)
    is_right(out, counting(N * rank))
    data, out = Tensor([rank * size + r for r in range(size)]), Tensor([0] * size)
    dist.all_to_all_single(out, data)
    is_right(out, [r * size + rank for r in range(size)])
    dist.all_to_all_single(out, data, [1] * size, [1] * size)
    is_right(out, [r * size + rank for r in range(size)])
    outs = [Tensor([0]) for _ in range(size)]
    dist.all_to_all(outs, [Tensor([rank * size + r]) for r in range(size)])
    for r, out in enumerate(outs):
        is_right(out, [r * size + rank])
    dist.barrier()


def messages():
    out = Tensor([0] * N)
    works = [dist.isend(Tensor(counting(rank)), right), dist.irecv(out, left)]
    gc.collect()
    for work in works:
        work.wait()
    is_right(out, counting(left))


def out_of_order():
    data = Tensor(counting(1000 * rank))
    data.turned = True
    dist.all_reduce(data)
    is_right(data, sums())
    data = Tensor(counting(rank))
    data.turned = True
    future = dist.all_reduce(data, async_op=True).get_future()
    future.wait()
    is_right(data, [sum(r + i for r in range(size)) for i in range(N)])


def core_calls():
    """The calls of the module take torch's tensors too."""
    w = mlaunch.init()
    data = Tensor(counting(1000 * rank))
    assert w.all_reduce(data) is data
    is_right(data, sums())
    mlaunch.finalize()


def refused(call, *parts):
    try:
        call()
    except mlaunch.Error as e:
        for part in parts:
            assert part in str(e), e
    else:
        raise AssertionError("not refused: %s" % (parts,))


def slips():
    refused(lambda: dist.all_reduce(torch.empty_strided((1,), (1,), device="meta")), "is on meta",
            "on NVIDIA's GPUs")
    refused(lambda: dist.all_gather_into_tensor(_empty(size, dtype=torch.int32), Tensor([1])),
            "is on cpu, another tensor of the call on cuda:0")
    refused(lambda: dist.all_to_all_single(_empty(size, dtype=torch.int32), Tensor([1] * size)),
            "on cpu", "on cuda:0")
    elsewhere = Tensor([1] * size, device="cuda:1")
    refused(lambda: mlaunch.init().all_reduce(elsewhere), "on GPU 1, but it is on GPU 0")
    mlaunch.finalize()
    data = Tensor([1])
    ends = gpu.capture(gpu.work)
    refused(lambda: dist.all_reduce(data), "a CUDA stream is being captured")
    assert ends()
    torch.version = types.SimpleNamespace(hip="5.2")
    refused(lambda: dist.all_reduce(Tensor([1])), "is on cuda:0 of ROCm")
    torch.version = types.SimpleNamespace(hip=None)


for group in (reductions, movements, messages, out_of_order, core_calls, slips):
    group()
dist.barrier()
if rank == 0:
    print("all calls of torch with GPU memory are right")
