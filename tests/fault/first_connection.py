#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""first_connection.py GO: rank 0 of three sends the first message of all to rank 2 once the file GO
exists; rank 1 waits for one from there. Both say how that ends, and repair."""
import os
import sys
import time

import mlaunch

w = mlaunch.init()
sys.stdout.write("up\n")  # at once
while w.rank == 0 and not os.path.exists(sys.argv[1]):
    time.sleep(0.01)
try:
    if w.rank == 0:
        w.send(b"x", 2)
    else:
        w.recv(bytearray(1), 2 if w.rank == 1 else 1)
except mlaunch.Error as e:
    sys.stdout.write("error %s: %s\n" % ("PEER" if e.code == mlaunch.ERR_PEER else e.code, e))
    w = w.repair()
    sys.stdout.write(f"repaired {w.size}\n")
mlaunch.finalize()
