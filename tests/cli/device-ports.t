#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# RDMA devices with several ports, from the hosts' answers to what the ranks find. Such devices are
# made up (probe-stand-in); that a rank opens the port it is told is tests/unit/test_port's and
# test_rails'.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
grep -q '^#define HAVE_RDMA 1' "$BUILD/config.h" || skip_all "built without RDMA"

# An installation of its own, in which the stand-in is mlaunch-probe.
mkdir "$T/inst"
cp "$AGENT" "$T/inst/"
ln -s "$BUILD"/runtime/{libmlaunch.so.0,mlaunch-runtime.so} \
    "$BUILD/rdma/mlaunch-rdma.so" "$SOURCE/runtime/python" "$T/inst/"
cp "$TEST_LIB/probe-stand-in" "$T/inst/mlaunch-probe"
export PROBE_FABRIC=$T/fabric.json
# shellcheck disable=SC2016
hosts=(--agent "$T/inst/mlaunch-agent" --agent-command \
    'sh -c '\''PROBE_HOST=${0#h} exec "$@"'\'' {host}')
probe() { "$MLAUNCH" hosts --probe "${hosts[@]}" "$@"; }
# Each rank tells what the runtime will read, or what MLX would.
# shellcheck disable=SC2016
job() { "$MLAUNCH" "${hosts[@]}" --backend rdma --output raw "$@" -- sh -c \
    '[ $MLAUNCH_RANK != 0 ] || cat "$MLAUNCH_JOB_DIR/rdma.json" "$MLX_IBV_DEVICES"'; }
rows() { # rows FILE ROW…: a hostfile
    python3 "$SOURCE/tests/cli/device_hosts.py" "$@"
}

# Host 0's device has a cable to each of the others; between these there are two.
cat > "$PROBE_FABRIC" << 'END'
[[0, "m", 1, "10.1.0.1", 1], [0, "m", 2, "10.2.0.1", 2],
 [1, "x", 1, "10.1.0.2", 1], [1, "y", 1, "10.3.0.2", 3], [1, "y", 2, "10.4.0.2", 4],
 [2, "x", 1, "10.2.0.3", 2], [2, "y", 1, "10.3.0.3", 3], [2, "y", 2, "10.4.0.3", 4]]
END
check "mlaunch hosts --probe looks at devices with two ports" probe -H h0,h1,h2 -o "$T/found.json"
check_match '^h0 +m +2 +active +Ethernet +4096 +10.2.0.1/24' "$OUT" "--probe shows each port"
check_match '^h1 +x +- +y:1,y:2' "$OUT" "--probe shows the matrix with ports"
check_output '[{"ssh": "h0", "rdma": [null, "m:1", "m:2"]},
 {"ssh": "h1", "rdma": ["x", null, ["y:1", "y:2"]]},
 {"ssh": "h2", "rdma": ["x", ["y:1", "y:2"], null]}]' \
     "--probe writes ports where there are several" cat "$T/found.json"
sed -i 's/"ssh": "h[0-9]",/& "ips": ["127.0.0.1"],/' "$T/found.json"
check "a job takes the hostfile that --probe has written" job --hostfile "$T/found.json"
wiring='"wiring": ?\[\[null, ?\["m:1"\], ?\["m:2"\]\], ?\[\["x"\], ?null, ?\["y:1", ?"y:2"\]\], ?\[\["x"\], ?\["y:1", ?"y:2"\], ?null\]\]'
check_match "$wiring" "$OUT" "ranks get the ports of the hostfile"
check_match '^.*\[\[null,"m","m"\],\["x",null,"y"\],\["x","y",null\]\]' "$OUT" \
    "MLX gets devices without ports"
rows "$T/plain.json" '[null, "m", "m"]' '["x", null, ["y:2", "y:1"]]' '["x", ["y:1", "y:2"], null]'
check "a job takes a hostfile without ports" job -v --hostfile "$T/plain.json"
check_match '"wiring": ?\[\[null, ?\["m:1"\], ?\["m:2"\]\], ?\[\["x"\], ?null, ?\["y:2", ?"y:1"\]\], ?\[\["x"\], ?\["y:2", ?"y:1"\], ?null\]\]' \
    "$OUT" "devices without ports get those in their peers' subnets, and rails are paired"
check_match 'host h0: m port 2 .GID 1, ::ffff:10.2.0.1. to x port 1 .* of host h2: as .*plain.json says, and traffic comes through; port: those in one subnet;' \
    "$ERR" "the chosen ports are told"
check "a job takes --rdma-device with a port" job -H h0 -n 2 --local net --rdma-device m:2
check_match '"wiring": ?\[\[\["m:2"\]\]\]' "$OUT" "--rdma-device with a port is that port"

# A spare host that the others do not reach is passed over, though the sentence may name another.
# Rank 1, on h1, kills its agent in the first run, and the host is not back. All hosts but h0 can
# only have the second place, and h2's device is in another net.
cat > "$T/connect" << 'END'
host=$1 PROBE_HOST=1
shift
[ "$host" != h1 ] || [ ! -e "$0.down" ] || exit 1
[ "$host" != h0 ] || PROBE_HOST=0
[ "$host" != h2 ] || PROBE_FABRIC=$PROBE_FABRIC.h2
export PROBE_HOST PROBE_FABRIC
exec "$@"
END
cp "$PROBE_FABRIC" "$T/whole.json"
echo '[[0, "m", 1, "10.1.0.1", 1], [1, "m", 1, "10.1.0.2", 1]]' > "$PROBE_FABRIC"
echo '[[0, "m", 1, "10.1.0.1", 1], [1, "m", 1, "10.9.0.2", 9]]' > "$PROBE_FABRIC.h2"
check "a job continues on a spare host over RDMA" \
    "$MLAUNCH" --agent "$T/inst/mlaunch-agent" --agent-command \
    "sh $T/connect {host}" --backend rdma -H h0,h1 --restarts 1 --spare-hosts h2,h3 --grace 1 -- \
    sh -c '[ "$MLAUNCH_RESTART" = 0 ] || exit 0
        [ "$MLAUNCH_RANK" = 0 ] || { : > "$0.down"; kill -KILL $PPID; }; exec sleep 60' "$T/connect"
check_match '^mlaunch: host h2 was lost; spare host h3 takes its place .rank 1.$' "$ERR" \
    "a spare host that the others reach takes the place"
cp "$T/whole.json" "$PROBE_FABRIC"

# refused NAME REGEX ROW…: mlaunch's own status, a sentence, and no rank has begun.
refused() {
    local name=$1 regex=$2
    shift 2
    rows "$T/bad.json" "$@"
    check_error 125 "$regex" "$name" job --hostfile "$T/bad.json"
    check_output "" "$name: no rank has begun" cat "$OUT"
}
x='["x", null, "y:1"]' y='["x", "y:1", null]'
refused "a port that does not exist is refused" '^mlaunch: host h0: m has no port 3, only 1 to 2' \
    '[null, "m:1", "m:3"]' "$x" "$y"
refused "a port that leads elsewhere is refused" \
    'host h0: .*bad.json says that m port 2 leads to host h1, but it is on one cable with x of host h2' '[null, "m:2", "m:1"]' "$x" "$y"
refused "a word in place of a port is refused" \
    "bad.json: hosts\[0\] \(h0\): rdma\[2\]: 'm:y' is not the name of an RDMA device: the port after the colon must be from 1" \
    '[null, "m:1", "m:y"]' "$x" "$y"
refused "a device with and without a port is refused" \
    'rdma\[1\]: names m and m:2: give both a port' '[null, ["m", "m:2"], "m:1"]' "$x" "$y"
check_error 125 "^mlaunch: error: --rdma-device: 'm:0' is not" \
    "--rdma-device with port 0 is refused" job -H h0,h1 --rdma-device m:0
sed -i 's/"10.2.0.1"/null/' "$PROBE_FABRIC"
refused "a port that is down is refused" \
    'host h0: m port 2 is down: check its cable' '[null, "m:1", "m:2"]' "$x" "$y"
check_error 125 '^mlaunch: --backend tcp runs the job without RDMA$' \
    "what works instead of RDMA is named" job --hostfile "$T/bad.json"
check_error 125 'host h0: no RDMA device reaches host h2: here m port 1 .10.1.0.1/24., m port 2 .down.; there x .10.2.0.3/24.' \
    "--probe names ports of devices that do not reach a host" probe -H h0,h1,h2
check "--probe takes the only port that is up" probe -H h0,h1 -o "$T/one.json"
check_match '"rdma": \[null, "m"\]|"rdma": \[null, \["m"\]\]' "$T/one.json" \
    "a port that is the only one up needs no number"
done_testing
