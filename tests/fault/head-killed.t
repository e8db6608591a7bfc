#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# mlaunch is killed with SIGKILL while ranks run that are hard to end: a daemon, one deaf to
# signals, a stopped one, one with many children in sessions of their own. Expected: all of them
# gone, on every host.
# shellcheck disable=SC2154 # mlaunch: of fault.sh
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../lib/hosts.sh"
. "${0%/*}/fault.sh"
hosts_up 2
JOB+=(--ssh-config "$NETNS_SSH_CONFIG")

zoo_start 4
must kill -KILL "$mlaunch"
zoo_end 137 "here"

WHERE=(-H "$H1,$H2")
zoo_start 8
must kill -KILL "$mlaunch"
zoo_end 137 "on two hosts"

WHERE=(-H "localhost,$H1")
zoo_start 8
must kill -KILL "$mlaunch"
zoo_end 137 "here and on a host"

done_testing
