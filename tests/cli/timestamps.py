# SPDX-License-Identifier: MIT
"""Checks that lines have the time, and then the label.

    timestamps.py FILE
"""
import datetime
import sys

for line in open(sys.argv[1]):
    time, rest = line.split(" ", 1)
    age = datetime.datetime.now(datetime.timezone.utc) - datetime.datetime.fromisoformat(time)
    assert abs(age.total_seconds()) < 60, line
    assert rest in ("[0] hi\n", "[1] hi\n"), line
