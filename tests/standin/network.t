#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A network of the stand-in that loses packets, and whose cables, ports and hosts fail, under
# programs of ibverbs-utils and under a job: reliable connections go on or end with the error of a
# device, counters count, and port states change.
TEST_TIER=full
. "${0%/*}/../lib/test.sh"
. "${0%/*}/standin.sh"
[ "$SANITIZE" = no ] || skip_all "programs of others are not built for a sanitizer's library"
needs ibv_devinfo
STANDIN_WIRE="loss = 2%"
standin_up 2
job() { on 0 "$MLAUNCH" --ssh-config "$NETNS_SSH_CONFIG" --backend rdma --hostfile "$RDMA_HOSTFILE" "$@"; }

# pingpong_start COUNT: between the hosts, in the background: $client, $server.
pingpong_start() {
    on 1 timeout 100 ibv_rc_pingpong -g 1 -n "$1" > "$T/server" 2>&1 &
    server=$!
    wait_for 'on 1 ss -Hltn | grep -q ":18515 "'
    on 0 timeout 100 ibv_rc_pingpong -g 1 -n "$1" host1 > "$T/client" 2>&1 &
    client=$!
}
counter() { on 0 cat "/sys/class/infiniband/rxe_p1/ports/1/counters/$1"; }

# --- losses
pingpong_start 300
wait "$client"
check_output 0 "a reliable connection goes on over a wire that loses packets" echo $?
wait "$server"
check "a lost packet is counted" wait_for '[ "$(counter symbol_error)" -gt 0 ]'
check "packets that were sent are counted" test "$(counter port_xmit_packets)" -gt 300
fabric loss 0/rxe_p1:1 0%
check "a job runs over the stand-in's devices" job -n 2 -- "$BUILD/examples/hello"
cp "$OUT" "$T/hello"
check_output 2 "both ranks of the job are there" grep -c 'of 2' "$T/hello"

# --- a cable is pulled
pingpong_start 10000000
before=$(counter port_xmit_packets)
wait_for '[ "$(counter port_xmit_packets)" -gt $((before + 100)) ]'
check "a cable can be pulled" fabric unplug 0/rxe_p1:1
# The one whose request is not answered hears of it; the other may wait for a message for ever.
wait -n "$client" "$server"
kill "$client" "$server" 2> /dev/null
wait "$client" "$server"
cat "$T/client" "$T/server" > "$T/both"
check_match 'transport retry counter exceeded|asynchronous event|Failed status' "$T/both" \
    "a connection ends with a device's error when its cable is pulled"
check_output "1: DOWN" "the port of a cable that is pulled is down" \
    on 0 cat /sys/class/infiniband/rxe_p1/ports/1/state
check_output "1: DOWN" "the port at the other end is down as well" \
    on 1 cat /sys/class/infiniband/rxe_p0/ports/1/state
check_status 125 "a job is refused where a port is down" job -n 2 -- true
check_match 'rxe_p[01] port 1 is down' "$ERR" "the port that is down is named"
check "a cable can be plugged in again" fabric plug 0/rxe_p1:1
check "a job runs again over the cable" job -n 2 -- "$BUILD/examples/hello"

# --- a cable is pulled under a job
job -n 2 --output raw -- "$BUILD/tests/rdma/until_failure" > "$T/job.out" 2> "$T/job.err" &
mlaunch=$!
before=$(counter port_xmit_packets)
wait_for '[ "$(counter port_xmit_packets)" -gt $((before + 200)) ] || ! kill -0 "$mlaunch"'
check "a cable under a job can be pulled" fabric unplug 0/rxe_p1:1
wait "$mlaunch"
cp "$T/job.err" "$ERR"
check_match 'rxe_p[01] port 1, the link to .*, has gone down|rank [01] .*rxe_p[01]' "$ERR" \
    "the job says which device has lost its link"
fabric plug 0/rxe_p1:1

# --- a device fails under a program
pingpong_start 10000000
before=$(counter port_xmit_packets)
wait_for '[ "$(counter port_xmit_packets)" -gt $((before + 100)) ]'
check "a device can fail" fabric fatal 0/rxe_p1
wait "$client"
kill "$server"
wait "$server"
check_match 'libibverbs \(stand-in\): the device rxe_p1 of [a-z0-9]* has failed' "$T/client" \
    "a program is told that its device has failed"

# --- the fabric ends under a program
pingpong_start 10000000
before=$(counter port_xmit_packets)
wait_for '[ "$(counter port_xmit_packets)" -gt $((before + 100)) ]'
kill -KILL "$STANDIN_PID"
wait "$client"
wait "$server"
check_match 'libibverbs \(stand-in\): the fabric of .* has ended, so its device rxe_p1 is lost' \
    "$T/client" "a program is told that its network has ended"
check_status 1 "no device can be opened without its network" on 0 ibv_devinfo -d rxe_p1
check_rules
done_testing
