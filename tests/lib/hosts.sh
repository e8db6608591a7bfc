# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# hosts.sh: namespace hosts (netns-hosts) for a *.t, behind test.sh:
#
#     . "${0%/*}/../lib/hosts.sh"
#     hosts_up 2                         # or the whole file is skipped, with the reason
#     check "over SSH" "$MLAUNCH" --ssh-config "$NETNS_SSH_CONFIG" -H "$H1,$H2" -- true
#
# Sets the variables of netns-hosts' environment file, the hosts' names $H1 … $HN and their
# addresses $A1 … $AN. The hosts are removed at the end. Several files can run at once, because each
# process has names and subnets of its own.

netns() { TMPDIR=$T "$TEST_LIB/netns-hosts" "$@"; }

# What agents leave that ended with their host: the directories of jobs, by the host's name in them.
hosts_forget() {
    local file
    # shellcheck disable=SC2013 # paths without blanks
    for file in $(grep -lsE "^ *\"host\": \"$1[0-9]+\"" "/tmp/mlaunch-$(id -u)"/*/job.json); do
        rm -rf "${file%/job.json}"
    done
}

hosts_up() {
    local reason prefix h a i=0
    if ! reason=$(netns usable 2>&1); then
        [ "$TEST_COUNT" != 0 ] || skip_all "$reason"
        skip "namespace hosts can be used" "$reason"
        done_testing
    fi
    prefix=t$(echo $$ | tr 0-9 a-j)
    # ip may say there that others changed what it listed.
    netns up "$1" "$prefix" > "$T/.netns" 2> "$T/.netns.err" || {
        diag_file "$T/.netns.err"
        echo "Bail out! netns-hosts up failed"
        exit 1
    }
    at_exit hosts_forget "$prefix"
    at_exit netns down "$prefix"
    # shellcheck disable=SC1090
    . "$(cat "$T/.netns")"
    for h in $NETNS_HOSTS; do
        eval "H$((i += 1))=$h"
    done
    i=0
    for a in $NETNS_ADDRS; do
        eval "A$((i += 1))=$a"
    done
}
