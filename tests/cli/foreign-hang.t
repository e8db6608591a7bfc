#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A job that hangs in torch or NCCL: `ps --stacks` and the report of --stall say what their own
# diagnostics know, from ranks that answer, that never answer, and that have none. The ranks are
# stand-ins, since a test has no GPU: foreign_rank.py says what they do, and
# tests/unit/launcher/agent/evidence/test_flight_record.c how the dumps were made. NCCL's text
# follows src/ras/client_support.cc of NCCL 2.28.
TEST_TIER=full
TEST_LIMIT=600
. "${0%/*}/../lib/test.sh"
. "${0%/*}/job.sh"
SEEDS=$SOURCE/tests/fuzz/seeds/evidence
PYTHON=$(python3 -c 'import sys; print(sys.executable)')

# begins BEHAVIOUR…: a job of as many ranks, which are ready to be asked; its id is in $id.
begins() {
    local count=$# i
    rm -f "$T"/ready* "$T"/dump* "$SHORT/worker.sock"
    : > "$EVENTS"
    "${JOB[@]}" --stall 1h -x TORCH_FR_DUMP_TEMP_FILE="$T/dump" -x HOME="$T" \
        -x TORCH_WORKER_SERVER_SOCKET="$SHORT/worker.sock" -n "$count" -- \
        "$PYTHON" "$SOURCE/tests/cli/foreign_rank.py" "$T/ready" "$SEEDS" "$@" 2> "$T/err" &
    mlaunch=$!
    for ((i = 0; i < count; i++)); do wait_for "[ -e '$T/ready.$i' ]"; done
    id=$(job_id)
}
asks() { must "$MLAUNCH" ps --stacks "$id" > "$T/ps" 2>&1; }

# asks_for PATTERN: a busy machine may give up a rank that would have answered; it is asked again.
asks_for() {
    local turn
    for ((turn = 0; turn < 20; turn++)); do
        asks
        ! grep -qE "$1" "$T/ps" || break
    done
}
# ends NAME: the job of the ranks that NAME describes.
ends() {
    must kill -TERM "$mlaunch"
    wait "$mlaunch"
    status=$?
    job_judge 143 "$1: the job ends" "mlaunch"
}
said() { check_match "$1" "$T/ps" "$2"; }
unsaid() { check_no_match "$1" "$T/ps" "$2"; }

begins dumps dumps dumps dumps
asks_for '^0-2 wait in .*, 3 has ended '
said "^0-2 wait in all_reduce #41 of torch's group default_pg at train\.py:17 step, 3 has ended \
all_reduce #40\$" "torch's flight recorder tells which ranks wait in which call"
unsaid 'does not answer' "all ranks with torch have answered"
unsaid 'NCCL' "nothing is said of NCCL, which is not there"
asks_for '^0-2 wait in '
said "^0-2 wait in all_reduce #41 of torch's group default_pg" \
    "torch's flight recorder can be asked again"

"$MLAUNCH" ps --stacks --json "$id" > "$T/json"
check_match '"from": "torch"' "$T/json" "ps --stacks --json has what each rank has said"
ends "ranks that write dumps"

begins dumps keeps dumps absent
asks_for '^0,2 wait in .*; nothing is known of 1,3$'
said "^0,2 wait in all_reduce #41 of torch's group default_pg at .*; nothing is known of 1,3\$" \
    "a rank that does not write its dump is given up, while it goes on"
said "^torch's flight recorder of 1 does not answer\$" \
    "the rank that does not write its dump is named"
check "the rank that is given up leaves no dump" test ! -e "$T/dump1"
ends "a rank that keeps its dump"

# An old file, of another job perhaps, is no answer.
begins keeps
must cp "$SEEDS/rank0.pickle" "$T/dump0"
asks
unsaid 'default_pg' "what another job has left is not taken for an answer"
ends "a rank with an old file"

begins mute ras ras absent
asks_for "^NCCL's RAS, asked at rank 1"
said "^NCCL's RAS, asked at rank 1 on host [^ ]+, says:\$" "one rank speaks for all in NCCL's RAS"
said "^    INCOMPLETE\$" "the errors of NCCL's RAS are shown"
said "^      Rank 3 has launched up to operation 40 -- GPU 3 managed by process 4715" \
    "the warnings of NCCL's RAS are shown"
unsaid 'Nodes  Processes' "the tables of NCCL's RAS are not shown"
said "^NCCL's RAS of 0 does not answer\$" "a rank whose RAS never answers is given up, and named"
check "the rank whose RAS never answers has heard the question" test -e "$T/ready.0.heard"
ends "ranks with NCCL's RAS"

begins serves
asks_for '^0 waits in '
said "^0 waits in all_reduce #41 of torch's group default_pg; nothing is known of 1-3\$" \
    "torch's worker server is asked where there is no pipe"
ends "a rank with a worker server"

begins deaf
asks
said "^torch's flight recorder of 0 does not answer\$" \
    "a worker server that never answers is given up"
check "the worker server that never answers has heard the question" test -e "$T/ready.0.heard"
ends "a rank whose worker server is deaf"

# Rank 0 answers for the dump of rank 0.
begins debugs debugged listens
asks_for '^0 waits in '
said "^0 waits in all_reduce #41 of torch's group default_pg; nothing is known of 1-3\$" \
    "the server of torch.distributed.debug is found and asked"
said "^torch's flight recorder of 1 does not answer\$" \
    "a debug server that never answers is given up"
check "the debug server that never answers has heard the question" test -e "$T/ready.1.heard"
check "torch's store is not asked" test ! -e "$T/ready.0.heard"
check "another program's port is not asked" test ! -e "$T/ready.2.heard"
ends "ranks with debug servers"

begins absent absent
asks
unsaid "torch|NCCL" "nothing is said where neither torch nor NCCL is"
ends "ranks without diagnostics"

# The report of --stall, and its event.
for seconds in 2 8 32; do
    rm -f "$T"/dump*
    : > "$EVENTS"
    rm -f "$T"/ready*
    "${JOB[@]}" --stall "$seconds" -x TORCH_FR_DUMP_TEMP_FILE="$T/dump" -n 4 -- \
        "$PYTHON" "$SOURCE/tests/cli/foreign_rank.py" "$T/ready" "$SEEDS" dumps dumps dumps dumps \
        2> "$T/ps" &
    mlaunch=$!
    wait_for 'grep -q "\"stalled\"" "$EVENTS"' $((seconds + HANG_SECONDS))
    must kill -TERM "$mlaunch"
    wait "$mlaunch"
    status=$?
    grep -q "torch's group" "$T/ps" && break
done
job_judge 143 "a job that is silent is ended by SIGTERM" "mlaunch --stall"
said "^    0-2 wait in all_reduce #41 of torch's group default_pg" \
    "the report of --stall has torch's call"
check_match '"torch":\[.*"call":"all_reduce","number":41.*"group":"default_pg"' "$EVENTS" \
    "the stalled event has torch's call"

# Without --stall torch is not told to record; --no-compat sets nothing.
check_no_match 'TORCH_|NCCL_DEBUG' <(job -n 1 -- env) "torch keeps its ways without --stall"
check_no_match 'NCCL_RAS|TORCH_' <(job --stall 1h --no-compat -n 1 -- env) "--no-compat sets nothing"
check_match '^TORCH_FR_BUFFER_SIZE=2000$' <(job --stall 1h -n 1 -- env) \
    "--stall sets the recorder of torch"
check_output 4 "each rank has its own address for NCCL's RAS" sh -c \
    '"$@" | grep -E "^127\.[0-9.]+:28028$" | sort -u | wc -l' sh \
    "${JOB[@]}" -n 4 --output raw -- sh -c 'echo "$NCCL_RAS_ADDR"'
check_output "localhost:1" "an address that the user sets for NCCL's RAS stays" \
    job --stall 1h -x NCCL_RAS_ADDR=localhost:1 -n 1 -- sh -c 'echo "$NCCL_RAS_ADDR"'
done_testing
