#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Ranks in containers of Charliecloud, as in bwrap.t. It runs without root, too.
TEST_TIER=full
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../fault/fault.sh"
. "${0%/*}/../mpi/judge.sh"
. "${0%/*}/image.sh"
. "${0%/*}/cases.sh"
needs ch-run
USER=${USER:-$(id -un)} ch-run -b /usr "$IMAGE" -- true 2> "$T/why" ||
    skip_all "ch-run cannot make a container here: $(tail -n 1 "$T/why")"
CONTAINER="ch-run"
for mounted in "${MOUNTED[@]}"; do CONTAINER+=" -b $mounted"; done
CONTAINER+=" $IMAGE"
KILLED="was killed by signal 9"
cd "$T" || exit 1

check_start
check_programs
check_deaths
check_faults
done_testing
