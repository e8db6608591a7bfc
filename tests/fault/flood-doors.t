#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Another user floods the listeners of a job, as fast as he can, with HELLOs, for which nobody needs
# the secret, and with connections that say nothing. Whoever belongs to the job is 50 ms away
# (far.py), from the same address. Expected: the job lives and ends with status 0, new hosts join,
# and what ranks keep is copied. The listener of mlaunch sync is flooded in
# tests/agent/sync_cases.py.
# shellcheck disable=SC2154 # mlaunch: of fault.sh
TEST_TIER=full
# In a network of its own, in which all ports are free.
if [ -n "${MLAUNCH_TEST_MARK:-}" ] && [ "${FLOOD_NET:-}" != $$ ] && unshare --net true 2> /dev/null; then
    FLOOD_NET=$$ exec unshare --net "$BASH" "$0" "$@"
fi
. "${0%/*}/../lib/test.sh"
. "${0%/*}/fault.sh"
[ "${FLOOD_NET:-}" = $$ ] || skip_all "this process can be no other user in a network of its own"
. "${0%/*}/flooders.sh"
PORT=7000 FAR=9000
chmod 711 "$T"
mkdir -m 1777 "$T/public"
cp "$BUILD/tests/fault/flooder" "$T/flooder"
FLOODED=$T/public/flooded
GO=$T/go
KEY=$T/key
BUILD_ID=$("$AGENT" --version | sed -n 's/.*(build \(.*\))/\1/p')

must ip link set lo up
nft -f - << EOF || skip_all "nft makes no redirection here"
table ip flood {
    set far { type inet_service; }
    chain out {
        type nat hook output priority -100;
        meta skuid 0 meta mark != 1 tcp dport @far redirect to :$FAR
    }
}
EOF
"$SOURCE/tests/fault/far.py" "$FAR" > "$T/far" &
far=$!
at_exit eval "kill $far; wait $far"
wait_for "[ -s '$T/far' ]"

# far PORT…: connections of this user to these ports are far from now on.
far() {
    local port
    for port; do must nft add element ip flood far "{ $port }"; done
}

# flood PORT JOB PURPOSE: until flood_end; the flooders leave the processors to the job.
flood() {
    local hello
    rm -f "$FLOODED"
    "$SOURCE/tests/fault/hello.py" "$BUILD_ID" "$2" "$3" > "$T/public/hello.$1"
    for hello in "" "$T/public/hello.$1" "$T/public/hello.$1"; do
        nice -n 19 setpriv --reuid=65534 --regid=65534 --clear-groups \
            "$T/flooder" "$1" "$FLOODED" 250 ${hello:+"$hello"} &
        flooders+=($!)
    done
}
flooded() { wait_for "[ -e '$FLOODED' ] || ! kill -0 $mlaunch 2> /dev/null"; }

# All hosts are this machine.
cat > "$T/start" << 'EOF'
shift
exec "$@"
EOF
HOSTS=(--agent-command "sh $T/start {host}" --init-timeout 120 --timeout 100 --oversubscribe)

# What the loops of mlaunch and of the agents do is measured (loop_clock.c).
JOB=(env "LD_PRELOAD=$BUILD/tests/fault/loop_clock.so" "LOOP_CLOCK=$T/clock" "${JOB[@]}")

# The coordinator, before ranks that are on another host call ml_init.
rm -f "$GO"
far "$PORT"
job_start "${HOSTS[@]}" -H a:2,b:2 --port "$PORT" -- "$FAULTY" flooded 0 "$GO"
has_said ready 4 || fail "ranks start before the coordinator is flooded" "$(cat "$T/err")"
flood "$PORT" "$(job_id)" rank
flooded
: > "$GO"
job_end "a job lives whose coordinator is flooded"

# The same one, and a thousand strangers at one time, each with as much as is read of one: all of
# them are a turn of the loop.
rm -f "$GO"
job_start --port $((PORT + 400)) --timeout 100 --oversubscribe -n 2 -- "$FAULTY" flooded 0 "$GO"
has_said ready 2 || fail "ranks start before strangers all speak at once" "$(cat "$T/err")"
"$SOURCE/tests/fault/hello.py" "$BUILD_ID" "$(job_id)" rank 2040 > "$T/dense"
coordinator=$(ss -Hltnp "sport = $((PORT + 400))" | sed -n 's/.*pid=\([0-9]*\).*/\1/p')
check_output 1000 "a thousand strangers speak at once" "$SOURCE/tests/fault/burst.py" \
    $((PORT + 400)) "$coordinator" "$T/dense" 1000
: > "$GO"
job_end "a job lives to whose coordinator a thousand strangers speak at once"
check "all of them were a turn of its loop" \
    awk '/^mlaunch-agent/ && $4 >= 500 { n++ } END { exit n == 0 }' "$T/clock"

# The coordinator of a job that gets another host, which is far from it.
far $((PORT + 50))
rm -f "$T/stop"
job_start "${HOSTS[@]}" -H a:1,b:1 --port $((PORT + 50)) --elastic 1 --output raw -- \
    "$BUILD/tests/fault/survivor" "$T/stop"
has_said 'membership 0' 2 || fail "the ranks of a job that is to grow in a flood start" "$(cat "$T/err")"
flood $((PORT + 50)) "$(job_id)" rank
flooded
check "mlaunch grow adds a host to a job whose coordinator is flooded" \
    "$MLAUNCH" grow "$(job_id)" -H c:1
members='"event":"repaired".*"members":\[0,1,2\]'
wait_for "grep -q '$members' '$EVENTS' || ! kill -0 $mlaunch 2> /dev/null"
check_match "$members" "$EVENTS" "the host that has come in a flood is a member"
must touch "$T/stop"
job_end "a job lives that grows in a flood"
check_output 3 "all ranks of a job that grows in a flood end well" grep -c ': done' "$T/out"

# A rank's own listener.
rm -f "$GO"
far $((PORT + 101)) $((PORT + 102)) $((PORT + 103)) $((PORT + 104))
job_start "${HOSTS[@]}" -H a:2,b:2 --starting-port $((PORT + 100)) --backend tcp --local net -- \
    "$FAULTY" flooded 0 "$GO"
has_said ready 4 || fail "ranks start before one of them is flooded" "$(cat "$T/err")"
flood $((PORT + 102)) "$(job_id)" mesh
: > "$GO"
job_end "a job lives of which a rank is flooded"
check "the rank has been flooded" test -e "$FLOODED"

# The keepers, before ranks keep anything for the first time.
rm -f "$GO"
job_start "${HOSTS[@]}" -H a:1,b:1 --port $((PORT + 200)) --elastic 1 --keep 2 -- \
    "$FAULTY" kept "$GO"
has_said ready 2 || fail "ranks start before keepers are flooded" "$(cat "$T/err")"
keepers=$(ss -Hltn | awk '{ sub(".*:", "", $4); print $4 }' | grep -vxE "$FAR|$((PORT + 200))")
for port in $keepers; do
    far "$port"
    flood "$port" "$(job_id)" keep
done
flooded
: > "$GO"
# Rank 0 is on host 0, and its copy on host 1.
copies() { find /dev/shm -name "mlaunch-*-$(job_id).$((1 - $1)).*.keep.$1.*.state" | grep -c .; }
wait_for "[ \"\$(copies 0)\" -gt 0 ] && [ \"\$(copies 1)\" -gt 0 ] || ! kill -0 $mlaunch 2> /dev/null"
check_output "1 1" "what ranks keep is copied by keepers that are flooded" \
    sh -c 'echo "$@"' - "$(copies 0)" "$(copies 1)"
rm -f "$GO"
job_end "a job lives whose keepers are flooded"

# The head, before hosts join.
rm -f "$GO"
must "$MLAUNCH" join --key-new "$KEY"
far $((PORT + 300))
job_start --await 2 --listen "127.0.0.1:$((PORT + 300))" --key-file "$KEY" --init-timeout 120 \
    --timeout 100 --oversubscribe -- "$FAULTY" flooded 0 "$GO"
wait_for "ss -Hltn 'sport = $((PORT + 300))' | grep -q . || ! kill -0 $mlaunch 2> /dev/null"
flood $((PORT + 300)) join join
flooded
: > "$GO"
joins=()
for index in 0 1; do
    env "$MARK" "$MLAUNCH" join --head "127.0.0.1:$((PORT + 300))" --index "$index" --hosts 2 \
        --key-file "$KEY" > "$T/$index.out" 2> "$T/$index.err" &
    joins+=($!)
done
job_end "hosts join a head that is flooded"
for index in 0 1; do
    check "host $index, which has joined in a flood, ends with the job" wait "${joins[index]}" ||
        diag_file "$T/$index.err"
done

# All callbacks of a turn together; the keepers' threads have no loop.
diag "$(sort -k3rn "$T/clock" | head -n 5)"
check_output "" "no turn of a flooded loop has 50 ms of a processor" \
    awk '/^mlaunch/ && $3 > 50000' "$T/clock"
check "loops that were flooded have been measured" \
    awk '/^mlaunch-agent/ && $4 > 1 { n++ } END { exit n == 0 }' "$T/clock"
done_testing
