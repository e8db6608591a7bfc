# SPDX-License-Identifier: MIT
"""Checks a report of llm bench with one rank and 8 tokens.

    bench_report.py FILE
"""
import json
import sys

r = json.load(open(sys.argv[1]))
assert r["gen_tokens"] == 8 and r["world_size"] == 1 and r["tokens_per_sec"] > 0
assert r["memory_bound"]["bytes_per_token"] > 100000 and r["prefill"]["tokens_per_sec"] > 0
