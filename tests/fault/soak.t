#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Many short jobs beside a long one, over SSH on namespace hosts (soak.sh): nothing grows.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../lib/hosts.sh"
. "${0%/*}/fault.sh"
. "${0%/*}/soak.sh"
hosts_up 2
SOAK_SSH=(ssh -F "$NETNS_SSH_CONFIG")
soak "$H1 $H2" --ssh-config "$NETNS_SSH_CONFIG" -H "$H1,$H2"
done_testing
