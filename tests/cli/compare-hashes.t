#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# --compare-hashes: the first run writes hashes, later ones are compared with them, and the first
# call and rank that differ are named.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
R=$BUILD/tests/cli/recorder
ml() { "$MLAUNCH" -n 4 --compare-hashes "$T/hashes" "$@"; }
# said PATTERN NAME: all of standard error.
said() { if grep -qxE "mlaunch: $1" "$ERR"; then pass "$2"; else fail "$2" "$(cat "$ERR")"; fi; }
sum='all_reduce of 1000 float32 \(sum\)'

run ml -- "$R" well
said "the hashes of 38 calls are in $T/hashes" "the first run writes the file"
run ml -- "$R" well
said "all 38 calls read and wrote the same as those of $T/hashes" "a run that is the same says so"
check_status 0 "a run that is the same has status 0" ml -- "$R" well
cp "$T/hashes" "$T/well"

# The third call of rank 1 differs in what it has got alone; so does rank 2's fifth, which comes
# later.
sed -E '/^(1 0\.1\.0 3|2 0\.1\.0 5) /s/^(.{23}).{3}/\1000/' "$T/well" > "$T/hashes"
run ml -- "$R" well
said "this run differs from that of $T/hashes: rank 1 gave the same data to call 3 of the world, broadcast of 4000 bytes from rank 1, and got others; the first of 2 calls that differ" \
    "the first call that differs is named with its rank"
check_status 1 "a run that differs has status 1" ml -- "$R" well
check_status 3 "a failed job's status is kept behind calls that differ" \
    ml -- sh -c '"$1" well; exit 3' - "$R"

rm "$T/hashes"
run ml -- "$R" flip 9
for rank in 0 3; do
    run ml -- "$R" flip "$rank"
    said "this run differs from that of $T/hashes: rank $rank gave other data to call 3 of the world, $sum; the first of [0-9]+ calls that differ" \
        "one flipped bit of rank $rank is named"
done
run ml --record "$T/record" -- "$R" well
said "this run differs from that of $T/hashes: rank [0-3] made call 3 of the world, broadcast of 4000 bytes from rank 1, and in it $sum; the first of [0-9]+ calls that differ" \
    "a call of another kind is named"
check "--record at the same time has all calls" [ "$(wc -l < "$T/record")" = 38 ]
head -n 20 "$T/well" > "$T/hashes"
run ml -- "$R" well
said "this run differs from that of $T/hashes: rank [0-3] made .*, which is not in it; the first of 18 calls that differ" \
    "calls that the file lacks are named"
cp "$T/well" "$T/hashes"
run ml -- true
said "this run differs from that of $T/hashes: 38 of its calls were not made" \
    "calls that were not made are named"

rm "$T/hashes"
for i in first later; do
    check_status 1 "a $i run without any call is a failure" ml -- true
    said "warning: no rank made a call of mlaunch's library \(MPI's and gloo's calls are not seen\): $T/hashes is empty" \
        "the reason is said for a $i run without any call"
done
check_status 3 "a failed job's status is kept where there are no calls" ml -- sh -c 'exit 3'

echo "0 0.1.0 1 0011" > "$T/hashes"
check_status 125 "a file that is something else is an error" ml -- touch "$T/started"
said "error: --compare-hashes: $T/hashes was not written by --compare-hashes, or is damaged; name a file that does not exist to write a new one" \
    "the error says what to do with the file"
check "nothing runs with a file that is something else" [ ! -e "$T/started" ]
done_testing
