#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# DistributedDataParallel over the backend mlaunch and over gloo (torch_ddp.py), on two hosts.
# shellcheck disable=SC2154 # variables of torch.sh
TEST_TIER=full
. "${0%/*}/../lib/test.sh"
. "${0%/*}/torch.sh"
. "${0%/*}/../lib/hosts.sh"
hosts_up 2

# Each rank needs more than a second of a processor to load torch.
each=1
if is_long; then each=2; fi
hosts() { "$MLAUNCH" --ssh-config "$NETNS_SSH_CONFIG" -H "$H1,$H2" \
    -x GLOO_SOCKET_IFNAME=eth0 --ppn $each --oversubscribe --output raw -- "$PYTHON" "$DDP" "$1"; }
losses() { # for four ranks, whose sums may be added up in another order
    awk '{ print $1, substr($2, 1, 9) }' "$1"
}
# The gloo of torch 1.13 aborts now and then when its process exits ("terminate called without an
# active exception").
hosts_gloo() { hosts gloo > "$T/hosts" || hosts gloo > "$T/hosts"; }
check "a script for gloo trains on two hosts, ranks on each: $each" hosts_gloo
losses "$T/hosts" > "$T/gloo"
check "a script for mlaunch trains on two hosts" hosts mlaunch
losses "$OUT" > "$T/mlaunch"
check_output "" "gloo and mlaunch have nearly the same losses" diff "$T/gloo" "$T/mlaunch"
check_output 10 "the losses of mlaunch are ten" grep -c . "$T/mlaunch"
done_testing
