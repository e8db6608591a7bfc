# SPDX-License-Identifier: MIT
"""Windows from Python, on any number of ranks."""
import array
import ctypes
import struct
import threading

import mlaunch

g = mlaunch.init()
after, before = (g.rank + 1) % g.size, (g.rank - 1) % g.size

with g.window(4096) as w:
    assert w.part_sizes == (4096,) * g.size and len(w.memory) == 4096, w.part_sizes
    data = array.array("q", [g.rank] * 10)
    w.put_signal(data, after, 64, 0)
    assert w.wait_signal(0, 1)
    assert w.memory.cast("q")[8:18].tolist() == [before] * 10
    assert not w.wait_signal(0, 2, 0) and not w.wait_signal(0, 2, 0.01)
    out = bytearray(80)
    assert w.get(out, after, 64) is out and out == data.tobytes()
    w.start_put(b"started", after, 200).wait()
    w.flush()
    g.barrier()
    assert bytes(w.memory[200:207]) == b"started"
    assert bytes(w.start_get(bytearray(7), after, 200).wait()) == b"started"
    w.fetch_add(0, 8)
    w.fetch_add(0, 8, -1)
    w.fetch_add(0, 8, 2)
    g.barrier()
    assert w.fetch_add(0, 8, 0) == 2 * g.size
    old = w.compare_swap(0, 16, 0, g.rank + 1)
    assert 0 <= old <= g.size

    # Several threads at once.
    def add():
        for _ in range(50):
            w.fetch_add(0, 24)
            w.put(b"x" * 100, after, 1000)
    threads = [threading.Thread(target=add) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    g.barrier()
    assert w.fetch_add(0, 24, 0) == 200 * g.size

    for wrong, text in ((lambda: w.put(bytes(10), after, 4090), "not within rank"),
                        (lambda: w.get(bytearray(1), g.size), "the group has ranks"),
                        (lambda: w.fetch_add(0, 4), "8-byte aligned"),
                        (lambda: w.put("text", 0), "encode")):
        try:
            wrong()
            raise SystemExit("no error: " + text)
        except mlaunch.Error as e:
            assert e.code == mlaunch.ERR_ARGUMENT and text in str(e), e
    g.barrier()



class Point(ctypes.Structure):
    _fields_ = [("x", ctypes.c_double), ("number", ctypes.c_int)]


# Memory of any shape and format.
for memory in ((ctypes.c_double * 3 * 0)(), (Point * 4).from_buffer(mlaunch.alloc(64))):
    with g.window(memory=memory) as w:
        assert len(w.memory) == ctypes.sizeof(memory) and w.memory.format == "B", w.memory
        if len(memory):
            w.put(struct.pack("=di", 2.5, g.rank), after, 16)
            w.flush()
            g.barrier()
            assert (memory[1].x, memory[1].number) == (2.5, before)

own = mlaunch.alloc(800, "d")
w = g.window(memory=own)
own[0] = 1.5
w.flush()
g.barrier()
out = array.array("d", [0])
assert w.get(out, after)[0] == 1.5
w.free()
w.free()
try:
    w.put(b"x", 0)
    raise SystemExit("a freed window was used")
except mlaunch.Error as e:
    assert e.code == mlaunch.ERR_STATE, e
left = g.window(16)
g.barrier()
mlaunch.finalize()
print("fine")
