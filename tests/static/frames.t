#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What becomes of each frame in each state is data, in mlaunch and in the agent: no cell is empty,
# each letter is explained, no frame is without a row, and doc/protocol.md has the same tables.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
cd "$SOURCE" || exit 1
check "the tables of frames are whole, and in doc/protocol.md" \
    python3 tests/static/frame_tables.py --check

# A table that lacks a cell is found.
must mkdir -p "$T/tree/doc"
must cp -r launcher "$T/tree"
must cp doc/protocol.md "$T/tree/doc"
must sed -i 's/"rtrrfrrrrr--"/"rtrrfrrrr--"/' "$T/tree/launcher/run/round/job_round_frames.c"
cd "$T/tree" || exit 1
check_error 1 "READY has 11 cells for 12 states" "a cell without an entry is found" \
    python3 "$SOURCE/tests/static/frame_tables.py" --check
done_testing
