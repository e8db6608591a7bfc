# SPDX-License-Identifier: MIT
"""Run by keep.t with `mlaunch -n 4 --elastic MIN`: rank 1 dies, and the others continue with what
all have kept, its part too. Then they wait until the file that is the argument is there."""
import array
import os
import signal
import sys
import time

import mlaunch

SIZE = 1 << 16


def state_of(me, version):
    return array.array("d", [me * 1000 + version + i for i in range(SIZE)])


def refused(code, text, call):
    try:
        call()
    except mlaunch.Error as e:
        assert e.code == code and text in str(e), e
    else:
        raise AssertionError("%s has not failed" % call)


def main(w):
    me = w.id
    assert w.kept("state") is None
    for version in range(1, 4 if me else 3):
        w.keep("state", state_of(me, version), version)
    w.barrier()
    if me == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    refused(mlaunch.ERR_PEER, "rank 1 was killed", w.barrier)

    w = w.repair()
    assert w.kept("state", w.change.left) == 2, "rank 0 has kept no version 3"
    state = array.array("d", bytes(8 * SIZE))
    assert w.restore("state", state) is state and state == state_of(me, 2)
    assert w.restore("state", id=1) == state_of(1, 2).tobytes()
    refused(mlaunch.ERR_ARGUMENT, "kept as float64, and is to be restored as int64",
            lambda: w.restore("state", array.array("q", bytes(8 * SIZE))))
    refused(mlaunch.ERR_ARGUMENT, "and the buffer 8",
            lambda: w.restore("state", array.array("d", [0])))
    refused(mlaunch.ERR_ARGUMENT, "version is -1", lambda: w.keep("state", state, -1))
    refused(mlaunch.ERR_ARGUMENT, "is no name", lambda: w.keep("a b", state, 1))
    refused(mlaunch.ERR_ARGUMENT, "ids is", lambda: w.kept("state", [None]))
    w.keep("raw", b"some bytes", 1)
    assert w.kept("raw") == 1 and w.restore("raw") == b"some bytes"
    if "numpy" in sys.modules:
        import numpy
        w.keep("matrix", numpy.arange(6, dtype="f4").reshape(2, 3), 9)
        assert w.kept("matrix") == 9
        assert (w.restore("matrix", numpy.zeros((2, 3), "f4")) == [[0, 1, 2], [3, 4, 5]]).all()
    print("all is restored", flush=True)
    while not os.path.exists(sys.argv[1]):
        time.sleep(0.02)


with mlaunch.init() as world:
    main(world)
