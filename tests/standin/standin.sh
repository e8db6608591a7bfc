# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# standin.sh: hosts whose RDMA devices are those of the stand-in (rdma/standin), for a *.t, behind
# test.sh:
#
#     . "${0%/*}/standin.sh"
#     standin_up 2                       # or the whole file is skipped, with the reason
#     check "a device is there" on 0 ibv_devinfo
#     fabric unplug 0/rxe_p1:1           # of host 0
#
# The hosts are those of hosts.sh, are called host0, host1 and so on as well, and have a device and
# a wire to each other: rxe_p1 of host 0 leads to rxe_p0 of host 1. $RDMA_HOSTFILE names them all.
# Before standin_up, $STANDIN_KIND may be lines for the kind of all devices, and $STANDIN_WIRE for
# all wires (doc/rdma.md). With $STANDIN_RAIL each host has a device rxe_m besides, at a switch,
# whose port is down.
#
# `on_standin 2` instead runs the file on host 0 itself, where `ssh host1` leads to the others.
. "${BASH_SOURCE[0]%/*}/../lib/hosts.sh"
STANDIN=$BUILD/rdma/standin

# The third byte of the network between two hosts.
standin_net() { if [ "$1" -lt "$2" ]; then echo $(($1 * 16 + $2)); else echo $(($2 * 16 + $1)); fi; }

standin_profile() {
    local i j
    printf '[kind device]\n%s\n' "${STANDIN_KIND:-}"
    for ((i = 0; i < $1; i++)); do
        for ((j = 0; j < $1; j++)); do
            [ $i != $j ] || continue
            printf '[device %s/rxe_p%d]\nkind = device\ngids = fe80::%d:%d 10.78.%d.%d\n' \
                "$2$((i + 1))" $j "$(standin_net $i $j)" $((i + 1)) "$(standin_net $i $j)" $((i + 1))
            printf 'gid_types = v2\nnetdev = p%d\n' $j
            [ $i -lt $j ] || continue
            printf '[wire %d-%d]\nends = %s/rxe_p%d:1 %s/rxe_p%d:1\n%s\n' $i $j "$2$((i + 1))" $j \
                "$2$((j + 1))" $i "${STANDIN_WIRE:-}"
        done
    done
    [ -n "${STANDIN_RAIL:-}" ] || return 0
    for ((i = 1; i <= $1; i++)); do
        printf '[device %s/rxe_m]\nkind = device\ngids = fe80::%d 10.79.0.%d\ngid_types = v2\n' \
            "$2$i" $i $i
        printf 'netdev = pm\n'
    done
    printf '[switch rail]\nports ='
    for ((i = 1; i <= $1; i++)); do printf ' %s/rxe_m:1' "$2$i"; done
    printf '\n%s\n' "${STANDIN_WIRE:-}"
}

standin_hostfile() {
    local i j row
    for ((i = 0; i < $1; i++)); do
        row=
        for ((j = 0; j < $1; j++)); do
            if [ $i = $j ]; then row+=', null'; else row+=", \"rxe_p$j\""; fi
        done
        printf '%s{"ssh": "host%d", "ips": ["%s"], "rdma": [%s]}' "${separator:-[}" $i \
            "$(cut -d' ' -f$((i + 1)) <<< "$NETNS_ADDRS")" "${row#, }"
        local separator=$',\n '
    done
    echo ']'
}

# on N COMMAND…: on host N, without SSH.
on() {
    local host
    host=$(cut -d' ' -f$(($1 + 1)) <<< "$NETNS_HOSTS")
    netns exec "$host" "${@:2}"
}

# fabric COMMAND [N/DEVICE:PORT|N/DEVICE|N] …: says it to the fabric's control socket.
# fabric_line COMMAND …: prints that as a line for another shell.
fabric() { eval "$(fabric_line "$@")"; }
fabric_line() {
    local command=$1 place=${2:-} host
    shift
    [ $# = 0 ] || shift
    host=${place%%/*}
    [[ ! $host =~ ^[0-9]+$ ]] || place=$STANDIN_PREFIX$((host + 1))${place#"$host"}
    printf '%q ' python3 "$SOURCE/tests/standin/control.py" "$RDMA_STANDIN" \
        "$command${place:+ $place}${*:+ $*}"
}

# The hosts may still have the other end of its input.
standin_end() {
    kill "$STANDIN_PID" 2> /dev/null
    wait "$STANDIN_PID" 2> /dev/null
}

# rules_broken: the fabric's lines on programs that have ended by now and broken rules of verbs.
rules_broken() { sed -n '/has broken rules/p' "$T/fabric.err"; }
check_rules() { check_output "" "no program breaks a rule of verbs" rules_broken; }

standin_up() {
    local j i
    [ -e "$STANDIN/libibverbs.so.1" ] || skip_all "built without RDMA"
    ldconfig -p | grep -q 'libibverbs\.so\.1' || skip_all "there is no libibverbs.so.1 here"
    STANDIN_PREFIX=t$(echo $$ | tr 0-9 a-j)
    mkdir "$T/fabric"
    standin_profile "$1" "$STANDIN_PREFIX" > "$T/network.ini"
    mkfifo "$T/fabric.in" "$T/fabric.out"
    "$STANDIN/standin-fabric" "$T/network.ini" "$T/fabric" < "$T/fabric.in" > "$T/fabric.out" \
        2> "$T/fabric.err" &
    STANDIN_PID=$!
    exec {STANDIN_IN}> "$T/fabric.in"
    read -r i < "$T/fabric.out"
    if [ "$i" != ready ]; then
        diag_file "$T/fabric.err"
        echo "Bail out! the fabric does not start"
        exit 1
    fi
    at_exit standin_end
    export STANDIN_PREFIX RDMA_STANDIN=$T/fabric/control
    NETNS_ALIAS=host NETNS_PRIVATE=${STANDIN_PRIVATE-} \
        NETNS_ENTER="$STANDIN/standin-host $T/fabric/{host} $STANDIN/libibverbs.so.1 --" hosts_up "$1"
    for ((i = 0; i < $1; i++)); do
        for ((j = 0; j < $1; j++)); do
            [ $i = $j ] || printf 'link add p%d type bridge\naddr add 10.78.%d.%d/24 dev p%d\nlink set p%d up\n' \
                $j "$(standin_net $i $j)" $((i + 1)) $j $j
        done | on $i ip -batch -
    done
    if [ -n "${STANDIN_RAIL:-}" ]; then
        for ((i = 0; i < $1; i++)); do
            printf 'link add pm type bridge\naddr add 10.79.0.%d/24 dev pm\nlink set pm up\n' $((i + 1)) |
                on $i ip -batch -
            fabric down "$i/rxe_m:1"
        done
    fi
    standin_hostfile "$1" > "$T/hosts.json"
    export RDMA_HOSTFILE=$T/hosts.json
}

# on_host_0 FILE: runs the file on host 0, behind standin_up with a private /tmp.
on_host_0() {
    chmod 755 "$T" # its own $T, in there, may be for other users
    mkdir -p "$T/bin"
    printf '#!/bin/sh\nexec %s -F %s "$@"\n' "$(command -v ssh)" "$NETNS_SSH_CONFIG" > "$T/bin/ssh"
    chmod +x "$T/bin/ssh"
    on 0 env PATH="$T/bin:$PATH" NETNS_SSH_CONFIG="$NETNS_SSH_CONFIG" TMPDIR="$T" \
        BUILD="$BUILD" SOURCE="$SOURCE" SANITIZE="$SANITIZE" bash "$1"
}

# on_standin N: runs this file on host 0 of N, and its TAP becomes the file's. There it only says to
# mlaunch how hosts are reached.
on_standin() {
    local code
    if [ -n "${RDMA_STANDIN:-}" ]; then
        mkdir -p "$XDG_CONFIG_HOME/mlaunch"
        printf '[ssh]\nconfig = %s\n' "$NETNS_SSH_CONFIG" > "$XDG_CONFIG_HOME/mlaunch/mlaunch.ini"
        return 0
    fi
    [ "$SANITIZE" = no ] || skip_all "the library is run with sanitizers in tests/standin and over TCP"
    STANDIN_PRIVATE=/tmp standin_up "$1"
    on_host_0 "$(realpath "$0")"
    code=$?
    [ -z "$(rules_broken)" ] || echo "Bail out! $(rules_broken)"
    TEST_DONE=1
    exit "$code"
}
