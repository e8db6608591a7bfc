#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Hosts that call the head, all of them this machine: keys, what is refused before anything starts,
# what --dry-run says, jobs by --await and by index 0, and who is not let in. Jobs of several
# machines are in tests/fault/join.t.
# shellcheck disable=SC2154 # variables of job.sh
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
. "${0%/*}/job.sh"
KEY=$T/key
must "$MLAUNCH" join --key-new "$KEY"
port=$(python3 "$TEST_LIB/free_port.py")

check_output "600" "a new key is the user's alone" stat -c %a "$KEY"
check_error 125 "key is there already" "a key is not overwritten" "$MLAUNCH" join --key-new "$KEY"

# refused REGEX ARGUMENT…: a sentence, and status 125.
refused() {
    local regex=$1
    shift
    check_error 125 "^mlaunch: error: $regex" "mlaunch $* is refused" "$MLAUNCH" "$@"
}
JOIN=(join --head "127.0.0.1:$port" --hosts 2 --key-file "$KEY")
refused "join needs --hosts" join
refused "join needs --head" join --hosts 2 --index 1
refused "join needs --index" "${JOIN[@]}"
refused "join needs --key-file" join --head a:1 --hosts 1 --index 0
refused ".*--hostfile.*by its own mlaunch join" "${JOIN[@]}" --index 1 --hostfile hosts
refused "cannot read the key file $T/none: No such" join --head a:1 --hosts 2 --index 1 \
    --key-file "$T/none"
refused "$0 is no key file" join --head a:1 --hosts 2 --index 1 --key-file "$0"
refused "--listen goes with --await" --listen 1 -- true
refused "--key-file goes with --await" --key-file "$KEY" -- true
check "MLAUNCH_OPT_KEY_FILE is no option of a job that nobody joins" \
    env MLAUNCH_OPT_KEY_FILE="$KEY" MLAUNCH_OPT_LISTEN=1 "$MLAUNCH" -n 1 -- true
refused "hosts that join need a key" --await 2 -- true
refused "the hosts are those that join" --await 2 --key-file "$KEY" -H a -- true
refused "hosts that join start their agents" --await 2 --key-file "$KEY" \
    --agent-launcher srun -- true
refused "--check and --evict-slow" --await 2 --key-file "$KEY" --check quick -- true
refused ".*--await.*it runs one command once on each host" exec --await 2 -- true
refused "--listen needs PORT" --await 2 --key-file "$KEY" --listen a:b -- true
refused "--listen 192.0.2.1:1: cannot listen on 192.0.2.1:1" --await 2 --key-file "$KEY" \
    --listen 192.0.2.1:1 -- true
refused "192.0.2.1 is none of this machine's addresses" join --head 192.0.2.1:1 --index 0 \
    --hosts 2 --key-file "$KEY" -- true
refused "cannot join the head at 127.0.0.1:$port within 1 s .*refused" "${JOIN[@]}" --index 1 \
    --init-timeout 1
refused "cannot join the head at none.invalid:1 within 1 s .*none.invalid is not known" join \
    --head none.invalid:1 --index 1 --hosts 2 --key-file "$KEY" --init-timeout 1

check "--dry-run works with variables of a LeaderWorkerSet" \
    env LWS_WORKER_INDEX=1 LWS_GROUP_SIZE=2 LWS_LEADER_ADDRESS=leader.x "$MLAUNCH" \
    join --from auto --key-file "$KEY" --dry-run -- true
check_match '^index 1 \(LWS_WORKER_INDEX\) of 2 hosts \(LWS_GROUP_SIZE\)$' "$OUT" \
    "--dry-run says what was understood"
check_match '^head leader.x by LWS_LEADER_ADDRESS, port 7400$' "$OUT" \
    "--dry-run says where the head is"
check "--dry-run works at the head" "$MLAUNCH" "${JOIN[@]}" --index 0 --ppn 2 --dry-run -- true
check_match '^head .*; it is this host$' "$OUT" "--dry-run says that this host is the head"
check_match '^host 1: 1 of 2 \(mlaunch join\): ranks 2-3$' "$OUT" \
    "--dry-run has the plan at the head"

# join_start INDEX [ARGUMENT…]: in the background.
joins=()
join_start() {
    env "$MARK" "$MLAUNCH" "${JOIN[@]}" --index "$@" > "$T/$1.out" 2> "$T/$1.err" &
    joins[$1]=$!
}
# joins_end STATUS NAME
joins_end() {
    local index bad=""
    for index in "${!joins[@]}"; do
        wait "${joins[index]}"
        status=$?
        [ "$status" -eq "$1" ] || bad+="$index: $status $(cat "$T/$index.err")"
    done
    joins=()
    if [ -z "$bad" ]; then pass "$2"; else fail "$2" "$bad"; fi
}
SHOW='echo "$MLAUNCH_RANK/$MLAUNCH_SIZE ${MLAUNCH_HEAD-}$HERE"'

HERE=own
export HERE
join_start 1
join_start 0
job_prints "0/4 own
1/4 own
2/4 own
3/4 own" "hosts that --await has waited for run ranks, with their own environment" \
    --await 2 --listen "127.0.0.1:$port" --key-file "$KEY" --ppn 2 --output raw -- sh -c "$SHOW"
joins_end 0 "hosts that have joined end with the job"

chmod 644 "$KEY"
join_start 1 -- sh -c true
join_start 0 --events "$EVENTS" -- sh -c 'exit $((3 * MLAUNCH_RANK))'
joins_end 3 "index 0 is the head, and all have the job's status"
check_match "the key file $KEY has mode 0644: whoever can read it" "$T/0.err" \
    "a key that others can read is warned of"
check_match "mode 0644" "$T/1.err" "a key that others can read is warned of on each host"
chmod 600 "$KEY"

join_start 1
join_start 0
job_prints "again 0
again 1" "a restart uses the connections that there are" --await 2 --listen "127.0.0.1:$port" \
    --key-file "$KEY" --output raw --restarts 1 --grace 1 \
    -- sh -c '[ "$MLAUNCH_RESTART" = 1 ] || exit 1; echo "again $MLAUNCH_RANK"'
joins_end 0 "the hosts end after the last try"

# Input, and a look at the job; the key is nowhere.
mkfifo "$T/in"
join_start 1
"${JOB[@]}" --await 2 --listen "127.0.0.1:$port" --key-file "$KEY" --name "joined-$$" \
    -- sh -c 'echo up; read line; echo "got $line"' < "$T/in" > "$T/out" 2> "$T/err" &
mlaunch=$!
exec 9> "$T/in"
join_start 0
wait_for "[ \"\$(grep -c up '$T/out')\" -eq 2 ]"
check "mlaunch ps works beside a joined job" "$MLAUNCH" ps "joined-$$"
check_match "^joined-$$ " "$OUT" "mlaunch ps finds a joined job"
check_no_match "." <(grep -lFaf "$KEY" /proc/[0-9]*/cmdline /proc/[0-9]*/environ 2> /dev/null) \
    "no process has the key among its words or variables"
echo hello >&9
exec 9>&-
wait "$mlaunch"
check_match "got hello" "$T/out" "the head's input reaches rank 0"
joins_end 0 "the hosts end with the job that had input"
check "nothing is left of a joined job" left_nothing

# The hang report asks the hosts over the same channels.
join_start 1
join_start 0 --events "$EVENTS" --stall 1 -- "$BUILD/tests/fault/faulty" flooded 1 "$T/go"
wait_for "grep -q '\"stalled\"' '$EVENTS'"
: > "$T/go"
joins_end 0 "a joined job that hangs for a while ends well"
check_match "^mlaunch: warning: rank 1 on host [^ ]+ has not called ml_init; rank 0 has waited" \
    "$T/0.err" "a rank that hangs is reported at the head"
check_match "^mlaunch: where" "$T/0.err" "the head reports what the ranks do"

done_testing
