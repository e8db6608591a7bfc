#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Programs of ibverbs-utils and perftest between two hosts of the stand-in for libibverbs: they run
# as they are, and break no rule.
TEST_TIER=full
. "${0%/*}/../lib/test.sh"
. "${0%/*}/standin.sh"
[ "$SANITIZE" = no ] || skip_all "programs of others are not built for a sanitizer's library"
needs ibv_devinfo ib_write_bw
standin_up 2

check "a host's devices are listed" on 0 ibv_devinfo
check_match 'hca_id:.rxe_p1' "$OUT" "the device is that of the profile"
check_match 'state:.*PORT_ACTIVE' "$OUT" "the port of the device is active"

# between NAME PROGRAM…: a server on host 1, and its client on host 0.
between() {
    local name=$1 server status
    shift
    on 1 timeout 60 "$@" > "$T/server" 2>&1 &
    server=$!
    wait_for 'on 1 ss -Hltn | grep -q ":18515 "'
    check "$name" on 0 timeout 60 "$@" host1
    cat "$OUT" "$ERR" > "$T/client"
    wait "$server"
    status=$?
    check_output 0 "$name: the server ends well" echo "$status"
    check_no_match 'stand-in' <(cat "$T/client" "$T/server") "$name: no rule is broken"
}
for transport in rc uc ud; do
    between "ibv_${transport}_pingpong between hosts" "ibv_${transport}_pingpong" -g 1 -n 100
done
between "ibv_rc_pingpong with events" ibv_rc_pingpong -g 1 -n 100 -e
between "ibv_rc_pingpong of long messages" ibv_rc_pingpong -g 1 -n 20 -s 300000 -c
for program in ib_write_bw ib_read_bw ib_send_bw ib_write_lat ib_atomic_bw; do
    between "$program over RC" "$program" -x 1 -n 100
done
for program in ib_write_bw ib_send_bw ib_write_lat; do
    between "$program over UC" "$program" -c UC -x 1 -n 100
done
between "ib_send_bw over UD" ib_send_bw -c UD -x 1 -n 100
check_rules
done_testing
