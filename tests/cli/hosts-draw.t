#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# mlaunch hosts --draw: a wiring that is stated or found, as SVG, for Graphviz and in words.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
grep -q '^#define HAVE_RDMA 1' "$BUILD/config.h" || skip_all "built without RDMA"

# lines FILE: the lines of a picture by their kinds, and the titles of all but the good ones.
lines() {
    python3 "$SOURCE/tests/cli/drawn_links.py" "$1"
}

# As a hostfile states it: four hosts, of which two have two cables, and two have none.
cat > "$T/hosts.json" << 'END'
[{"ssh": "a", "rdma": [null, ["r0", "r1"], "r2", "r3"]},
 {"ssh": "b", "rdma": [["r0", "r1"], null, "r2", []]},
 {"ssh": "c", "rdma": ["r0", "r1", null, "r2"]},
 {"ssh": "d", "rdma": ["r0", [], "r1", null]}]
END
draw() { "$MLAUNCH" hosts --hostfile "$T/hosts.json" --draw "$@"; }
check "a wiring that is stated is drawn" draw "$T/stated.svg"
check_match '^missing for a full mesh: b - d$' "$OUT" "hosts without a link are named"
check_match '^ring: a b c d and back to a$' "$OUT" "the order of a ring is told"
check_output "good 6 missing 1
b and d: no link between these hosts" "the picture has links and missing ones" lines "$T/stated.svg"
check "a wiring is drawn with --json" draw "$T/stated.svg" --json
check_no_match 'ring' "$OUT" "--json prints the hostfile only"
check "a wiring is drawn for Graphviz" draw "$T/stated.dot"
check_output 7 "the file for Graphviz has all links" grep -c ' -- ' "$T/stated.dot"
if is_here dot; then
    check "Graphviz takes the file" dot -Tsvg -o "$T/by-dot.svg" "$T/stated.dot"
else
    skip "Graphviz takes the file" "$LACKS"
fi
sed -i 's/"r3"\]/[]]/; s/{"ssh": "d", "rdma": \["r0"/{"ssh": "d", "rdma": ["r0\\\\"/' "$T/hosts.json"
check "a wiring with one end that is not stated is drawn" draw "$T/half.svg"
check_match '^missing for a full mesh: a - d, b - d$' "$OUT" "a pair with one end is not joined"
check_match '^no ring joins all hosts$' "$OUT" "no ring is told where one end is missing"
check_match '^one way: d r0. to a$' "$OUT" "a link with one end leads one way"
check_output 'good 5 missing 1 oneway 1
b and d: no link between these hosts
d r0\ to a : one way only' "the picture of a link with one end is XML" lines "$T/half.svg"
check_error 125 'is not stated.*--probe finds it' "a wiring that is not stated is not drawn" \
    "$MLAUNCH" hosts -H a,b --draw "$T/no.svg"
check_error 125 "ends in .svg or .dot" "a picture of another form is refused" draw "$T/x.png"
check_error 125 'cannot make a file in' "a picture in a directory that is not there is refused" \
    draw "$T/none/x.svg"

# As it is found: h0 and h1 have a fast and a slow cable, h1 and h2 one that is dead, and h0 does
# not hear what h2 sends.
mkdir "$T/inst"
cp "$AGENT" "$T/inst/"
cp "$TEST_LIB/probe-stand-in" "$T/inst/mlaunch-probe"
export PROBE_FABRIC=$T/fabric.json
cat > "$PROBE_FABRIC" << 'END'
[[0, "m0", 1, "10.1.0.1", 1], [0, "m1", 1, "10.2.0.1", 2, {"gigabits": 25}], [0, "m2", 1, "10.3.0.1", 3, {"deaf": true}],
 [1, "m0", 1, "10.1.0.2", 1], [1, "m1", 1, "10.2.0.2", 2, {"gigabits": 25}], [1, "m2", 1, "10.4.0.2", 4],
 [2, "m0", 1, "10.3.0.3", 3], [2, "m1", 1, "10.4.0.3", 5]]
END
# shellcheck disable=SC2016
hosts=(--agent "$T/inst/mlaunch-agent" --agent-command \
    'sh -c '\''PROBE_HOST=${0#h} exec "$@"'\'' {host}')
check_status 125 "what is found is drawn, though a cable is missing" \
    "$MLAUNCH" hosts --probe "${hosts[@]}" -H h0,h1,h2 --draw "$T/found.svg"
check_match '^missing for a full mesh: h0 - h2, h1 - h2$' "$OUT" \
    "pairs that no cable joins are named"
check_match '^slow: h0 m1 - h1 m1, 25 Gb/s$' "$OUT" "the slow cable is named"
check_match '^one way: h2 m0 to h0 m2$' "$OUT" "the cable that leads one way is named"
check_match '^nothing comes through: h1 m2 - h2 m1$' "$OUT" "the dead cable is named"
check_match 'no RDMA device reaches|nothing comes through between' "$ERR" \
    "a missing cable is a job's error"
check_output "good 1 oneway 1 silent 1 slow 1
h0 m1 and h1 m1, 25 Gb/s: a link that is slower than others
h2 m0 to h0 m2, 100 Gb/s: one way only
h1 m2 and h2 m1, 100 Gb/s: nothing comes through" "the picture has each kind of cable" \
    lines "$T/found.svg"
sed -i 's/, {"deaf": true}//; s/"10.4.0.3", 5/"10.4.0.3", 4/' "$PROBE_FABRIC"
check "cables that all work are drawn" \
    "$MLAUNCH" hosts --probe "${hosts[@]}" -H h0,h1,h2 --draw "$T/full.dot"
check_match '^full mesh: a link joins each pair of hosts$' "$OUT" "a full mesh is told"

chmod u+w "$T/inst/mlaunch-probe" # a copy, maybe of sources that are read-only
printf '#!/bin/sh\n' > "$T/inst/mlaunch-probe"
check_error 125 'host h1: its RDMA devices could not be read: mlaunch-probe printed nothing; is lib' \
    "a probe that prints nothing is an error" "$MLAUNCH" hosts --probe "${hosts[@]}" -H h0,h1

# The picture in doc/ is what its command draws.
# shellcheck disable=SC2016
check "the hostfile of doc/wiring.svg is drawn" \
    sh -c 'cd "$SOURCE/doc" && "$MLAUNCH" hosts --hostfile wiring.json --draw "$1"' sh \
    "$T/wiring.svg"
check "doc/wiring.svg is what mlaunch draws" cmp "$T/wiring.svg" "$SOURCE/doc/wiring.svg"
done_testing
