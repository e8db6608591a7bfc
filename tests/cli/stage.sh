# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# stage.sh: two hosts for the tests of --stage, in which the working directory, $here, is empty.
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../lib/hosts.sh"
. "${0%/*}/job.sh"

here=$(mktemp -d /var/tmp/mlaunch-stage.XXXXXX)
at_exit rm -rf "$here"
NETNS_PRIVATE="$here" hosts_up 2
cd "$here" || exit 1
JOB+=(--ssh-config "$NETNS_SSH_CONFIG")
