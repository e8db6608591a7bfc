# SPDX-License-Identifier: MIT
"""Checks what mlaunch-probe tells of the guest's device.

    probe_answer.py FILE
"""
import json
import sys

devices = {d["name"]: d for d in json.load(open(sys.argv[1]))["devices"]}
port = devices["rxe_p1"]["ports"][0]
assert port["state"] == "PORT_ACTIVE" or port["state"] == "active", port
assert port["link_layer"] == "Ethernet" and port["active_mtu"] >= 1024
gid = [g for g in port["gids"] if g["index"] == 1][0]
assert gid["ipv4"] == "10.78.1.1" and gid["prefix"] == 24 and gid["type"] == "RoCE v2", gid
assert devices["rxe_p1"]["limits"]["queue_pairs"] > 0
