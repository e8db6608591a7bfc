#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""patch_elf.py FROM TO machine NUMBER | loader PATH: copies a program as one for another processor,
or with another loader, whose path must not be longer than the one that it has."""
import re
import struct
import sys

source, target, what, value = sys.argv[1:]
with open(source, "rb") as f:
    program = bytearray(f.read())
if what == "machine":
    program[18:20] = struct.pack("<H", int(value))
else:
    loader = re.search(rb"/lib[0-9]*/ld-linux[^\0]*", program)
    assert loader and len(value) <= len(loader.group()), "the loader has another name"
    program[loader.start():loader.end()] = value.encode().ljust(len(loader.group()), b"\0")
with open(target, "wb") as f:
    f.write(program)
