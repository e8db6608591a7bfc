#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Options, and long names of options, that no other quick test meets: each does what --help says.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"

check_output $'1\n2' "--np and --env have long names" \
    sh -c '"$@" | sort' sh "$MLAUNCH" --np 2 --env A=1 --output \
    raw -- sh -c 'echo $((MLAUNCH_RANK + A))'
check_output 3 "--repeat-hosts starts three ranks on this host" \
    sh -c '"$@" | wc -l' sh "$MLAUNCH" --repeat-hosts 3 -- echo
check "--verbose is the long name of -v" "$MLAUNCH" --verbose -- true
check_match 'rank 0 .*exited with status 0|every rank|all ranks' "$ERR" \
    "--verbose says what happens"
check_status 3 "--quiet keeps the status" "$MLAUNCH" --quiet --stall 1 -- sh -c 'exit 3'

# busy PORT: somebody listens there.
port=20000
busy() { grep -qi "$(printf ':%04X 00000000:0000 0A' "$1")" /proc/net/tcp; }
while busy "$port"; do port=$((port + 1)); done
for option in --port --starting-port; do
    check_output "127.0.0.1:$port" "$option" "$MLAUNCH" $option $port --output raw -- printenv \
        MLAUNCH_COORDINATOR
done

if grep -q '^#define HAVE_HWLOC 1' "$BUILD/config.h"; then
    check "--bind-to core starts a rank" \
        "$MLAUNCH" --bind-to core --output raw -- grep Cpus_allowed: /proc/self/status
    one=$(sed 's/.*://; s/[^0-9a-f]//g' "$OUT")
    own=$(sed -n 's/^Cpus_allowed://p' /proc/self/status | tr -dc 0-9a-f)
    check "--bind-to core leaves some of the processors" \
        test $((0x$one & 0x$own)) -eq $((0x$one)) -a $((0x$one)) -gt 0
    [ "$(nproc)" = 1 ] || check "--bind-to core does not leave all processors" \
        test $((0x$one)) -ne $((0x$own))
fi
if grep -q '^#define HAVE_RDMA 1' "$BUILD/config.h"; then
    check "--gid-index is an option of jobs over RDMA" \
        "$MLAUNCH" --backend rdma --rdma-device m --gid-index 3 --dry-run -H a,b -- true
    check_match '^RDMA: .*GID index: 3' "$OUT" "the GID index is in the plan"
fi

# Rank 1 calls ml_init only when rank 0 has given it up.
check "--init-timeout gives up a rank that does not come" \
    "$MLAUNCH" -n 2 --init-timeout 1 --output raw --on-failure continue -- sh -c \
    'if [ $MLAUNCH_RANK = 1 ]; then until [ -e "$0" ]; do sleep 0.05; done; exit; fi
    python3 -c "import mlaunch; mlaunch.init()"; : > "$0"' "$T/over"
check_match 'rank 1 on host .* has not called ml_init within 1 s' "$ERR" \
    "--init-timeout names who is missing"

"$MLAUNCH" --stall 1 -- sh -c 'until [ -e "$0" ]; do sleep 0.05; done' "$T/seen" 2> "$ERR" &
stalled=$!
wait_for 'grep -q "no rank has written anything" "$ERR"'
: > "$T/seen"
check_match 'no rank has written anything or begun a call for 1 s' "$ERR" "--stall says that nothing moves"
check "--stall ends nobody" wait $stalled
done_testing
