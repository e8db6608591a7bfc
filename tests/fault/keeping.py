# SPDX-License-Identifier: MIT
"""A rank that keeps its part with --keep 2 in each step, and repairs the world whenever it changes:
after each repair all restore the newest version that all have, or begin anew if a rank has joined
that has never kept anything.

    keeping.py STOP     prints "id 2: version 7, 3 ranks" after each repair, "id 2: keeps, 3 ranks"
                        once it has kept something since, and "id 2: done"
"""
import array
import os
import sys

import mlaunch

SIZE = 2000


def say(text):
    """In one write, so that no line of another rank gets into it."""
    sys.stdout.write("id %d: %s\n" % (w.id, text))
    sys.stdout.flush()


def part_of(identity, version):
    return array.array("q", [identity * 1000000 + version]) * SIZE


def restore(w):
    """The version that all have, which this rank has as it was; 0: there is none."""
    version = w.kept("part") or 0
    if version:
        back = array.array("q", bytes(8 * SIZE))
        w.restore("part", back)
        if back != part_of(w.id, version):
            say("wrong: version %d has %d" % (version, back[0]))
    say("version %d, %d ranks" % (version, w.size))
    return version


def step(w, version):
    """Whether it is the last one, and whether the world is to be repaired."""
    w.keep("part", part_of(w.id, version), version)
    words = array.array("q", [os.path.exists(sys.argv[1]), w.changed(), 1])
    w.all_reduce(words)
    if words[2] != w.size:
        say("wrong sum %d of %d" % (words[2], w.size))
    return words[0] == w.size, words[1] > 0


w = mlaunch.init()
version = restore(w)
has_kept = is_over = False
while not is_over:
    try:
        is_over, is_changed = step(w, version + 1)
        version += 1
        if not has_kept:
            say("keeps, %d ranks" % w.size)
        has_kept = True
        if not is_changed or is_over:
            continue
    except mlaunch.Error as e:
        if e.code != mlaunch.ERR_PEER:
            raise
    while True:
        try:
            w = w.repair()
            version = restore(w)
            has_kept = False
            break
        except mlaunch.Error as e:
            if e.code != mlaunch.ERR_PEER:
                raise
say("done")
