# SPDX-License-Identifier: MIT
"""Prints the name that a path has on a host until it has come as a whole.

    temporary_name.py PATH
"""
import hashlib
import sys

print(".mlaunch-sync." + hashlib.blake2b(sys.argv[1].encode(), digest_size=16).hexdigest()[:16])
