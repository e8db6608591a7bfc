#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Many short jobs beside a long one over RDMA on two hosts: nothing grows (soak.sh).
# shellcheck disable=SC2016 # for the host's shell
TEST_TIER=full
TEST_LIMIT=3000
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../standin/standin.sh"
is_long || skip_all "minutes: only with MLAUNCH_TEST_LONG=1"
on_standin 2
. "${0%/*}/jobs.sh"
. "$SOURCE/tests/fault/fault.sh"
. "$SOURCE/tests/fault/soak.sh"
SOAK_SSH=(ssh)
# What killed mlaunch processes leave here, run.JOB, is for mlaunch clean. The names of some jobs
# begin with an r as well, and none has a u. Hosts share the machine's control groups, where those
# of other tests' jobs have processes.
SOAK_LOOK+='
what="job directories"; count /tmp/mlaunch-[0-9]*/[!r]*; count /tmp/mlaunch-[0-9]*/r[!u]*
n=0
for g in /sys/fs/cgroup/mlaunch-* /sys/fs/cgroup/*/mlaunch-*; do
    [ ! -e "$g/cgroup.events" ] || ! read -r _ some < "$g/cgroup.events" || n=$((n + !some))
done
echo "empty control groups $n"'
soak "host0 host1" --hostfile "$RDMA_HOSTFILE" --backend rdma
done_testing
