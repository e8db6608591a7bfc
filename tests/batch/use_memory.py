# SPDX-License-Identifier: MIT
"""Uses 64 MiB of memory and 3 s of a processor, then waits for a signal."""
import signal
import time

memory = bytearray(b"x") * (64 << 20)
while time.process_time() < 3:
    pass
signal.pause()
