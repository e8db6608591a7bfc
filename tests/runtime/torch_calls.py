# SPDX-License-Identifier: MIT
"""Every call of the backend "mlaunch" of torch.distributed, against expected values, in each rank.

    torch_calls.py            all calls, types and ways to wait
    torch_calls.py beside     groups of some of the ranks where gloo is the default
    torch_calls.py raised     something raises while a call is started
    torch_calls.py die        rank 1 is killed in the middle; the others get its name
"""

import datetime
import itertools
import os
import signal
import sys
import threading
import time
import weakref

import torch
import torch.distributed as dist

import mlaunch
import mlaunch.torch
from raised_at import raised_at

INTEGERS = [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64]
FLOATS = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
COMPLEX = [torch.complex64, torch.complex128]
ALL = [torch.bool] + INTEGERS + FLOATS + COMPLEX
OPS = dist.ReduceOp

dist.init_process_group("gloo" if sys.argv[1:] == ["beside"] else "mlaunch")
rank, size = dist.get_rank(), dist.get_world_size()


def values(of, dtype, count=5):
    """What rank `of` has: small numbers, so that no sum of floats is rounded."""
    return ((torch.arange(count) + of) % 3 + 1).to(dtype)


def every(dtype, count=5):
    return [values(r, dtype, count) for r in range(size)]


def is_same(got, expected, *what):
    assert got.dtype == expected.dtype and torch.equal(got, expected), (rank, what, got, expected)


def reduced(op, tensors):
    """The expected value, by torch's own operations."""
    result = tensors[0].clone()
    for t in tensors[1:]:
        if op == OPS.SUM or op == OPS.AVG:
            result = result + t
        elif op == OPS.PRODUCT:
            result = result * t
        elif op == OPS.MIN:
            result = torch.minimum(result, t)
        elif op == OPS.MAX:
            result = torch.maximum(result, t)
        elif op == OPS.BAND:
            result = result & t
        elif op == OPS.BOR:
            result = result | t
        else:
            result = result ^ t
    return result / size if op == OPS.AVG else result


def ops_of(dtype):
    if dtype in COMPLEX:
        return [OPS.SUM, OPS.AVG]
    if dtype in FLOATS:
        return [OPS.SUM, OPS.AVG, OPS.PRODUCT, OPS.MIN, OPS.MAX]
    return [OPS.SUM, OPS.PRODUCT, OPS.MIN, OPS.MAX, OPS.BAND, OPS.BOR, OPS.BXOR]


def check_reductions(dtype):
    for op in ops_of(dtype):
        expected = reduced(op, every(dtype))
        t = values(rank, dtype)
        dist.all_reduce(t, op)
        is_same(t, expected, "all_reduce", op)
        if dtype in COMPLEX:  # torch passes only those of all_reduce as real numbers
            continue
        t = values(rank, dtype)
        dist.reduce(t, size - 1, op)
        if rank == size - 1:
            is_same(t, expected, "reduce", op)
        expected = reduced(op, every(dtype, 2 * size))[2 * rank:2 * rank + 2]
        t = values(rank, dtype, 2 * size)
        out = torch.zeros(2, dtype=dtype)
        dist.reduce_scatter(out, list(t.clone().split(2)), op)
        is_same(out, expected, "reduce_scatter, one after the other", op)
        out.zero_()
        dist.reduce_scatter(out, [part.clone() for part in t.split(2)], op)
        is_same(out, expected, "reduce_scatter", op)
        out.zero_()
        dist._reduce_scatter_base(out, t, op)
        is_same(out, expected, "reduce_scatter_tensor", op)


def check_movements(dtype):
    for root in range(size):
        t = values(rank, dtype)
        dist.broadcast(t, root)
        is_same(t, values(root, dtype), "broadcast", root)
    out = [torch.zeros(5, dtype=dtype) for _ in range(size)]
    dist.all_gather(out, values(rank, dtype))
    for r in range(size):
        is_same(out[r], values(r, dtype), "all_gather", r)
    flat = torch.zeros(5 * size, dtype=dtype)
    dist.all_gather(list(flat.split(5)), values(rank, dtype))
    is_same(flat, torch.cat(every(dtype)), "all_gather, one after the other")
    flat.zero_()
    dist._all_gather_base(flat, values(rank, dtype))
    is_same(flat, torch.cat(every(dtype)), "all_gather_into_tensor")
    out = [torch.zeros(5, dtype=dtype) for _ in range(size)] if rank == 1 else None
    dist.gather(values(rank, dtype), out, 1)
    for r in range(size if rank == 1 else 0):
        is_same(out[r], values(r, dtype), "gather", r)
    t = torch.zeros(5, dtype=dtype)
    dist.scatter(t, every(dtype) if rank == 0 else None, 0)
    is_same(t, values(rank, dtype), "scatter")
    # Rank r sends to rank j a block of r + j elements.
    out = [torch.zeros(r + rank, dtype=dtype) for r in range(size)]
    dist.all_to_all(out, [values(rank, dtype, rank + j) for j in range(size)])
    for r in range(size):
        is_same(out[r], values(r, dtype, r + rank), "all_to_all", r)
    t = torch.zeros(2 * size, dtype=dtype)
    dist.all_to_all_single(t, values(rank, dtype, 2 * size))
    is_same(t, torch.cat([values(r, dtype, 2 * size)[2 * rank:2 * rank + 2] for r in range(size)]),
            "all_to_all_single")
    sizes, mine = [r + rank for r in range(size)], [rank + j for j in range(size)]
    t = torch.zeros(sum(sizes), 2, dtype=dtype)
    dist.all_to_all_single(t, torch.cat([values(rank, dtype, 2 * n).view(n, 2) for n in mine]),
                           sizes, mine)
    is_same(t, torch.cat([values(r, dtype, 2 * n).view(n, 2) for r, n in enumerate(sizes)]),
            "all_to_all_single with sizes")
    left, right = (rank - 1) % size, (rank + 1) % size
    t = torch.zeros(5, dtype=dtype)
    request = dist.irecv(t, left)
    dist.send(values(rank, dtype), right)
    request.wait()
    is_same(t, values(left, dtype), "send and irecv")


def check_layouts():
    """Tensors whose elements don't lie one after the other."""
    whole = torch.zeros(4, 6)
    part = whole[:, ::2]
    part.fill_(rank + 1)
    dist.all_reduce(part)
    assert part.eq(size * (size + 1) / 2).all() and whole[:, 1::2].eq(0).all(), whole
    t = torch.arange(6.).view(2, 3).t() + rank
    dist.broadcast(t, 1)
    is_same(t, torch.arange(6.).view(2, 3).t() + 1, "broadcast, transposed")
    out = [torch.zeros(2, 3).t() for _ in range(size)]
    dist.all_gather(out, torch.arange(6.).view(2, 3).t() + rank)
    for r in range(size):
        is_same(out[r], torch.arange(6.).view(2, 3).t() + r, "all_gather, transposed", r)
    empty = torch.zeros(0)
    dist.all_reduce(empty)
    leaf = torch.nn.Parameter(torch.ones(3))
    dist.all_reduce(leaf.grad if leaf.grad is not None else leaf.data)
    big = torch.full((1 << 20,), float(rank))
    dist.all_reduce(big)
    assert big.eq(size * (size - 1) / 2).all()


def check_async():
    tensors = [torch.full((1000,), float(rank + i)) for i in range(100)]
    works = [dist.all_reduce(t, async_op=True) for t in tensors]
    deadline = time.monotonic() + 60
    while not works[-1].is_completed():
        assert time.monotonic() < deadline
        time.sleep(0.001)
    for i, (t, w) in enumerate(zip(tensors, works)):
        w.wait()
        assert w.is_success() and w.exception() is None
        assert t.eq(i * size + size * (size - 1) / 2).all(), (i, t)
    t = torch.ones(4)
    future = dist.all_reduce(t, async_op=True).get_future().then(lambda f: f.value()[0] * 2)
    assert future.wait().eq(2 * size).all()
    work = dist.all_reduce(t, OPS.AVG, async_op=True)
    assert work.result()[0] is t and t.eq(size).all()
    assert work.get_future().wait()[0].eq(size).all()
    for _ in range(1000):  # nobody waits for these
        dist.all_reduce(t, OPS.MAX, async_op=True)
    assert len(dist.distributed_c10d._get_default_group()._calls.works) <= 1000
    dist.barrier(async_op=True).wait()
    # Messages and collective calls don't wait for each other.
    out = torch.zeros(1 << 18)
    if rank == 0:
        dist.barrier()
        dist.send(torch.ones(1 << 18), 1)
    elif rank == 1:
        request = dist.irecv(out, 0)
        try:
            request.wait(datetime.timedelta(milliseconds=20))
            assert False
        except mlaunch.Error as e:
            assert e.code is mlaunch.ERR_TIMEOUT
        dist.barrier()
        request.wait()
        assert out.eq(1).all()
    else:
        dist.barrier()


def check_objects():
    got = [None] * size
    dist.all_gather_object(got, {"rank": rank})
    assert got == [{"rank": r} for r in range(size)]
    got = [rank]
    dist.broadcast_object_list(got, 1)
    assert got == [1]


def check_threads():
    """Each thread has a group; a receive that waits does not keep another thread from sending."""
    def sum_up(group, value):
        for _ in range(50):
            t = torch.full((10,), value)
            dist.all_reduce(t, group=group)
            sums.append(t.eq(value * size).all().item())

    def receive(out):
        dist.recv(out, 1 - rank)

    sums = []
    threads = [threading.Thread(target=sum_up, args=(dist.new_group(), float(i)))
               for i in range(3)]
    if rank < 2:
        out = torch.zeros(3)
        threads.append(threading.Thread(target=receive, args=(out,)))
    for thread in threads:
        thread.start()
    if rank < 2:
        dist.send(torch.ones(3), 1 - rank)
    for thread in threads:
        thread.join()
    assert sums == [True] * 150, sums
    assert rank >= 2 or out.eq(1).all()


def check_groups():
    whole = dist.new_group(list(range(size)), backend="mlaunch")
    t = torch.ones(1)
    dist.all_reduce(t, group=whole)
    assert t.item() == size
    odd = dist.new_group([r for r in range(size) if r % 2], backend="mlaunch")
    even = dist.new_group([r for r in range(size) if r % 2 == 0], backend="mlaunch")
    t = torch.full((3,), float(rank))
    group = odd if rank % 2 else even
    dist.all_reduce(t, group=group)
    assert t.eq(sum(r for r in range(size) if r % 2 == rank % 2)).all()
    assert dist.get_world_size(group) == len(range(rank % 2, size, 2))
    dist.destroy_process_group(group)


def refused(sentence, call, *arguments, **named):
    try:
        call(*arguments, **named)
    except RuntimeError as e:
        assert sentence in str(e) and isinstance(e, mlaunch.Error), e
        assert e.code is mlaunch.ERR_ARGUMENT
    else:
        assert False, sentence


def check_slips():
    t = torch.ones(2)
    refused("no tags", dist.send, t, (rank + 1) % size, tag=3)
    refused("give recv() its src", dist.recv, t)
    refused("AVG is for floating point", dist.all_reduce, torch.ones(2, dtype=torch.int32), OPS.AVG)
    refused("sparse", dist.all_reduce, torch.ones(2, 2).to_sparse())
    refused("on meta", dist.all_reduce, torch.ones(2, device="meta"))
    odd = torch.ones(size + 1)
    refused("must be able to share it", dist.all_to_all_single, odd, odd.clone())
    refused("elements, not", dist.all_gather, [torch.ones(3)] * size, t)
    dist.barrier()


def check_raised(pg):
    """Something raises as a receive of a message to oneself is started. If it was started
    nevertheless, its tensor lives until the message has come."""
    for place in itertools.count():
        tensors, got, rest = [torch.zeros(1)], torch.zeros(1), torch.zeros(1)
        is_alive = weakref.ref(tensors[0])
        was_raised = raised_at(place, lambda: pg.recv(tensors, rank))
        tensors.clear()
        was_alive = is_alive() is not None
        pg.send([torch.ones(1)], rank)
        receive = pg.recv([got], rank)
        pg.send([torch.full((1,), 2.0)], rank)
        receive.wait()
        if got.item() == 1:  # none was started before
            pg.recv([rest], rank).wait()
        else:
            assert was_alive, "place %d: the library writes memory that was freed" % place
        if not was_raised:
            return place


if sys.argv[1:] == ["raised"]:
    assert check_raised(dist.distributed_c10d._get_default_group()) > 10
    dist.destroy_process_group()
    print("whatever raises leaves tensors held")
    sys.exit()
if sys.argv[1:] == ["beside"]:
    check_groups()
    dist.destroy_process_group()
    sys.exit()
if sys.argv[1:] == ["die"]:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # mlaunch ends the others; they speak first
    t = torch.ones(1000)
    dist.all_reduce(t)
    if rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    try:
        while True:
            dist.all_reduce(t)
    except RuntimeError as e:
        assert isinstance(e, mlaunch.Error) and e.code is mlaunch.ERR_PEER, e
        assert "rank 1" in str(e), e
        sys.stdout.write("rank %d: %s\n" % (rank, e))  # print() writes the newline apart
        sys.stdout.flush()
        sys.exit(1)

for dtype in ALL:
    check_reductions(dtype)
    check_movements(dtype)
check_layouts()
check_async()
check_objects()
check_groups()
check_threads()
check_slips()
dist.barrier()
dist.destroy_process_group()
if rank == 0:
    print("all calls of torch are right")
