# SPDX-License-Identifier: MIT
"""Every call of the Python module with buffers in the memory of a GPU, in each rank, by each of the
protocols that objects describe it with.

    python_gpu_calls.py            all calls
    python_gpu_calls.py numpy      transfers alone, to arrays
    python_gpu_calls.py slips      what is refused, and by which sentence
"""

import array
import gc
import sys

import mlaunch
import python_gpu as gpu

w = mlaunch.init()
rank, size = w.rank, w.size
right, left = (rank + 1) % size, (rank - 1) % size
N = 1000
KINDS = (gpu.Described, gpu.DescribedBefore, gpu.Exporting, gpu.ExportingBefore, gpu.Tensor)


def counting(first, count=N):
    return list(range(first, first + count))


def is_right(memory, expected):
    got = memory.read()
    assert got == list(expected), (rank, type(memory).__name__, got[:5], list(expected)[:5])


def sums(count=N):
    return [sum(1000 * r + i for r in range(size)) for i in range(count)]


def reductions(kind):
    data, out = kind(counting(1000 * rank)), kind([0] * N)
    assert w.all_reduce(data, out) is out
    is_right(out, sums())
    is_right(data, counting(1000 * rank))
    assert w.all_reduce(data) is data
    is_right(data, sums())
    data, out = kind(counting(1000 * rank)), kind([0] * N)
    assert w.reduce(data, out, root=1) is out
    if rank == 1:
        is_right(out, sums())
    data, out = kind(counting(1000 * rank, N * size)), kind([0] * N)
    w.reduce_scatter(data, out)
    is_right(out, sums(N * size)[N * rank:N * (rank + 1)])
    data = kind([1] * N)
    is_right(w.scan(data), [rank + 1] * N)
    data = kind([float(rank)] * N, "d")
    is_right(w.all_reduce(data, op=mlaunch.MAX), [float(size - 1)] * N)
    data = kind([2] * N, "q")
    is_right(w.all_reduce(data, op=mlaunch.Operator(product)), [2 ** size] * N)


def product(left, right):
    for i, value in enumerate(right):
        left[i] *= value


def movements(kind):
    data, out = kind(counting(N * rank)), kind([0] * (N * size))
    w.all_gather(data, out)
    is_right(out, counting(0, N * size))
    data = kind([rank * size + j for j in range(size)])
    w.all_to_all(data)
    is_right(data, [j * size + rank for j in range(size)])
    counts = [r + 1 for r in range(size)]
    data, out = kind([rank] * (rank + 1)), kind([0] * sum(counts))
    w.all_gather_v(data, out, counts)
    is_right(out, [r for r in range(size) for _ in range(r + 1)])
    data, out = kind([rank] * sum(counts)), kind([0] * (size * (rank + 1)))
    w.all_to_all_v(data, counts, out, [rank + 1] * size)
    is_right(out, [r for r in range(size) for _ in range(rank + 1)])
    data = kind(counting(5000 * rank))
    w.broadcast(data, root=1)
    is_right(data, counting(5000))
    part, whole = kind(counting(N * rank)), kind([0] * (N * size)) if rank == 0 else None
    w.gather(part, whole)
    if rank == 0:
        is_right(whole, counting(0, N * size))
    out = kind([0] * N)
    w.scatter(whole, out)
    is_right(out, counting(N * rank))


def messages(kind):
    data, out = kind(counting(rank)), kind([0] * N)
    w.sendrecv(data, right, out, left)
    is_right(out, counting(left))
    request = w.start_send(kind(counting(7 + rank)), right)  # which alone holds it now
    gc.collect()
    w.recv(out, left)
    request.wait()
    is_right(out, counting(7 + left))
    request = w.start_send_tag(data, right, 5)
    assert w.recv_tag(out, left, 5).size == 4 * N
    request.wait()
    is_right(out, counting(left))
    data = kind(counting(1000 * rank))
    request = w.start_all_reduce(data)
    assert request.wait() is data
    is_right(data, sums())


def windows(kind):
    with w.window(8 * N) as window:
        window.put(kind(counting(rank)), right)
        window.flush()
        w.barrier()
        is_right(window.get(kind([0] * N), rank), counting(left))
        w.barrier()
        window.start_put(kind(counting(100 + rank)), left).wait()
        window.put_signal(kind(counting(1, 2)), left, 4 * N, 4 * N + 8)
        assert window.wait_signal(4 * N + 8, 1, 60)
        out = kind([0] * N)
        assert window.start_get(out, rank).wait() is out
        is_right(out, counting(100 + right))
        w.barrier()


def windows_on_gpus(kind):
    """The parts themselves are on GPUs; then that of rank 0 alone. The last number is a signal."""
    at = 4 * N + 8 - 4 * N % 8
    for some in (range(w.size), [0]):
        memory = kind([0] * (N + 4)) if rank in some else mlaunch.alloc(4 * N + 16)
        with w.window(memory=memory) as window:
            assert (window.memory is memory) == (rank in some)
            assert window.part_sizes == (4 * N + 16,) * w.size
            window.put(kind(counting(rank)), right)
            window.flush()
            w.barrier()
            is_right(window.get(kind([0] * N), right), counting(rank))
            assert window.get(array.array("i", [0] * N), rank).tolist() == counting(left)
            w.barrier()
            window.put_signal(array.array("i", counting(5 + rank)), left, 0, at)
            assert window.wait_signal(at, 1, 60) and window.fetch_add(rank, at, 2) == 1
            is_right(window.get(kind([0] * N), rank), counting(5 + right))
            w.barrier()


def pools():
    memory = gpu.Described([0] * N * 64)
    with mlaunch.Pool(memory=memory) as pool:
        assert pool.memory is memory and pool.size == 4 * N * 64 // 64 * 64
        buffer = pool.alloc(4 * N)
        assert buffer.__cuda_array_interface__["data"] == (memory.address, False)
        w.broadcast(buffer, 0)
        refused(lambda: buffer.memory, mlaunch.ERR_ARGUMENT, "offset 0 of the pool is on a GPU")
        buffer.release()
        assert not hasattr(buffer, "__cuda_array_interface__")
    host = mlaunch.alloc(4096)
    with mlaunch.Pool(memory=host) as pool, pool.alloc(8) as buffer:
        buffer.memory[:] = b"abcdefgh"
        assert bytes(host[:8]) == b"abcdefgh" and not hasattr(buffer, "__cuda_array_interface__")


def transfers_on_gpus():
    """What is put from a GPU stays on one, where its rank has a pool there."""
    memory = gpu.Described([0] * 4096) if rank != 1 else None
    with mlaunch.Transfer(w, pool_size=1 << 20, memory=memory) as t:
        t.put("a", gpu.Described(counting(rank)))
        t.put("b", array.array("i", counting(7 + rank)))
        is_right(t.get("a", left, gpu.Described([0] * N)), counting(left))
        is_right(t.get("b", left, gpu.Described([0] * N)), counting(7 + left))
        t.put("host", gpu.Described(counting(rank)))
        assert t.get("host", right, array.array("i", [0] * N)).tolist() == counting(right)
        w.barrier()
        before = t.health().get("gpu_pool_left")
        assert (before is None) == (rank == 1)
        if rank == 1:
            refused(lambda: t.buffer(4 * N, on_gpu=True), mlaunch.ERR_ARGUMENT, "memory=")
            t.put("c", array.array("i", counting(9 + rank)))
        else:
            buffer = t.buffer(4 * N, on_gpu=True)
            gpu.fill(buffer.__cuda_array_interface__["data"][0], counting(9 + rank))
            t.put("c", buffer)
            refused(lambda: buffer.memory, mlaunch.ERR_STATE)
        is_right(t.get("c", left, gpu.Described([0] * N)), counting(9 + left))
        w.barrier()
        assert t.health().get("gpu_pool_left") == before


def mixed():
    """Objects of several protocols, and of the host, in one call; ranks differ too."""
    data = gpu.Described(counting(1000 * rank)) if rank else array.array("i", counting(0))
    out = gpu.Exporting([0] * N)
    w.all_reduce(data, out)
    is_right(out, sums())
    out = array.array("i", [0]) * N
    w.all_reduce(gpu.Tensor(counting(1000 * rank)), out)
    assert out.tolist() == sums()
    nothing = gpu.Described([])
    assert w.all_reduce(nothing) is nothing


def streams():
    """A call waits for the stream that was named and no other; for several it waits for all."""
    other = gpu.stream()
    late = gpu.Memory([1], at=other)
    w.all_reduce(gpu.Described([5]))
    assert late.read() != [1] or not gpu.is_fake
    w.all_reduce(gpu.Exporting([5]))
    assert late.read() != [1] or not gpu.is_fake
    with w.window(memory=gpu.Described([0] * 4)) as window:
        window.put(gpu.Described([7]), right)
        window.start_put(gpu.Tensor([8]), right, 4).wait()
        window.put_signal(gpu.Described([9]), right, 12, 0)
        window.get(gpu.Described([0]), rank)
        window.start_get(gpu.Tensor([0]), rank).wait()
        assert late.read() != [1] or not gpu.is_fake
    data, out = gpu.Described([rank], at=other), gpu.Described([0])
    data.stream = other
    w.all_reduce(data, out)
    is_right(out, [sum(range(size))])
    is_right(late, [1])
    # The name holds for one call.
    late = gpu.Memory([1], at=other)
    w.all_reduce(gpu.Described([5]))
    w.all_reduce(gpu.DescribedBefore([5]))
    is_right(late, [1])
    data = gpu.Described([3], at=gpu.LEGACY)
    data.stream = gpu.LEGACY
    is_right(w.all_reduce(data), [3 * size])


def types():
    bf = gpu.Exporting([0x3f80] * 4, "H")  # four times 1.0
    bf.kind = (4, 16)
    is_right(w.all_reduce(bf, op=mlaunch.MAX), [0x3f80] * 4)
    bf = gpu.Tensor([0x3f80] * 4, "H")
    bf.element_type = "bfloat16"
    is_right(w.all_reduce(bf, op=mlaunch.MAX), [0x3f80] * 4)
    short = gpu.Exporting([1, 2, 3, 4])  # which begins behind where its pointer points
    short.offset = 64
    is_right(w.all_reduce(short), [size * n for n in (1, 2, 3, 4)])
    square = gpu.Exporting([1, 2, 3, 4])
    square.shape, square.strides = [1, 2, 1, 2], [99, 2, 0, 1]
    is_right(w.all_reduce(square), [size * n for n in (1, 2, 3, 4)])


def transfers():
    """Data on a GPU arrives in host memory or, in get()'s out, on a GPU again."""
    with mlaunch.Transfer(w, pool_size=1 << 20) as t:
        for kind in KINDS:
            name = kind.__name__
            t.put("a " + name, kind(counting(rank)))
            t.put("b " + name, kind(counting(7 + rank)))
            t.put("c " + name, array.array("i", counting(9 + rank)))
            out = kind([0] * (N + 2))
            assert t.get("a " + name, left, out) is out
            is_right(out, counting(left) + [0, 0])
            host = array.array("i", [0]) * N
            assert t.get("b " + name, left, host)[0] == 7 + left
            is_right(t.get("c " + name, left, kind([0] * N)), counting(9 + left))
            t.put("d " + name, kind([1]))
            refused(lambda n=name: t.get("d " + n, left, gpu.Described([], "B")),
                    mlaunch.ERR_ARGUMENT, "out has 0 bytes, 4 are needed")
            t.get("d " + name, left, kind([0]))
        t.put("square", changed(gpu.Exporting, shape=[2, 2]))
        if sys.argv[1:] == ["numpy"]:
            assert t.get("square", left).tolist() == [[1, 2], [3, 4]]
        else:
            is_right(t.get("square", left, gpu.Described([0] * 4)), [1, 2, 3, 4])
        refused(lambda: t.put("frozen", changed(gpu.Tensor, place="mps")), mlaunch.ERR_ARGUMENT,
                "data is on mps")


def refused(call, code, *parts):
    try:
        call()
    except mlaunch.Error as e:
        assert e.code == code, e
        for part in parts:
            assert part in e.text, (part, e.text)
    else:
        raise AssertionError("not refused: %s" % (parts,))


def with_changes(**changes):
    made = gpu.Described([1, 2, 3, 4])
    made.changes = changes
    return made


def changed(what, **changes):
    made = what([1, 2, 3, 4])
    for name, value in changes.items():
        setattr(made, name, value)
    return made


def slips():
    argument = mlaunch.ERR_ARGUMENT
    out = gpu.Described([0] * 4)

    def read_only():
        frozen = with_changes(data=(out.address, True))
        refused(lambda: w.all_reduce(frozen), argument, "data: python_gpu.Described is read-only")
        is_right(w.all_reduce(frozen, gpu.Exporting([1] * 4)), [0] * 4)
        for flags in (1, 2):
            refused(lambda f=flags: w.recv(changed(gpu.Exporting, flags=f), 0), argument,
                    "out: python_gpu.Exporting is read-only")
        refused(lambda: w.all_reduce(changed(gpu.Tensor, requires_grad=True)), argument,
                "data requires grad", "data.detach()")

    def order():
        refused(lambda: w.all_reduce(with_changes(strides=(8,))), argument, "in C's order",
                "cupy.ascontiguousarray(data)")
        turned = changed(gpu.Exporting, shape=[2, 2], strides=[1, 2])
        refused(lambda: w.all_reduce(turned), argument, "in C's order")
        refused(lambda: w.all_reduce(changed(gpu.Tensor, is_right=False)), argument,
                "in C's order", "data.contiguous()")
        refused(lambda: w.all_reduce(changed(gpu.Tensor, layout="sparse_coo")), argument,
                "data is sparse")

    def place():
        refused(lambda: w.all_reduce(changed(gpu.Exporting, device=10)), argument,
                "data: python_gpu.Exporting is on a ROCm device", "of NVIDIA's GPUs")
        refused(lambda: w.all_reduce(changed(gpu.Exporting, number=1)), argument,
                "says that its memory is on GPU 1, but it is on GPU 0")
        refused(lambda: w.all_reduce(changed(gpu.Tensor, place="mps")), argument, "data.cpu()")
        host = array.array("i", [1])
        refused(lambda: w.all_reduce(with_changes(data=(host.buffer_info()[0], False))), argument,
                "the driver knows no such memory")
        refused(lambda: w.all_reduce(changed(gpu.Exporting, device=1)), argument,
                "data: Exporting can't be used as a contiguous writable buffer")

    def captured():
        stream = gpu.stream()
        data = gpu.Described([1, 2, 3, 4], at=stream)
        data.stream = stream
        ends = gpu.capture(stream)
        refused(lambda: w.all_reduce(data), argument, "a CUDA stream is being captured")
        refused(lambda: w.start_all_reduce(data), argument, "a CUDA stream is being captured")
        assert ends()
        is_right(w.all_reduce(data), [size * n for n in (1, 2, 3, 4)])

    def nonsense():
        for changes in ({"typestr": "what"}, {"shape": (-1,)}, {"shape": (1 << 62,)},
                        {"data": 5}, {"stream": 0}, {"shape": ("a",)}):
            refused(lambda c=changes: w.all_reduce(with_changes(**c)), argument,
                    "data: python_gpu.Described does not give its GPU memory by "
                    "__cuda_array_interface__: ")
        refused(lambda: w.all_reduce(with_changes(mask=out)), argument, "mask")
        refused(lambda: w.all_reduce(with_changes(typestr=">i4")), argument, "byte order")
        refused(lambda: w.all_reduce(with_changes(typestr="<V4")), argument, "no type")
        refused(lambda: w.all_reduce(changed(gpu.Exporting, major=2)), argument, "DLPack 2.0")
        refused(lambda: w.all_reduce(changed(gpu.Exporting, kind=(0, 4))), argument, "4 bits")
        refused(lambda: w.all_reduce(changed(gpu.Exporting, kind=(9, 32))), argument, "type9_32")
        refused(lambda: w.all_reduce(changed(gpu.Exporting, __class__=Failing)), argument,
                "RuntimeError: it is a bad day")

    class Failing(gpu.Exporting):
        def __dlpack__(self, **_):
            raise RuntimeError("it is a bad day")

    for slip in (read_only, order, place, captured, nonsense):
        slip()
    is_right(w.all_reduce(gpu.Described([1])), [size])  # no harm was done


def main():
    gpu.pretend_torch()
    if sys.argv[1:] == ["slips"]:
        slips()
    elif sys.argv[1:] == ["numpy"]:
        transfers()
    else:
        for kind in KINDS:
            for group in (reductions, movements, messages, windows, windows_on_gpus):
                group(kind)
        for group in (mixed, streams, types, transfers, pools, transfers_on_gpus):
            group()
    gc.collect()
    assert not gpu.exports, gpu.exports
    everywhere = w.all_reduce(array.array("i", [1]))[0]
    if rank == 0 and everywhere == size:
        print("all calls with GPU memory are right")
    mlaunch.finalize()


main()
