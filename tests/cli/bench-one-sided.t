#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# mlaunch bench put, get, atomic and transfer: right over shared memory and TCP, and reported in the
# table, as CSV and as JSON.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
. "${0%/*}/bench.sh"

for op in put get atomic; do
    for way in "" "--backend tcp --local net"; do
        # shellcheck disable=SC2086
        bench $op -n 2 $way --sizes 8,300001 --check --json
        ends 0 "$op runs with two ranks $way"
        check_output "True $op 2" "$op $way is right, and has times, bandwidth and messages" \
            python3 "$SOURCE/tests/cli/one_sided_result.py" "$T/result"
    done
done
for mode in copy zerocopy; do
    for way in "-n 2" "-n 3 --backend tcp --local net"; do
        # shellcheck disable=SC2086
        bench transfer $way --mode $mode --size 1,100001 --count 4 --check hash
        ends 0 "transfer $way --mode $mode runs"
        check_match '^# successful (8|48), failed 0, [0-9.]+ MB/s, [0-9.]+ s$' "$T/result" \
            "all transfers are right with $way --mode $mode"
    done
done
bench transfer -n 2 --size 1M --count 2 --check none --json
check_output "0 1 1048576 2 copy none 2 0 True" "JSON has the results of transfer" json_show 'tuple(
    j["results"][0][k] for k in "from to bytes count mode check successful failed".split()
    ) + (j["results"][0]["MBps"] > 0,)' "$T/result"
bench transfer -n 2 --size 1M --count 2 --csv
check_match '^transfer,0,1,1048576,2,copy,hash,2,0,[0-9.]+,[0-9.]+$' "$T/result" \
    "CSV has a line for each transfer"
bench put -n 3 --sizes 64,4K
check_match '^# +bytes +count +min +typical +p99 +bw +msg/s +errors$' "$T/result" \
    "the table has the words of perftest"
bench get -n 2 --sizes 64 --csv
check_match '^op,.*,errors,messages_per_s,reduction,' "$T/result" "CSV has messages a second"
bench atomic -n 1
check_match 'atomic needs at least two ranks' "$ERR" "atomic operations need two ranks"
done_testing
