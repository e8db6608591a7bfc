#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# RDMA's wiring on three hosts: found, written, verified, and every sentence for what is wrong.
TEST_TIER=full
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../standin/standin.sh"
STANDIN_RAIL=yes STANDIN_KIND="active_mtu = 4096"
on_standin 3
. "${0%/*}/jobs.sh"
. "${0%/*}/../lib/other-user.sh"
other_user || skip_all "only root can be another user as well"

HELLO=$BUILD/examples/hello
HOSTS=host0,host1,host2
job() { timeout -k 5 60 "$MLAUNCH" --backend rdma --output raw "$@" -- "$HELLO"; }
probe() { timeout -k 5 60 "$MLAUNCH" hosts --probe "$@"; }
# refused NAME REGEX ARG…: mlaunch's own status, a sentence, and no rank's word.
refused() {
    local name=$1 regex=$2
    shift 2
    check_error 125 "$regex" "$name is refused" job "$@"
    check_no_match 'hello' "$OUT" "$name starts no rank"
}
devices() { # devices FILE: the matrix alone
    tr -d ' \n' < "$1" | grep -oE '"rdma":\[(null|,|"[^"]*"|\[[^]]*\])*\]' | cut -d : -f 2-
}
# packets DEVICE: sent so far
packets() { cat "/sys/class/infiniband/$1/ports/1/hw_counters/sent_pkts"; }

# --- found, written, used again
check "mlaunch hosts --probe ends well" probe --hosts "$HOSTS" -o "$T/found.json" \
    --draw "$T/found.svg"
check_match '^host1 +rxe_p0 +rxe_p2|^host1 +rxe_p0 +- +rxe_p2' "$OUT" \
    "mlaunch hosts --probe shows the matrix"
check_match '^host0 +rxe_p2 +1 +active +Ethernet +4096 .*10.78.2.1/24' "$OUT" \
    "mlaunch hosts --probe shows the devices"
check_match '^full mesh: a link joins each pair of hosts$' "$OUT" \
    "mlaunch hosts --probe says what the cables make up"
check_output 3 "mlaunch hosts --probe draws the cables" grep -cE \
    '<title>host[0-2] rxe_p[0-2] and host' "$T/found.svg"
check_output "$(devices "$RDMA_HOSTFILE")" \
    "mlaunch hosts --probe writes the real wiring" devices "$T/found.json"
check "a job takes the wiring that was written" job --hostfile "$T/found.json"
check_match '^we are 3,' "$OUT" "a job with the wiring that was written has all ranks"
sed '1s/"rxe_p1", "rxe_p2"/"rxe_p2", "rxe_p1"/' "$RDMA_HOSTFILE" > "$T/swapped.json"
put_right() { "$MLAUNCH" hosts --probe --hostfile "$1" -o "$1" > /dev/null && devices "$1"; }
check_output "$(devices "$RDMA_HOSTFILE")" "a wrong hostfile is put right" \
    put_right "$T/swapped.json"
check_error 125 "host host9: .*" "a host that is not there is named" probe --hosts host0,host9

# --- files go over TCP
check "mlaunch sync ends well where there is RDMA" "$MLAUNCH" sync -H host1,host2 --to /tmp/synced \
    "$HELLO"
check_output "$(cksum < "$HELLO")" "mlaunch sync gives the last host the file" ssh host2 \
    "cksum < /tmp/synced/hello"

# --- what each user says overrides what is found
check "a job with a GID index of the user's ends well" job -v --hosts "$HOSTS" --gid-index 0
check_match 'rxe_p1 port 1 .GID 0, fe80:.*to rxe_p0 port 1 .GID 0, fe80:.*; GID: --gid-index;' \
    "$ERR" "a GID index of the user's is taken, and told"
printf '[rdma]\nmtu = 1024\nport = 1\n' > "$T/mlaunch.ini"
check "a job with [rdma] of the configuration ends well" job -v --config "$T/mlaunch.ini" \
    --hosts host0,host1
check_match 'port: --rdma-port; .*path MTU 1024: --mtu' "$ERR" \
    "[rdma] of the configuration is taken, and told"

# --- what works, but is probably a mistake
fabric gid 1/rxe_p0:1 1 ::
check "a job where one end has no IPv4 address ends well" job -n 2 --hostfile "$RDMA_HOSTFILE"
check_match 'warning: host host0: rxe_p1 and rxe_p0 of host host1 meet by link-local addresses .fe80:.* and fe80:.*because rxe_p0 of host host1 has no IPv4' \
    "$ERR" "one end without an IPv4 address is warned of"
check "a job with a GID index of link-local addresses ends well" job -n 2 --gid-index 0 \
    --hostfile "$RDMA_HOSTFILE"
check_no_match 'warning' "$ERR" "a GID index of link-local addresses has no warning"
fabric gid 1/rxe_p0:1 1 10.78.1.2

# --- sentences
refused "a pair of addresses that can't meet" \
    'host host0: GID index 1 of rxe_p1 and of rxe_p0 of host host1 don.t fit together|host host0: nothing comes through|there rxe_p0' \
    --gid-index 1 --hosts host0,host2 --rdma-device rxe_p1
fabric longest 0/rxe_p1:1 2048
refused "a smaller MTU between two hosts" \
    'host host0: between rxe_p1 and rxe_p0 of host host1 short packets come through, but none of 4096 bytes' \
    --hostfile "$RDMA_HOSTFILE"
check "a job with --mtu below the smaller MTU ends well" job --mtu 1024 --hostfile "$RDMA_HOSTFILE"
fabric longest 0/rxe_p1:1 0
fabric oneway 0/rxe_p1:1
check_error 125 'host host0: nothing comes through' \
    "a wire that carries nothing is found by hosts --probe" \
    probe --hosts "$HOSTS" --draw "$T/dead.svg"
check_match '^missing for a full mesh: host0 - host1$' "$OUT" \
    "the cable that is missing for a full mesh is named"
check_match '^nothing comes through: host0 rxe_p1 - host1 rxe_p0' "$OUT" \
    "the cable that carries nothing is named"
refused "a wire of a hostfile that carries nothing" \
    'host host0: nothing comes through between rxe_p1 port 1 .GID 1, ::ffff:10.78.1.1. and rxe_p0 port 1 .GID 1, ::ffff:10.78.1.2. of host host1; are these on one cable' \
    --hostfile "$RDMA_HOSTFILE"
refused "a wire that was found and carries nothing" \
    'host host0: nothing comes through .* of host host1; look at the cable' --hosts "$HOSTS"
fabric bothways 0/rxe_p1:1
port_down 0 1
refused "a pair of hosts without a device that is up" \
    'host host0: no RDMA device reaches host host1: here .*rxe_p1 .down.*; there .*rxe_p0 .10.78.1.2/24' \
    --hosts host0,host1
port_up 0 1

# As an ordinary user, of this host alone.
other() { "${OTHER[@]}" XDG_CONFIG_HOME=/ "$@"; }
alone=(timeout -k 5 60 "$OTHERS/launcher/mlaunch" -n 2 --local net --backend rdma)
check "a job of an ordinary user ends well" other "${alone[@]}" -- "$OTHERS/examples/hello"
check_error 125 'cannot register memory on rxe_p1: Cannot allocate memory; the limit of locked memory is too low: raise it .ulimit -l' \
    "an ordinary user with little locked memory hears of the limit" other sh -c \
    'ulimit -l 64; exec "$@"' sh "${alone[@]}" --rdma-device rxe_p1 -- "$OTHERS/examples/hello"
chmod 600 /dev/infiniband/uverbs*
check_error 125 'cannot open the RDMA device on rxe_p1: Permission denied; /dev/infiniband/uverbs. is not open to this user' \
    "an ordinary user hears that the device is closed to him" other "${alone[@]}" \
    --rdma-device rxe_p1 -- "$OTHERS/examples/hello"
check_error 125 'no RDMA device is up here: cannot open the RDMA device on rxe_[mp]?[12]?: Permission denied' \
    "an ordinary user hears it without naming a device, too" other "${alone[@]}" -- "$OTHERS/examples/hello"
chmod 666 /dev/infiniband/uverbs*
mkdir "$T/empty"
check_error 125 'there is no RDMA device rxe_p1 here, nor any other: .* is /dev/infiniband in this container' \
    "a container without the device is told so" unshare -m sh -c \
    'mount --bind "$0" /dev/infiniband && exec "$@"' \
    "$T/empty" "${alone[@]}" --rdma-device rxe_p1 -- "$OTHERS/examples/hello"

# --- two cables in one subnet: the second is that between the devices rxe_m
port_down 0 2
port_down 1 2
fabric up 0/rxe_m:1
fabric up 1/rxe_m:1
# address HOST DEVICE ADDRESS: the only one of a device, and of its interface.
address() {
    local interface=p${2#rxe_p}
    [ "$2" != rxe_m ] || interface=pm
    fabric gid "$1/$2:1" 1 "$3"
    ssh "host$1" "ip addr flush dev $interface; ip addr add $3/24 dev $interface"
}
address 0 rxe_p1 10.99.0.1
address 0 rxe_m 10.99.0.11
address 1 rxe_m 10.99.0.2
address 1 rxe_p0 10.99.0.12
check "mlaunch hosts --probe finds two cables in one subnet" probe --hosts host0,host1 -o \
    "$T/two.json"
check_output '[null,["rxe_m","rxe_p1"]]
[["rxe_m","rxe_p0"],null]' \
    "two cables in one subnet are told apart by traffic" devices "$T/two.json"
# wired ROW ROW: a hostfile of hosts 0 and 1 with these parts of the matrix.
wired() { sed -n "1s/\"rdma\".*/\"rdma\": $1},/p; 2s/\"rdma\".*/\"rdma\": $2}]/p" "$RDMA_HOSTFILE"; }
wired '[null, ["rxe_p1", "rxe_m"]]' '[["rxe_m", "rxe_p0"], null]' > "$T/crossed.json"
before1=$(packets rxe_p1) before2=$(packets rxe_m)
check "a job ends well whose hostfile crosses two cables" timeout -k 5 60 "$MLAUNCH" \
    --backend rdma --hostfile "$T/crossed.json" -- \
    "$BUILD/tests/runtime/collectives" --random 9 60
sent1=$(($(packets rxe_p1) - before1)) sent2=$(($(packets rxe_m) - before2))
if [ $((sent1 * 3)) -gt "$sent2" ] && [ $((sent2 * 3)) -gt "$sent1" ]; then
    pass "both crossed cables carry their share ($sent1 and $sent2 packets)"
else
    fail "both crossed cables carry their share ($sent1 and $sent2 packets)"
fi
# Every rail by itself, one after the other, and both together.
link() { timeout -k 5 100 "$MLAUNCH" bench link --hostfile "$T/two.json" --backend rdma --duration 0.05 "$@"; }
before2=$(packets rxe_m)
check "mlaunch bench link ends well over two rails" link --sizes 8,64K --csv
cp "$OUT" "$T/links"
check_output "all 8,all 65536,0 8,0 65536,1 8,1 65536" \
    "mlaunch bench link has a row for each rail, and for all" sh -c \
    'awk -F, "NR > 1 && \$18 == 0 { print \$3, \$4 }" "$1" | paste -sd ,' sh "$T/links"
check "mlaunch bench link uses the second rail" test $(($(packets rxe_m) - before2)) -gt 100
before1=$(packets rxe_p1) before2=$(packets rxe_m)
check "mlaunch bench link ends well with one rail of the user's" link --sizes 64K --csv \
    -x MLAUNCH_RAIL=0
sent1=$(($(packets rxe_p1) - before1)) sent2=$(($(packets rxe_m) - before2))
check "one rail of the user's is the only one used ($sent1 and $sent2 packets)" test "$sent2" -gt \
    $((sent1 * 5))
before1=$(packets rxe_p1) before2=$(packets rxe_m)
check "a job with devices near the ranks' GPUs ends well" timeout -k 5 60 "$MLAUNCH" \
    --backend rdma --hostfile \
    "$T/two.json" -x MLAUNCH_NEAR_DEVICES=rxe_m -- "$BUILD/tests/runtime/collectives" --random 9 60
sent1=$(($(packets rxe_p1) - before1)) sent2=$(($(packets rxe_m) - before2))
check "devices near the ranks' GPUs are the only ones used ($sent1 and $sent2 packets)" test \
    "$sent2" -gt $((sent1 * 5))
wired '[null, "rxe_p1"]' '["rxe_m", null]' > "$T/half.json"
refused "a hostfile with one subnet, but not one cable," \
    'host host0: nothing comes through between rxe_p1 port 1 .* and rxe_m port 1 .* of host host1' \
    --hostfile "$T/half.json"
done_testing
