#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""elastic.py [die|leave ID:STEP...]: training that loses ranks, and goes on without them.

    mlaunch -n 4 --elastic 1 -- python3 examples/elastic.py die 3:40 0:60

Which of three species is an iris? The flowers of iris.csv are divided among the ranks that live,
each step sums the gradients of all, and rank 0 prints the loss after each step, to the last bit,
with the ids of the ranks that took part in it.

`die 3:40`: rank 3 is killed in step 40. `leave 3:40`: it ends by itself there, as planned. Either
way the others do that step without it, and the losses are the same, bit for bit: a sum depends on
who takes part and not on why the others do not. With `mlaunch --restarts 1` another process takes
the dead rank's place, and the losses are those of a run that has lost nobody.
"""
import array
import math
import os
import signal
import sys

import mlaunch
import mlaunch.elastic

STEPS, RATE = 100, 0.1
SPECIES = ["setosa", "versicolor", "virginica"]
INPUTS = 5  # four measures, and 1

how = sys.argv[1] if len(sys.argv) > 1 else "none"
if how not in ("none", "die", "leave"):
    sys.exit("usage: elastic.py [die|leave ID:STEP...]")
ends = {int(i): int(step) for i, step in (word.split(":") for word in sys.argv[2:])}
if os.environ.get("MLAUNCH_RESTART", "0") != "0":
    ends = {}  # this process is in a dead rank's place, and lives

flowers = []
with open(os.path.join(os.path.dirname(__file__), "iris.csv")) as file:
    for line in file.readlines()[1:]:
        *measures, species = line.split(",")
        flowers.append(([float(m) for m in measures] + [1.0], SPECIES.index(species.strip())))

weights = array.array("d", [0.0] * (len(SPECIES) * INPUTS))


def chances(measures):
    """How likely each species is: softmax."""
    scores = [math.exp(sum(weights[s * INPUTS + i] * m for i, m in enumerate(measures)))
              for s in range(len(SPECIES))]
    return [score / sum(scores) for score in scores]


def gradients(share):
    """The loss over these flowers has these; the last element is the loss itself."""
    sums = array.array("d", [0.0] * (len(weights) + 1))
    for measures, species in share:
        for s, chance in enumerate(chances(measures)):
            for i, m in enumerate(measures):
                sums[s * INPUTS + i] += (chance - (s == species)) * m
            if s == species:
                sums[-1] -= math.log(chance)
    return sums


# What all ranks have the same of: a step that fails is done again from what it was before.
state = {"weights": weights, "curve": []}
for step in mlaunch.elastic.steps(STEPS, state=state):
    with step as w:
        if ends.get(w.id) == step.number:
            if how == "die":
                os.kill(os.getpid(), signal.SIGKILL)
            mlaunch.finalize()
            sys.exit()
        sums = gradients(flowers[w.rank::w.size])
        w.all_reduce(sums)
        for i in range(len(weights)):
            weights[i] -= RATE * sums[i] / len(flowers)
        state["curve"].append((step.number, sums[-1], w.ids))

if mlaunch.init().rank == 0:
    for number, loss, ids in state["curve"]:
        print("step %d: loss %s, ranks %s" % (number, loss.hex(), " ".join(map(str, ids))))
    right = sum(max(range(len(SPECIES)), key=chances(m).__getitem__) == s for m, s in flowers)
    print("%d of %d flowers are known, %d ranks are left" % (right, len(flowers), len(ids)))
mlaunch.finalize()
