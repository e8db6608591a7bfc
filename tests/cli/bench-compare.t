#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# mlaunch bench --compare and --vary: saved results and settings side by side, and which differences
# are more than noise.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"

bench() { "$MLAUNCH" bench "$@"; }
# saved FILE "BYTES LOW MEDIAN HIGH"…: results as bench prints them
saved() {
    python3 "$SOURCE/tests/cli/bench_saved.py" "$@"
}
saved "$T/a.json" "8 1 1.1 1.2" "64 2 2.5 3" "512 3 4 5" "4096 7 8 9"
saved "$T/b.json" "8 1.3 2.2 2.4" "64 1 1.25 1.5" "512 4.9 5 6" "8192 9 9 9"
check_status 1 "--compare: something is slower" bench --compare "$T/a.json" "$T/b.json"
check_match '^# A: .*/a.json$' "$OUT" "the files are named"
check_match '^# +all_reduce, 2 ranks, a:2, shm' "$OUT" "with what they were measured"
check_match '^# noise: the middle halves' "$OUT" "and the rule is said"
check_match '^ +8 +1.100 +2.200 +2.000  slower' "$OUT" "slower"
check_match '^ +64 +2.500 +1.250 +0.500  faster' "$OUT" "faster"
check_match '^ +512 +4.000 +5.000 +1.250  noise' "$OUT" "the quartiles overlap: noise"
check_match '^ +4096 +8.000 +- +-' "$OUT" "a size that one file lacks"
check_match '^ +8192 +- +9.000' "$OUT" "and the other"
saved "$T/c.json" "8 0.5 0.6 0.7"
check "--compare: nothing is slower" bench --compare "$T/a.json" "$T/c.json" --csv
check_match '^all_reduce,"8",us,".*c.json",0.600000,0.500000,0.700000,0.545455,faster$' "$OUT" "CSV"
check_status 1 "--json" bench --json --compare "$T/a.json" "$T/b.json"
cp "$OUT" "$T/result"
check_output "noise 1.25 True" "has it all" json_show '(lambda row: (row["values"][1]["difference"], row["values"][1]["ratio"],
    row["what"] == "512"))(j["rows"][2])' "$T/result"
check_error 125 'cannot be read|No such file' "a file that is not there" bench --compare "$T/a.json" "$T/none"
check_error 125 'needs two files' "one file" bench --compare "$T/a.json"
check_error 125 'not with -n' "other options" bench --compare "$T/a.json" "$T/b.json" -n 2
echo '{"op": 3}' > "$T/odd.json"
check_error 125 'odd.json: it has no results; a file of results is what' "something else" \
    bench --compare "$T/a.json" "$T/odd.json"
echo '{' > "$T/odd.json"
check_error 125 'odd.json: line' "no JSON" bench --compare "$T/odd.json" "$T/a.json"
check "what bench prints" bench lat --sizes 8,64 --json
cp "$OUT" "$T/real.json"
check "can be compared, and with itself it is noise" bench --compare "$T/real.json" "$T/real.json"
cp "$OUT" "$T/result"
check_output 2 "in each row" grep -c '1.000  noise' "$T/result"

# Shared memory against TCP on this machine: a factor that no noise hides.
check "--vary" bench lat --sizes 8 --vary '--local shm|net'
check_match '^# A: --local shm$' "$OUT" "names its settings"
check_match '^# B: --local net$' "$OUT" "both"
check_match '^ +8 +[0-9.]+ +[0-9.]+ +[0-9.]+  slower' "$OUT" "and finds the difference"
check_match '5 runs each .*Mann-Whitney' "$OUT" "by the rule that it says"
cp "$ERR" "$T/errors"
check_output 1 "a warning comes once" grep -c 'measuring with 2 ranks' "$T/errors"
check "a variable" env MLAUNCH_ALGO=all_reduce:flat "$MLAUNCH" bench \
    -n 2 --sizes 64 --runs 5 --vary 'MLAUNCH_ALGO=all_reduce:ring|' --json
cp "$OUT" "$T/result"
check_output "MLAUNCH_ALGO=all_reduce:ring  5" "JSON has settings and rule" json_show \
    '(*j["settings"], [w for w in j["rule"].split() if w.isdigit()][0])' "$T/result"
check_error 125 'names one setting' "one setting" bench -n 2 --vary 'A=1'
check_error 125 'number from 5, the fewest' "too few runs" bench -n 2 --runs 4 --vary 'A=1|2'
check_error 125 'unknown option --sise' "a slip is found before the first run" bench -n 2 --sise 4 --vary 'A=1|2'
check_error 125 'draws no picture' "no picture" bench -n 2 --plot x.svg --vary 'A=1|2'
check_error 2 "with 'MLAUNCH_ALGO=no', ended with status 2" "a run that fails ends it" bench -n 2 \
    --sizes 8 --vary 'MLAUNCH_ALGO=all_reduce:ring|no'

# Ctrl-C ends the run and what belongs to it, once.
"$MLAUNCH" bench -n 2 --sizes 8 --stress 1000000 --vary 'A=1|2' > "$T/long" 2>&1 &
pid=$!
wait_for "pgrep -P $pid > /dev/null"
must kill -TERM $pid
wait $pid
check_output 143 "a signal goes to the run" echo $?
done_testing
