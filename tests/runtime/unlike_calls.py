# SPDX-License-Identifier: MIT
"""unlike_calls.py: in turn, each rank makes another call than the others, in a new group each time.
All ranks must get the mismatch as an error, whichever links their messages take.

unlike_calls.py CALL RANK: makes CALL again and again until RANK kills itself. The others must get
its death as an error."""
import array
import os
import signal
import sys

import mlaunch

SHORT, LONG = 8, 300000


def make(group, call, size=SHORT, root=0):
    """Makes a call with `size` bytes, of a share or of the vector, the same on all ranks."""
    n = size // 8
    one, all_ = array.array("d", [1.0] * n), array.array("d", [0.0] * n * group.size)
    if call == "all_reduce":
        group.all_reduce(one)
    elif call == "reduce":
        group.reduce(one, array.array("d", one), root=root)
    elif call == "broadcast":
        group.broadcast(one, root)
    elif call == "reduce_scatter":
        group.reduce_scatter(all_, one)
    elif call == "all_gather":
        group.all_gather(one, all_)
    elif call == "all_to_all":
        group.all_to_all(all_)
    elif call == "gather":
        group.gather(one, all_, root)
    elif call == "scatter":
        group.scatter(all_, one, root)
    elif call == "split":
        group.split(0)
    else:
        group.barrier()


def unlike(world):
    calls = [("barrier", SHORT, 0), ("all_reduce", SHORT, 0), ("all_reduce", LONG, 0),
             ("reduce", SHORT, 1), ("reduce", LONG, 0),
             ("broadcast", SHORT, 3), ("broadcast", LONG, 0),
             ("all_gather", SHORT, 0), ("all_gather", LONG, 0),
             ("reduce_scatter", SHORT, 0), ("reduce_scatter", LONG, 0)]
    # These differ in their roots only, or meet a split.
    pairs = [((call, size, 0), (call, size, root)) for size in (SHORT, LONG) for root in (1, 3)
             for call in ("reduce", "broadcast", "gather", "scatter")]
    pairs += [(("split", 0, 0), call) for call in calls + [("all_to_all", LONG, 0)]]
    pairs += [(call, calls[(i + 1 + i % 3) % len(calls)]) for i, call in enumerate(calls)]
    wrong = 0
    for i, (call, other) in enumerate(pairs):
        odd = i % world.size
        group = world.split(0)
        try:
            make(group, *(other if world.rank == odd else call))
            group.barrier()  # who was done before it could be seen
            what = "no error"
        except mlaunch.Error as e:
            what = "" if e.code == mlaunch.ERR_MISMATCH else str(e)
        if what:
            wrong += 1
            say("rank %d: %s, and %s by rank %d: %s" % (world.rank, call, other, odd, what))
    total = array.array("i", [wrong])
    world.all_reduce(total)
    if world.rank == 0:
        print("%d groups, %d wrong" % (len(pairs), total[0]))


def say(line):
    """In one piece, so that with --output raw no other rank's line comes in between."""
    sys.stdout.write(line + "\n")


def until_dead(world, call, victim):
    try:
        for i in range(1000):
            if i == 50 and world.rank == victim:
                os.kill(os.getpid(), signal.SIGKILL)
            make(world, call, SHORT if i % 2 else LONG, i % world.size)
        say("rank %d: no error" % world.rank)
    except mlaunch.Error as e:
        told = "rank %d was killed by signal 9" % victim in str(e)
        heard = e.code == mlaunch.ERR_PEER and told
        say("rank %d: %s" % (world.rank, "heard of it" if heard else e))


w = mlaunch.init()
if len(sys.argv) == 3:
    until_dead(w, sys.argv[1], int(sys.argv[2]))
else:
    unlike(w)
