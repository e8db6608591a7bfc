#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# mlaunch bench: every operation is right and is reported in the table, as CSV and as JSON;
# bandwidths are NCCL's; nonsense is refused before anything starts.
TEST_TIER=full
. "${0%/*}/../lib/test.sh"
. "${0%/*}/bench.sh"

header=op,bytes,count,type,ranks,time_us_min,time_us_med,time_us_p99,algbw_GBps,busbw_GBps,errors
header+=,reduction,backend,local,secure,hosts,memory,algorithm,version,date

# Errors, times and bandwidths of the CSV: FACTOR is bus by algorithm bandwidth.
# csv_is_sound FACTOR
csv_is_sound() {
    awk -F, -v factor="$1" '
        END { if (NR != 4) print "rows:", NR - 1 }
        NR == 1 { next }
        $11 != 0 { print "errors:", $0 }
        !($6 <= $7 && $7 <= $8) { print "times:", $0 }
        { d = $2 / $7 / 1000 - $9; if (d * d > 1e-4 * $9 * $9 + 1e-10) print "algbw:", $0 }
        { d = factor * $9 - $10; if (d * d > 1e-4 * $10 * $10 + 1e-10) print "busbw:", $0 }' \
            "$T/result"
}
while read -r op factor; do
    bench "$op" -n 3 --sizes 5,3K,300K --check --csv
    ends 0 "$op runs with three ranks"
    check_output "$header" "$op: the CSV has all columns" head -n 1 "$T/result"
    check_output "" "$op: results are right, with NCCL's bandwidths" csv_is_sound "$factor"
done << 'OPS'
all_reduce 1.3333333
all_gather 0.6666667
reduce_scatter 0.6666667
all_to_all 0.6666667
reduce 1
gather 0.6666667
scatter 0.6666667
broadcast 1
sendrecv 1
lat 1
bw 1
OPS
bench barrier -n 3 --csv
ends 0 "barrier runs with three ranks"
check_match '^barrier,0,0,,3,[0-9.]+,[0-9.]+,[0-9.]+,,,,,shm,' "$T/result" \
    "a barrier has times and no bandwidth, and nothing was checked"

types="bool int8 uint16 int64 float16 bfloat16 float64"
[ "$SANITIZE" = no ] || types="int8 bfloat16" # their kernels have a unit test
for type in $types; do
    for op in sum prod min max; do
        bench --type $type --op $op -n 2 --sizes 1000 --check --csv
        # shellcheck disable=SC2154 # status: test.sh's
        [ "$status" -eq 0 ] || break 2
    done
done
ends 0 "types and operators are checked ($type $op)"
bench --type complex64 -n 2 --sizes 1000 --check --csv
ends 0 "sums of complex64 are checked"
bench -n 3 --sizes 5,300K,3M --memory alloc --check --csv
ends 0 "all_reduce runs with --memory alloc"
check_output "" "all_reduce with --memory alloc is right, with NCCL's bandwidths" \
    csv_is_sound 1.3333333
bench all_gather -n 3 --sizes 64,1M --memory=plain --check --csv
ends 0 "all_gather runs with --memory plain"
bench reduce_scatter --type int32 --op xor -n 3 --sizes 1200 --check --csv
check_match '^reduce_scatter,1200,100,int32,3,.*,0,xor,' "$T/result" \
    "the count of reduce_scatter is a share's, in elements"
bench -n 2 -b 8 -e 1K -f 4 --local net --json --check
ends 0 "a range of sizes runs over TCP"
check_output "8 32 128 512 1024 all_reduce 2 0" "JSON has sizes, operation, ranks and errors" \
    json_show '(*[x["bytes"] for x in j["results"]], j["op"], j["ranks"], sum(x["errors"] for x in j["results"]))' "$T/result"
bench -n 2 --sizes 64,4K
check_match '^# all_reduce, 2 ranks, sum of float32' "$T/result" "the table tells what it is"
check_match '^ +4096 +1024 .* -$' "$T/result" "the table has a row for each size"
check_match '^# +4096 \|#' "$T/result" "the table has a bar for each size"
check_match '^# +bytes +bus bandwidth in GB/s$' "$T/result" "the bars have a unit"
bench lat -n 2 --sizes 8,4K
check_match '^# +bytes +median time in us$' "$T/result" "the bars of lat are times"
bench barrier -n 2
check_match '^ +0 +0 .* - +- +-$' "$T/result" "a barrier has no bandwidth"

# With what it was measured, in all forms.
here=$(uname -n)
export MLAUNCH_ALGO=broadcast:binomial,all_reduce:ring
bench -n 3 --backend tcp --local net --sizes 64 --memory alloc
check_match "^# mlaunch [0-9.]+.*, 20[0-9-]{8}T[0-9:]{8}Z\$" "$T/result" \
    "the table has version and date"
check_match "^# hosts, with ranks: $here:3\$" "$T/result" "the table has the hosts with their ranks"
check_match '^# backend tcp, local net, memory alloc, algorithm ring$' "$T/result" \
    "the table has backend, memory and algorithm"
bench -n 3 --backend tcp --local net --sizes 64 --memory alloc --csv
check_match ",sum,tcp,net,0,$here:3,alloc,ring,.*,20[0-9-]{8}T[0-9:]{8}Z\$" "$T/result" \
    "the CSV has all with which it was measured"
bench broadcast -n 2 --backend tcp --sizes 64 --json
check_output "shm shm False plain binomial $here 2 True True" \
    "the JSON has it, too; what shares memory is shm" \
    json_show '(*[j[k] for k in "backend local secure memory algorithm".split()],
        *[h[k] for h in j["hosts"] for k in ("host", "ranks")], j["reduction"] == "", "." in j["version"])' \
    "$T/result"
unset MLAUNCH_ALGO
bench -n 2 --sizes 64 --stress 7
check_output 7 "--stress prints every round" grep -c '^  round [1-7]: [0-9.]* us' "$T/result"
bench -n 2 --sizes 8,64 --stress 5 --csv
check_output 10 "--stress --csv has a line for each round" grep -cE \
    '^all_reduce,(8|64),[0-9]+,float32,2,[1-5],[0-9.]+,[01],sum,shm,' "$T/result"
bench -n 2 --sizes 64 --stress 5 --json
check_output 5 "--stress --json has every round" \
    json_show '(lambda r: len([us for us in r["rounds_us"] if us > 0])
    if all(1 <= n <= 5 for n in r["outliers"]) else "outliers")(j["results"][0])' "$T/result"

# Every algorithm of every operation and backend: none is refused by the library, and each has its
# times.
backends="shm tcp"
[ "$SANITIZE" = no ] || backends=tcp
for op in all_reduce all_gather reduce_scatter reduce broadcast; do
    for backend in $backends; do
        # over TCP --local net: else all would share memory
        way=(--backend "$backend")
        [ $backend = shm ] || way+=(--local net)
        bench $op -n 3 "${way[@]}" --sizes 64,16K --tune
        ends 0 "--tune $op, $backend runs"
        check_output "2 rows, as wide as the head" \
            "--tune $op, $backend has a row for each size, with times for every algorithm" \
            awk -v backend="$backend" '
            backend == "tcp" && /shared/ { print "needs shared memory:", $0 }
            /^# *bytes/ { head = NF - 4 } # without "#" and "auto / fastest"
            /^ *[0-9]/ { n += NF - 1 == head && $2 > 0 && $3 > 0 && $NF > 0 }
            END { print n " rows, as wide as the head" }' "$T/result"
        check_match "^MLAUNCH_ALGO=$op:[a-z-]+@[0-9]+\.\.[0-9a-z,@.-]+\$" "$T/result" \
            "--tune $op, $backend prints what chooses the fastest"
        # Applied by hand, in one case of two.
        [ $backend = shm ] || {
            MLAUNCH_ALGO=$(sed -n 's/^MLAUNCH_ALGO=//p' "$T/result") \
                bench $op -n 3 "${way[@]}" --sizes 64,16K --check
            ends 0 "$op runs with the algorithms that --tune chose for $backend"
            check_no_match 'algorithm auto' "$T/result" \
                "the heading of $op names the algorithms that --tune chose for $backend"
        }
    done
done
# The smallest size is that of a share, as the call has it.
bench all_gather -n 2 --sizes 64,1K --tune --save "$T/tuned"
ends 0 "--tune runs with --save"
check_match '^all_gather:[a-z]+@32\.\.[0-9a-z,@.-]* ranks=2 hosts=1 backend=shm # mlaunch .* plain$' \
    "$T/tuned" "--save writes a line with the job that it is for"
bench --tuning "$T/tuned" all_gather -n 2 --sizes 64 --json
check_no_match '"algorithm": "auto"' "$T/result" "--tuning applies what was saved"
printf '# ours\n\nall_gather:ring ranks=3\n%s' "$(cat "$T/tuned")" > "$T/more"
bench all_gather -n 2 --sizes 64,1K --tune --save "$T/more"
bench broadcast -n 2 --sizes 64,1K --tune --save "$T/more"
check_output "# ours  broadcast all_gather all_gather:ring" \
    "a line is replaced by its own kind only, and is above older ones" sh -c \
    'sed "s/:.* ranks=2 .*//; s/ ranks=3//" "$1" | paste -sd " "' sh "$T/more"
bench all_gather -n 2 --cwd "$T" --sizes 64 --tune --save nowhere/tuned
ends 2 "--save into a relative directory that isn't there fails"
check_output "" "a file that --save can't make is found before anything is measured" cat "$T/result"
bench all_gather -n 2 --sizes 64 --tune --save "$T/nowhere/tuned"
check_match "cannot make a file in $T/nowhere: No such file or directory" "$ERR" \
    "an absolute directory that --save lacks is found before anything starts"
bench -n 2 --sizes 0,64,4K,1M --plot "$T/times.svg"
ends 0 "bench runs with --plot"
check_output "3 3" "--plot draws a point for each size in each curve" \
    python3 "$SOURCE/tests/cli/bench_curves.py" "$T/times.svg"
check_output 6 "--plot marks each point" grep -c '<circle class="[a-z]*" cx=' "$T/times.svg"
check_match ">shm, $here:2, memory plain, algorithm auto, 20[0-9-]*</text>" "$T/times.svg" \
    "the picture's title has what it was measured with"
bench -n 2 --sizes 64 --plot "$T/nowhere/times.svg"
ends 125 "--plot into an absolute directory that isn't there is refused"
check_match "cannot make a file in $T/nowhere: No such file or directory" "$ERR" \
    "--plot says which directory isn't there"
check_output "" "nothing is measured that can't be plotted" cat "$T/result"
bench -n 2 --cwd "$T" --sizes 64 --plot nowhere/times.svg
ends 2 "--plot into a relative directory fails at the rank"
check_match "cannot make a file in nowhere: No such file or directory" "$ERR" \
    "the rank says which relative directory isn't there"
bench -n 1 --sizes 8 --check
ends 0 "bench runs with one rank alone"

# refused REGEX ARGUMENT…
refused() {
    local regex=$1
    shift
    bench "$@"
    ends 125 "bench $* is refused"
    check_match "$regex" "$ERR" "bench $* is refused with the reason"
}
refused 'unknown operation nothing' nothing
refused "--type: 'int9' is not a type" --type int9
refused "-b: '3X' is not a size" -b 3X
refused "--memory: 'huge' is not plain, alloc or cuda" --memory huge
refused 'exclude each other' --sizes 8 -e 16
refused 'exclude each other' --csv --json
refused '-b is larger than -e' -b 16 -e 8
refused '--tune prints a table of its own' --tune --csv
refused 'lat has one algorithm only' lat --tune
refused 'sizes in ascending order' --tune --sizes 8,4
refused '--save writes what --tune finds' --save "$T/tuned"
refused 'a barrier has none' barrier --plot "$T/no.svg"
refused 'error: mlaunch bench: unknown option --sises; did you mean --sizes' --sises=4
refused 'unknown option --npp; did you mean --np\?' --npp 2
refused '--op and is not for float32, but for integers' --op and --sizes 8
refused "--plot: 'x.png' is not a file's name that ends in .svg" --plot x.png
refused 'mlaunch bench has no -w: it warms up by itself' -w 5
refused 'unknown operation gathr .did you mean gather' gathr
bench osu_latency --sizes 8
ends 0 "lat is known by OSU's name, and without -n"
check_match 'warning: measuring with 2 ranks on this machine' "$ERR" \
    "lat without -n has the two ranks that it needs"
bench -q barrier
ends 0 "a barrier runs without -n"
check_match "^# barrier, $(($(nproc) > 2 ? $(nproc) : 2)) ranks" "$T/result" \
    "a barrier without -n has a rank for each core"
bench barrier -H localhost:3
check_match '^# barrier, 3 ranks' "$T/result" "hosts say how many ranks measure"
bench lat -n 1
ends 2 "lat of one rank is refused"
check_match 'lat needs at least two ranks' "$ERR" "lat says that it needs two ranks"
done_testing
