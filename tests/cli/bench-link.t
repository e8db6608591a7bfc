#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# mlaunch bench link: every pair once, here and between hosts; a slow host stands out in table,
# matrix and picture; what arrives is checked.
TEST_TIER=full
. "${0%/*}/../lib/test.sh"
. "$SOURCE/tests/lib/hosts.sh"

link() { "$MLAUNCH" bench link --duration 0.01 "$@"; }
# members FILE CODE: prints the value of CODE, in which r is the JSON of FILE.
members() { python3 -c 'import json, sys; r = json.load(open(sys.argv[1])); print(eval(sys.argv[2]))' "$@"; }

check "bench link runs with four ranks of one host" \
    link -n 4 --oversubscribe --json --rounds 2 --verbose
cp "$OUT" "$T/link.json"
check_output "[('rank 0', 'rank 1'), ('rank 0', 'rank 2'), ('rank 0', 'rank 3'), ('rank 1', 'rank 2'), ('rank 1', 'rank 3'), ('rank 2', 'rank 3')]" \
    "bench link measures every pair" \
    members "$T/link.json" 'sorted({(x["from"], x["to"]) for x in r["results"]})'
check_output "[12, 0, 'shm', True]" \
    "bench link has one result for each pair and size, without errors" members "$T/link.json" \
    '[len(r["results"]), sum(x["errors"] for x in r["results"]), r["backend"], all(len(x["rounds"]) == 2 for x in r["results"])]'
check_output True "percentiles of latencies are in order" members "$T/link.json" \
    'all(l["min"] <= l["p25"] <= l["typical"] <= l["p75"] <= l["p99"] <= l["p99_9"] <= l["max"] and l["count"] >= 20 for l in (x["latency_us"] for x in r["results"]))'
check_output True "percentiles of bandwidths are in order" members "$T/link.json" \
    'all(0 < x[w]["p25"] <= x[w]["typical"] <= x[w]["p75"] <= x[w]["peak"] for x in r["results"] for w in ("there_GBps", "back_GBps", "both_GBps"))'
check "results of bench link can be compared" \
    "$MLAUNCH" bench --compare "$T/link.json" "$T/link.json"
check_match '^ +rank 2 > rank 3, 1048576 bytes, both .* noise' "$OUT" \
    "results of bench link are compared value by value"
check "bench link prints CSV" link -n 2 --sizes 0,64,3M --csv --rounds 3 --verbose
check_match '^rank 0,rank 1,all,3145728,0,[0-9.]+,.*,0,shm,20' "$OUT" \
    "the CSV has a line for each size"
cp "$OUT" "$T/lines"
check_output 9 "the CSV has a line for each round" \
    grep -cE '^rank 0,rank 1,all,[0-9]+,[1-3],,' "$T/lines"
check "bench link runs over TCP with memory of ml_alloc and without checks" \
    link -n 3 --oversubscribe --local net --memory alloc --no-check
check_match '^# link, 3 ranks: 3 pairs in 3 turns' "$OUT" \
    "an odd number of ranks takes one turn more"
check_match '^# rank 1 +[0-9.]+[.o*# ] +- ' "$OUT" "bench link prints a matrix"
check_no_match $'\033' "$OUT" "a file gets no colours"
check_match "^# best [0-9.e+]+: ' ' within 1.1 of the best, '.' to 1.5" "$OUT" \
    "the matrix has a legend"
check "bench link runs on a terminal" \
    env TERM=xterm "$SOURCE/tests/cli/on_terminal.py" '' "$MLAUNCH" bench link -n 2 --duration 0.01
check_match $'\033\\[30;48;5;' "$OUT" "a terminal gets colours"
check "bench link runs with NO_COLOR" \
    env TERM=xterm NO_COLOR=1 "$SOURCE/tests/cli/on_terminal.py" '' \
    "$MLAUNCH" bench link -n 2 --duration 0.01
check_no_match $'\033\\[30' "$OUT" "a terminal gets no colours with NO_COLOR"
# on_columns N ARGUMENT…: on a terminal that is so wide.
on_columns() {
    local columns=$1
    shift
    env NO_COLOR=1 "$SOURCE/tests/cli/on_terminal.py" '' sh -c 'stty cols "$0"; exec "$@"' "$columns" \
        "$MLAUNCH" bench link --duration 0.01 "$@"
}
check "bench link runs on 80 columns" on_columns 80 -n 4 --oversubscribe --sizes 8
cp "$OUT" "$T/columns"
check_output 80 "the table fits into 80 columns" sh -c 'tr -d "\r" < "$1" | grep -v "^# link, " | awk "{ if (length > n) n = length } END { print n <= 80 ? 80 : n }"' sh "$T/columns"
check_match '^# from +to +#bytes t_typical +99% BW there +BW back +BW both errors' "$T/columns" \
    "a terminal of 80 columns gets the most important columns"
check "bench link runs on 200 columns" on_columns 200 -n 2 --sizes 8
check_match '#bytes +t_min .* 99.9% .* BW peak' "$OUT" \
    "a terminal of 200 columns gets all columns of the table"
check "bench link runs with --wide on 80 columns" on_columns 80 -n 2 --sizes 8 --wide
check_match '#bytes +t_min .* 99.9% .* BW peak' "$OUT" "a table has all columns with --wide"
check "bench link runs with --verbose" link -n 2 --sizes 8 --rounds 3 --verbose
check_match '^#   rank 0 > rank 1, 8 bytes, round 3 of 3: t_typical [0-9.]+, BW there' "$OUT" \
    "--verbose adds a line for each round to the table"

# Wrong bytes: a library between this one and the ranks that changes one of them.
cat > "$T/spoil.c" << 'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mlaunch.h>
int ml_recv(ml_group *g, void *buf, size_t size, int from)
{
    int (*real)(ml_group *, void *, size_t, int) = (int (*)(ml_group *, void *, size_t, int))dlsym(RTLD_NEXT, "ml_recv");
    int rc = real(g, buf, size, from);
    if (size == 100 && ml_rank(g) == 1)
        ((char *)buf)[77] ^= 4;
    return rc;
}
END
if [ "$SANITIZE" = no ]; then
    $CC -shared -fPIC -I"$SOURCE/common" -o "$T/spoil.so" "$T/spoil.c" -ldl
    check_status 1 "a wrong byte is status 1" \
        link -n 2 --sizes 100 --csv -x "LD_PRELOAD=$T/spoil.so"
    check_match '^rank 0,rank 1,all,100,0,.*,2,shm,20' "$OUT" \
        "a wrong byte is counted in the latency and in one direction"
    check "a wrong byte is not looked for with --no-check" \
        link -n 2 --sizes 100 --csv --no-check -x "LD_PRELOAD=$T/spoil.so"
else
    skip "a wrong byte is status 1" "the sanitizer must be loaded first"
fi

check_error 125 'is for mlaunch bench link only' "--rounds of another operation is refused" \
    "$MLAUNCH" bench lat --rounds 3
check_error 125 'neither --stress nor --tune' "--stress of bench link is refused" \
    link -n 2 --stress 3
check_error 125 "--duration: '0' is not" "a duration of 0 is refused" \
    "$MLAUNCH" bench link --duration 0
check_error 2 'link measures between hosts' "bench link with one rank is refused" link -n 1
check_error 2 'two buffers of .* bytes are more than' \
    "buffers that are larger than memory are refused" link -n 2 --sizes 1000G
check_error 125 'cannot make a file' "a picture in a directory that is not there is refused" \
    link -n 2 --svg "$T/none/x.svg"

hosts_up 3
far() { "$MLAUNCH" bench link --ssh-config "$NETNS_SSH_CONFIG" -H "$H1,$H2,$H3" --duration 0.05 "$@"; }
netns exec "$H3" tc qdisc add dev eth0 root tbf rate 40mbit burst 16kb latency 400ms 2> "$T/tc" ||
    diag_file "$T/tc"
check "bench link runs between three hosts, one of them slow" \
    far --ppn 2 --oversubscribe --sizes 8,256K --svg "$T/link.svg"
check_match "^# link, 6 ranks: 3 pairs in 3 turns" "$OUT" "hosts are pairs, whatever their ranks"
check_match "^# $H3 +[0-9.]+# +[0-9.]+#" "$OUT" "what the slow host sends is marked as slow"
check_match "^# $H1 +- +[0-9.]+[ .o*] +[0-9.]+" "$OUT" "what the other hosts send is not marked"
check "the picture is XML and names the hosts" \
    python3 "$SOURCE/tests/cli/link_picture.py" "$T/link.svg" "$H3" "$H1"

# The first two hosts by longer names.
for i in 1 2; do
    name=H$i address=A$i
    printf 'Host compute-node-of-cluster-%d\n HostName %s\n HostKeyAlias %s\n' "$i" "${!address}" "${!name}"
done | cat - "$NETNS_SSH_CONFIG" > "$T/long.config"
long=(--ssh-config "$T/long.config" -H "compute-node-of-cluster-[1-2]" --sizes 8)
check "bench link runs with names that are too long for 80 columns" on_columns 80 "${long[@]}"
check_match '^compute..luster-1 compute..luster-2 +8 ' "$OUT" \
    "long names lose their middle in the table"
check_output "" "a table with long names fits into 80 columns" \
    sh -c 'tr -d "\r" < "$1" | grep "^compute-" | grep ".\{81\}"; :' sh "$OUT"
check "bench link runs with long names and --wide" on_columns 80 "${long[@]}" --wide
check_match '^compute-node-of-cluster-1 compute-node-of-cluster-2 +all +8 ' "$OUT" \
    "long names are whole with --wide"
done_testing
