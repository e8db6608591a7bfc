#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# As slurm-accounting.t, with a Slurm that keeps each step in cgroups of its own.
with_cgroups=1
TEST_TIER=full
. "${0%/*}/slurm-accounting.t"
