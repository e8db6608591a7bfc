# SPDX-License-Identifier: MIT
"""Prints the text of a stream's events, each a line of JSON."""
import json
import sys

print("".join(json.loads(line)["choices"][0]["text"] for line in sys.stdin))
