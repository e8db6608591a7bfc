# SPDX-License-Identifier: MIT
"""A rank: all meet; then rank 0, whose agent has the coordinator, prints how many connections the
coordinator has."""
import mlaunch
import os

ESTABLISHED = "01"

w = mlaunch.init()
w.barrier()
if w.rank == 0:
    port = int(os.environ["MLAUNCH_COORDINATOR"].rsplit(":", 1)[1])
    count = 0
    for name in ("tcp", "tcp6"):
        try:
            with open(f"/proc/net/{name}", encoding="ascii") as f:
                rows = [line.split() for line in f][1:]
        except OSError:  # no IPv6
            rows = []
        count += sum(int(r[1].rsplit(":", 1)[1], 16) == port and r[3] == ESTABLISHED for r in rows)
    print("connections:", count)
w.barrier()
mlaunch.finalize()
