#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# An agent alone, without mlaunch: drive.py speaks the launcher's side of the protocol, injects faults,
# and looks for survivors. Each of its cases is a check.
TEST_LIMIT=240
. "${0%/*}/../lib/test.sh"
export T

drive=$SOURCE/tests/agent/drive.py
while read -r name text <&3; do
    check "$name: $text" python3 "$drive" "$AGENT" "$name"
done 3< <(python3 "$drive" --list)
done_testing
