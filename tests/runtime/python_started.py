# SPDX-License-Identifier: MIT
"""Calls that are started, and whose buffers are held until they are done: whatever a signal's
handler raises at any place, and whatever threads drop.

python_started.py raised | dropped
"""
import array
import itertools
import sys
import threading
import time

import mlaunch
import switching_threads
from raised_at import raised_at


def is_held(buffer):
    try:
        buffer.append(0)
        buffer.pop()
        return False
    except BufferError:
        return True


def let_go(w, buffer):
    """Returns once nothing holds the buffer: a call that is started ends those that are done."""
    deadline = time.monotonic() + 60
    while is_held(buffer):
        assert time.monotonic() < deadline, "the buffer is held for ever"
        w.start_barrier().wait()


def raised_in_start(w):
    """The receive of a message to oneself is started, and something raises. If it was started
    nevertheless, the message comes to the buffer, which must be held until then."""
    for place in itertools.count():
        buffer = bytearray(8)
        was_raised = raised_at(place, lambda: w.start_recv_tag(buffer, w.rank, place))
        was_held = is_held(buffer)
        w.send_tag(b"messages", w.rank, place)
        if w.try_probe(w.rank, place) is None:
            assert was_held, "place %d: the library writes a buffer that is not held" % place
            let_go(w, buffer)
            assert buffer == b"messages", (place, buffer)
        else:
            assert not was_held, "place %d: a buffer is held, and nothing was started" % place
            w.recv_tag(bytearray(8), w.rank, place)
        if not was_raised:
            return place


def raised_in_wait(w):
    """Something raises in wait(), which is called again."""
    for place in itertools.count():
        buffer = bytearray(8)
        request = w.start_recv_tag(buffer, w.rank, place)
        w.send_tag(b"messages", w.rank, place)
        was_raised = raised_at(place, request.wait)
        assert request.wait().size == 8 and buffer == b"messages", (place, buffer)
        assert request.test() and request.wait().source == w.rank
        let_go(w, buffer)
        if not was_raised:
            return place


def raised_in_get(window):
    """Something raises as a get is started."""
    for place in itertools.count():
        buffer = bytearray(8)
        was_raised = raised_at(place, lambda: window.start_get(buffer, window.rank))
        if not was_raised:
            return place


def raised():
    w = mlaunch.init()
    assert raised_in_start(w) > 10 and raised_in_wait(w) > 5
    with w.window(64) as window:
        assert raised_in_get(window) > 10
    w.barrier()
    mlaunch.finalize()
    assert not mlaunch._call._calls
    print("whatever raises leaves what is started held")


def dropped():
    """Threads start calls on groups of their own, and drop the requests."""
    w = mlaunch.init()
    groups = [w.split(0) for _ in range(4)]
    failed = []

    def work(group):
        try:
            for i in range(2000):
                data = array.array("q", [1])
                group.start_all_reduce(data)
                if i % 100 == 0:
                    group.start_barrier().wait()
        except BaseException as e:  # pylint: disable=broad-except
            failed.append(repr(e))
    threads = [threading.Thread(target=work, args=(group,)) for group in groups]
    switching_threads.run(threads)
    assert not failed, failed
    for group in groups:
        group.start_barrier().wait()
    w.start_barrier().wait()
    mlaunch.finalize()
    assert not mlaunch._call._calls, len(mlaunch._call._calls)
    print("requests that threads drop end once")


{"raised": raised, "dropped": dropped}[sys.argv[1]]()
