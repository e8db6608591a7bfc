#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Runs on host 0 of two VMs (tests/vm); its TAP is that of soak.t.
# shellcheck disable=SC2016 # for the host's shell
TEST_LIMIT=2980
. "${0%/*}/../lib/test.sh"
. "$SOURCE/tests/fault/fault.sh"
. "$SOURCE/tests/fault/soak.sh"
SOAK_SSH=(ssh)
SOAK_LOOK+='
what="job directories"; count /tmp/mlaunch-[0-9]*/*
what="control groups"; count /sys/fs/cgroup/mlaunch-* /sys/fs/cgroup/*/mlaunch-*
rdma resource'
soak "host0 host1" --hostfile "$RDMA_HOSTFILE" --backend rdma
done_testing
