# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# stage.sh: for the tests of --stage: two hosts, in which the working directory, $here, is empty.
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../lib/hosts.sh"

here=$(mktemp -d /var/tmp/mlaunch-stage.XXXXXX)
at_exit rm -rf "$here"
NETNS_PRIVATE="$here" hosts_up 2
cd "$here" || exit 1
ml() { "$MLAUNCH" --ssh-config "$NETNS_SSH_CONFIG" "$@"; }
# The files that jobs have left on the hosts since the test began. Without a job there is no
# directory either.
touch "$T/begin"
files_now() { find /tmp/mlaunch-"$(id -u)"* -path '*/files/*' -newer "$T/begin" 2> /dev/null || :; }
# Those of jobs of other tests, which run beside this one, go soon.
left() { wait_for '[ -z "$(files_now)" ]'; files_now; }
