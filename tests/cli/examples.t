#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The examples: results that are known from elsewhere, and the same for any number of ranks, bit for
# bit.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"

EXAMPLES=$BUILD/examples
DATA=$SOURCE/examples
job() { "$MLAUNCH" --output raw --oversubscribe -n "$@"; }

check "hello runs with three ranks" job 3 -- "$EXAMPLES/hello"
for r in 0 1 2; do
    check_match "^hello from rank $r of 3 on [^ ]+$" "$OUT" "rank $r says hello"
done
check_match '^we are 3, ' "$OUT" "the ranks of hello have counted themselves"
check "hello runs without a launcher" "$EXAMPLES/hello"
check_match '^hello from rank 0 of 1 on ' "$OUT" "hello without a launcher is a group of one"

# R: kmeans(iris[, 1:4], 3) has clusters of 50, 62 and 38, and tot.withinss 78.85144.
check "kmeans runs with one rank" job 1 -- "$EXAMPLES/kmeans" "$DATA/iris.csv"
cp "$OUT" "$T/kmeans"
check_match '^cluster 0: 50 flowers, centre 5.0060 3.4280 1.4620 0.2460 cm; 50 setosa, 0 versicolor, 0 virginica$' "$T/kmeans" \
    "cluster 0 of kmeans is the setosas"
check_match '^cluster 1: 62 flowers, .* 48 versicolor, 14 virginica$' "$T/kmeans" \
    "cluster 1 of kmeans is as R finds it"
check_match '^cluster 2: 38 flowers, .* 2 versicolor, 36 virginica$' "$T/kmeans" \
    "cluster 2 of kmeans is as R finds it"
check_match '^sum of squares: 78.851 cm.2$' "$T/kmeans" "the sum of squares is as R finds it"
check_match '^checksum: [0-9a-f]{16}$' "$T/kmeans" "kmeans prints a checksum"
for n in 2 3 4 7; do
    check_output "$(cat "$T/kmeans")" "kmeans with $n ranks has the same result, bit for bit" \
        job $n -- "$EXAMPLES/kmeans" "$DATA/iris.csv"
done
check_output "$(cat "$T/kmeans")" "kmeans over TCP has the same result, bit for bit" \
    job 4 --backend tcp --local net -- "$EXAMPLES/kmeans" "$DATA/iris.csv"
check_error 1 'cannot read /nowhere: No such file or directory' \
    "kmeans says which file it can't read" job 2 -- "$EXAMPLES/kmeans" /nowhere
head -n 5 "$DATA/iris.csv" > "$T/broken.csv"
echo "5.1,3.5,rose" >> "$T/broken.csv"
check_error 1 'broken.csv line 6 is no flower: 5.1,3.5,rose' "kmeans says which line is no flower" \
    job 2 -- "$EXAMPLES/kmeans" "$T/broken.csv"

check "heat runs with one rank" job 1 -- "$EXAMPLES/heat"
cp "$OUT" "$T/heat"
check_match '^63 x 63 cells after 10000 steps: (24.99|25.00)[0-9]* in the middle' "$T/heat" \
    "the middle of heat's plate is as warm as it must be"
for n in 2 3 4; do
    check_output "$(cat "$T/heat")" "heat with $n ranks has the same result, bit for bit" \
        job $n -- "$EXAMPLES/heat"
done
check_error 1 'usage: heat' "heat refuses more ranks than rows" job 3 -- "$EXAMPLES/heat" 2 1

for local in shm net; do
    check "overlap runs over $local" \
        job 3 --backend tcp --local $local -- "$EXAMPLES/overlap" 5 0.25
    check_match '^overlapped +[0-9.]+$' "$OUT" \
        "overlap over $local has right sums, and says what it took"
    check_match '^hidden: (([0-9]{1,2}|100) % of the shorter one|too noisy to tell)$' "$OUT" \
        "overlap over $local hides a share that can be"
done
check_error 2 'usage: overlap' "overlap refuses a run without buckets" \
    job 1 -- "$EXAMPLES/overlap" 0

# R: lm(Petal.Width ~ Petal.Length, iris)
if is_here python3; then
    export PYTHONDONTWRITEBYTECODE=1
    for n in 1 4; do
        check_output "150 flowers: petal width = -0.3631 + 0.4158 * petal length (cm)" \
            "regression.py with $n ranks finds R's line" \
            job $n "${STRANGER[@]}" -- python3 "$DATA/regression.py"
    done

    # elastic [OPTION…] -- [ARGUMENT…]: what rank 0 prints of its losses.
    elastic() {
        local options=()
        while [ "$1" != -- ]; do options+=("$1") && shift; done
        run job 4 --elastic 1 "${options[@]}" "${STRANGER[@]}" -- python3 "$DATA/elastic.py" "${@:2}"
    }
    elastic --
    cp "$OUT" "$T/nobody"
    check_match '^108 of 150 flowers are known, 4 ranks are left$' "$OUT" \
        "elastic.py knows as many flowers as before"
    elastic -- leave 3:40 0:60
    cp "$OUT" "$T/planned"
    check_match '^step 40: loss 0x[0-9a-fp.+]+, ranks 0 1 2$' "$OUT" \
        "elastic.py goes on without ranks that leave"
    check_match 'flowers are known, 2 ranks are left$' "$OUT" "elastic.py goes on without rank 0"
    elastic -- die 3:40 0:60
    check_match 'rank 0 .* was killed by signal 9' "$ERR" "elastic.py loses ranks that die"
    cp "$OUT" "$T/died"
    check "ranks that die give the losses of ranks that leave, bit for bit" \
        cmp "$T/died" "$T/planned"
    check_status 1 "ranks that leave change the losses" \
        cmp -s <(cut -d , -f 1 "$T/nobody") <(cut -d , -f 1 "$T/planned")
    elastic --restarts 1 --replace-wait 60 -- die 3:40 0:60
    cp "$OUT" "$T/replaced"
    check "replaced ranks give the losses of a run that loses nobody" cmp "$T/replaced" "$T/nobody"
else
    skip "regression.py finds R's line" "no python3 here"
    skip "elastic.py goes on without lost ranks" "no python3 here"
fi
done_testing
