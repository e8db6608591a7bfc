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
check_status 1 "--compare has status 1 if something is slower" \
    bench --compare "$T/a.json" "$T/b.json"
check_match '^# A: .*/a.json$' "$OUT" "--compare names the two files"
check_match '^# +all_reduce, 2 ranks, a:2, shm' "$OUT" \
    "--compare says with what the files were measured"
check_match '^# noise: the middle halves' "$OUT" "--compare says by what rule differences are noise"
check_match '^ +8 +1.100 +2.200 +2.000  slower' "$OUT" "a time that has doubled is slower"
check_match '^ +64 +2.500 +1.250 +0.500  faster' "$OUT" "a time that has halved is faster"
check_match '^ +512 +4.000 +5.000 +1.250  noise' "$OUT" \
    "a difference is noise if the quartiles overlap"
check_match '^ +4096 +8.000 +- +-' "$OUT" "a size that the second file lacks has no second time"
check_match '^ +8192 +- +9.000' "$OUT" "a size that the first file lacks has no first time"
saved "$T/c.json" "8 0.5 0.6 0.7"
check "--compare has status 0 if nothing is slower" bench --compare "$T/a.json" "$T/c.json" --csv
check_match '^all_reduce,"8",us,".*c.json",0.600000,0.500000,0.700000,0.545455,faster$' "$OUT" \
    "--compare --csv has a line for each size"
check_status 1 "--compare --json has the status of the table" \
    bench --json --compare "$T/a.json" "$T/b.json"
cp "$OUT" "$T/result"
check_output "noise 1.25 True" "--compare --json has ratios and verdicts" \
    json_show '(lambda row: (row["values"][1]["difference"], row["values"][1]["ratio"],
    row["what"] == "512"))(j["rows"][2])' "$T/result"
check_error 125 'cannot be read|No such file' "a file of results that is not there is refused" \
    bench --compare "$T/a.json" "$T/none"
check_error 125 'needs two files' "--compare with one file is refused" bench --compare "$T/a.json"
check_error 125 'not with -n' "--compare with options of a run is refused" \
    bench --compare "$T/a.json" "$T/b.json" -n 2
echo '{"op": 3}' > "$T/odd.json"
check_error 125 'odd.json: it has no results; a file of results is what' \
    "a file without results is refused" bench --compare "$T/a.json" "$T/odd.json"
echo '{' > "$T/odd.json"
check_error 125 'odd.json: line' "a file that is no JSON is refused" \
    bench --compare "$T/odd.json" "$T/a.json"
check "mlaunch bench prints results as JSON" bench lat --sizes 8,64 --json
cp "$OUT" "$T/real.json"
check "results can be compared with themselves" bench --compare "$T/real.json" "$T/real.json"
cp "$OUT" "$T/result"
check_output 2 "every difference between equal results is noise" grep -c '1.000  noise' "$T/result"

# Shared memory against TCP on this machine: a factor that no noise hides.
check "--vary runs with two settings" bench lat --sizes 8 --vary '--local shm|net'
check_match '^# A: --local shm$' "$OUT" "--vary names the first setting"
check_match '^# B: --local net$' "$OUT" "--vary names the second setting"
check_match '^ +8 +[0-9.]+ +[0-9.]+ +[0-9.]+  slower' "$OUT" \
    "--vary finds the second setting slower"
check_match '5 runs each .*Mann-Whitney' "$OUT" "--vary says its rule and the number of runs"
cp "$ERR" "$T/errors"
check_output 1 "a warning of all runs comes once" grep -c 'measuring with 2 ranks' "$T/errors"
check "--vary takes a variable with two values" env MLAUNCH_ALGO=all_reduce:flat "$MLAUNCH" bench \
    -n 2 --sizes 64 --runs 5 --vary 'MLAUNCH_ALGO=all_reduce:ring|' --json
cp "$OUT" "$T/result"
check_output "MLAUNCH_ALGO=all_reduce:ring  5" "--vary --json has the settings and the rule" \
    json_show '(*j["settings"], [w for w in j["rule"].split() if w.isdigit()][0])' "$T/result"
check_error 125 'names one setting' "--vary with one setting is refused" bench -n 2 --vary 'A=1'
check_error 125 'number from 5, the fewest' "--runs below five is refused" \
    bench -n 2 --runs 4 --vary 'A=1|2'
check_error 125 'unknown option --sise' "a mistyped option is found before the first run" \
    bench -n 2 --sise 4 --vary 'A=1|2'
check_error 125 'draws no picture' "--vary with --plot is refused" \
    bench -n 2 --plot x.svg --vary 'A=1|2'
check_error 2 "with 'MLAUNCH_ALGO=no', ended with status 2" "a run that fails ends --vary" \
    bench -n 2 --sizes 8 --vary 'MLAUNCH_ALGO=all_reduce:ring|no'

# Ctrl-C ends the run and what belongs to it, once.
"$MLAUNCH" bench -n 2 --sizes 8 --stress 1000000 --vary 'A=1|2' > "$T/long" 2>&1 &
pid=$!
wait_for "pgrep -P $pid > /dev/null"
must kill -TERM $pid
wait $pid
check_output 143 "a signal goes to the run of --vary" echo $?
done_testing
