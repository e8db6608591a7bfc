#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# --output fold: what several ranks write within a moment appears once, with their numbers; and
# --show, which prints some ranks' lines alone. On hosts over SSH: tests/cli/fold-hosts.t.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
. "${0%/*}/job.sh"

# folds TEXT NAME ARGUMENT…: the job prints TEXT, sorted. On a busy machine ranks may write more
# than 0.3 s apart, and then their lines are apart, so there are several tries.
folds() {
    local expected=$1 name=$2 tries=0
    shift 2
    keep job "$@"
    while [ "$(sort "$T/out")" != "$expected" ] && [ $((tries += 1)) -lt 20 ]; do keep job "$@"; done
    check_output "$expected" "$name" sort "$T/out"
}

folds "[0-7] hi" "equal lines appear once" -n 8 --output fold -- echo hi
folds "[0-2] same
[0] rank 0
[1] rank 1
[2] rank 2" "lines of all ranks are folded, and others are apart" -n 3 --output fold -- sh -c \
    'echo same; echo "rank $MLAUNCH_RANK"; echo again >&2'
check_match '^\[[0-2,-]*\] again$' "$T/err" "standard error is folded on its own"
folds "[0-3] bye
[0] rank 0
[1] rank 1
[2] rank 2
[3] rank 3" "what follows lines that differ is one line" -n 4 --output fold -- sh -c \
    'echo "rank $MLAUNCH_RANK"; echo bye'
folds "[0,2] b
[0-2] a
[1] odd" "a line that differs is apart" -n 3 --output fold -- sh -c \
    'echo a; if [ $MLAUNCH_RANK = 1 ]; then echo odd; else echo b; fi'

# Nothing waits for a rank that is silent: the line is there while that one still runs.
: > "$T/out"
mkfifo "$T/go"
"${JOB[@]}" -n 2 --output fold -- sh -c \
    '[ $MLAUNCH_RANK = 1 ] && { read -r x < '"$T"'/go; exit; }; echo there; read -r x < '"$T"'/go' \
    > "$T/out" 2> /dev/null & mlaunch=$!
check "a silent rank delays nobody for long" wait_for 'grep -q "^\[0\] there" "$T/out"'
kill "$mlaunch"
wait "$mlaunch" 2> /dev/null

# Each rank's lines come in its own order, none is lost, whoever reads them.
lines='import os, random, sys
random.seed(int(os.environ["MLAUNCH_RANK"]) // 2)
for i in range(3000): print(i, random.randrange(3), flush=i % 7 == 0)'
slow='import os, re, sys, time
seen = {}
for line in sys.stdin:
    ranks, i, rest = re.match(r"\[([0-9,-]+)\] (\d+) (\d)$", line).groups()
    for piece in ranks.split(","):
        first, _, last = piece.partition("-")
        for r in range(int(first), int(last or first) + 1):
            assert int(i) == seen.get(r, 0), (line, seen)
            seen[r] = int(i) + 1
    if int(i) % 500 == 0: time.sleep(0.02)
print(seen == dict.fromkeys(range(6), 3000))'
check_output True "a slow reader gets every line of every rank, in its order" sh -c \
    '"$@" | python3 -c "$0"' "$slow" "${JOB[@]}" -n 6 --output fold -- python3 -c "$lines"

# States that carriage returns overwrite.
folds "[0,1] done" "the last of a line's states stays" \
    -n 2 --output fold -- printf '10%%\r50%%\rdone\n'
check_output '[0] a
[0] b' "a last line without an end is printed" "${JOB[@]}" -n 1 --output fold -- printf 'a\nb'

# A failure is reported behind the rank's last line, and folding goes on.
job_says 3 "rank 1 on host localhost \(pid [0-9]+\) exited with status 3" \
    "a failure is reported with --output fold" -n 2 \
    --output fold -- sh -c '[ $MLAUNCH_RANK = 0 ] && exec sleep 1000; echo last >&2; exit 3'
keep job -n 2 --output fold -- sh -c '[ $MLAUNCH_RANK = 0 ] && exec sleep 1000; echo last >&2; exit 3'
check_output "[1] last" "a failure is reported behind the rank's last words" head -n 1 "$T/err"

# --show.
folds "[0,3] hi
[3] three" "--show goes with --output fold" -n 4 --output fold --show 0,3 -- sh -c \
    'echo hi; [ $MLAUNCH_RANK != 3 ] || echo three'
job_prints "[2] 2" "--show goes with labels" -n 4 --show 2 -- sh -c 'echo $MLAUNCH_RANK'
check "--show goes with files" \
    "${JOB[@]}" -n 3 --show 0 --output "$T/files" -- sh -c 'echo $MLAUNCH_RANK'
check_output "0 1 2 " "the files have all ranks, whatever --show says" \
    sh -c 'cat "$1"/*.out | tr "\n" " "' sh "$T/files"
check_error 125 "--show: .*rank 4.* 0 to 3|--show: .*4" \
    "--show of a rank that is not there is refused" "$MLAUNCH" -n 4 --show 0,4 -- true
check_match 'output: fold' <("$MLAUNCH" --dry-run -n 2 --output fold -- true) \
    "--dry-run shows that lines are folded"
done_testing
