# SPDX-License-Identifier: MIT
"""Prints a request whose prompt is longer than any context."""
import json

print(json.dumps({"prompt": "the king and the sea " * 4000, "max_tokens": 4}))
