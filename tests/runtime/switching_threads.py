# SPDX-License-Identifier: MIT
"""Threads between which Python switches as often as it can."""
import sys


def run(threads):
    """Starts them, and returns when all have ended."""
    switch = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    sys.setswitchinterval(switch)
