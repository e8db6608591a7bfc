# SPDX-License-Identifier: MIT
"""Checks that the notes of a library have a probe of mlaunch.

    probe_listed.py NOTES PROBE
"""
import re
import sys

assert re.search(r"Provider: mlaunch\n +Name: %s\n" % sys.argv[2], open(sys.argv[1]).read())
