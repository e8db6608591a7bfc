#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# mlaunch hosts: the hosts as a table and as a hostfile that says the same again. What --probe finds
# is tests/rdma/wiring.t's.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"

check_output "HOST       SLOTS  ADDRESSES
localhost      -  -" "mlaunch hosts shows this machine" "$MLAUNCH" hosts
cat > "$T/in.json" << 'END'
{"backend": "rdma", "envs": ["A=1"], "hosts": [
 {"ssh": "u@a:2222", "ips": ["10.0.0.1", "fd00::1"], "slots": 2, "rdma": [null, ["m0", "m1"]], "env": ["B=2"]},
 {"ssh": "[fd00::2]", "rdma": [["m1", "m0"], null], "cwd": "/w"}]}
END
expected='{"backend": "rdma", "hosts":
[{"ssh": "u@a:2222", "ips": ["10.0.0.1", "fd00::1"], "slots": 2, "rdma": [null, ["m0", "m1"]], "env": ["A=1", "B=2"]},
 {"ssh": "[fd00::2]", "rdma": [["m1", "m0"], null], "env": ["A=1"], "cwd": "/w"}]}'
check_output "$expected" "a hostfile is printed with all its members" \
    "$MLAUNCH" hosts --hostfile "$T/in.json" --json
check "a hostfile is written" "$MLAUNCH" hosts --hostfile "$T/in.json" -o "$T/out.json"
check_output "$expected" "a written hostfile says the same again" \
    "$MLAUNCH" hosts --hostfile "$T/out.json" --json
check_match '^a +2 +10.0.0.1 fd00::1$' <("$MLAUNCH" hosts --hostfile "$T/in.json") \
    "a hostfile is shown as a table"
check "the hosts of -H are written as a hostfile" "$MLAUNCH" hosts -H a:3,b -o"$T/list.json"
check_output '[{"ssh": "a", "slots": 3},
 {"ssh": "b"}]' "the hostfile of -H has its slots" cat "$T/list.json"
(umask 027 && "$MLAUNCH" hosts -H a -o "$T/private.json" > "$OUT")
check_output 640 "a written hostfile is as private as the user wants it" \
    stat -c %a "$T/private.json"
check_error 125 'cannot write /nowhere/x.json: No such file' \
    "a hostfile that can't be written is an error" "$MLAUNCH" hosts -o /nowhere/x.json
check_error 125 '-o needs a value: -o FILE' "-o without a file is refused" "$MLAUNCH" hosts -o
check_error 125 "mlaunch hosts: unexpected argument 'x'" "a word behind mlaunch hosts is refused" \
    "$MLAUNCH" hosts x
check_error 125 'mlaunch hosts: unknown option --prob; did you mean --probe\?' \
    "a mistyped option is refused with the right one" "$MLAUNCH" hosts --prob
cat > "$T/astray.json" << 'JSON'
[{"ssh": "h0", "ips": ["192.0.2.7"]}, {"ssh": "h1"},
 {"ssh": "h2", "ips": ["2001:db8::7"]}]
JSON
check_error 125 'mlaunch: host h0: "ips" in the hostfile: 192.0.2.7 is not one of this host.s addresses .it has ' \
    "an address of another host is refused" "$MLAUNCH" --agent "$AGENT" \
    --agent-command 'sh -c '\''exec "$@"'\'' {host}' --hostfile "$T/astray.json" -- true
check_match 'host h2: "ips" in the hostfile: 2001:db8::7 is not one of' "$ERR" \
    "each host with another's address is named"
check_match '2 of 3 hosts failed' "$ERR" "hosts with another's address are counted"
if grep -q '^#define HAVE_RDMA 1' "$BUILD/config.h"; then
    check_match '^RDMA: devices: found at the start; port: 2; GID index: what fits each pair best; MTU: 1024; queue pairs: UC$' \
        <("$MLAUNCH" --dry-run --backend rdma -H a,b --rdma-port 2 --mtu 1024 --qp uc -- true) \
        "a plan over RDMA needs no stated wiring"
    check "--probe of a host alone works" "$MLAUNCH" hosts --probe -o "$T/alone.json"
fi
if grep -q '^#define HAVE_RDMA 1' "$BUILD/config.h" && compgen -G '/sys/class/infiniband/*' > /dev/null; then
    skip "hosts without RDMA devices have no wires" "this machine has some"
elif grep -q '^#define HAVE_RDMA 1' "$BUILD/config.h"; then
    check_output '[{"ssh": "localhost"}]' "hosts without RDMA devices have no wires" \
        cat "$T/alone.json"
    check "--probe of hosts without RDMA devices" "$MLAUNCH" hosts --probe --agent "$AGENT" \
        --agent-command 'sh -c '\''exec "$@"'\'' {host}' -H h1,h2:3
    check_match '^h2 +3 +-' "$OUT" "--probe lists hosts without RDMA devices"
    check_match 'no host has an RDMA device, so jobs use TCP .*mlaunch verify --quick' "$ERR" \
        "--probe says what hosts without RDMA devices mean"
    check_error 125 'no host has an RDMA device, so there is no cable to draw' \
        "--draw of hosts without RDMA devices is refused" \
        "$MLAUNCH" hosts --probe --draw "$T/none.svg"
else
    check_error 125 'this mlaunch was built without RDMA .libibverbs.s headers were not there.*install libibverbs-dev' \
        "--backend rdma is refused by a build without RDMA" "$MLAUNCH" --backend rdma -H a,b -- true
    check_error 125 'mlaunch was built without RDMA' "--probe is refused by a build without RDMA" \
        "$MLAUNCH" hosts --probe
fi
done_testing
