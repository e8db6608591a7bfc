# SPDX-License-Identifier: MIT
"""Reads a job.json, and writes one of an agent that is another process.

    forged_job.py AGE PID < FILE    AGE: seconds by which it starts later
"""
import json
import sys

job = json.load(sys.stdin)
job["started_at"] += int(sys.argv[1])
job["agent_pid"] = int(sys.argv[2])
stat = open("/proc/%s/stat" % sys.argv[2]).read()
job["agent_start_time"] = int(stat.rpartition(")")[2].split()[19])
print(json.dumps(job))
