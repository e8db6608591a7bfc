#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# mlaunch info: hosts side by side, what differs is marked, a host that can't be reached is named
# beside the others; many hosts in groups; recorded machines of three makers.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
. "${0%/*}/recorded.sh"

check "this machine" "$MLAUNCH" info
check_match "^  kernel +$(uname -r)$" "$OUT" "… has its kernel"
check_match "^  cores +$(grep -c '^processor' /proc/cpuinfo)$" "$OUT" "… its processors"
check_match '^  mlaunch +[0-9.]+$' "$OUT" "… and mlaunch's version"
check_error 125 "mlaunch info: unexpected argument 'x'" "a word" "$MLAUNCH" info x
check_error 125 'host nowhere\.invalid: ' "a host that can't be reached" "$MLAUNCH" info \
    -H localhost,nowhere.invalid
check_match '^  HOST +localhost$' "$OUT" "… does not hide the other"
check_error 125 'host nowhere\.invalid: ' "… also as JSON" "$MLAUNCH" info --json \
    -H localhost,nowhere.invalid
cp "$OUT" "$T/out.json"
check_output "6 error" "… where it has an error" json_show '(lambda a, b: (len(
    {"os", "kernel", "cores", "memory_bytes", "boot", "mlaunch"} & set(a["system"])),
    *(set(b) - {"host"})))(*j["hosts"])' "$T/out.json"

record a b c d e f
for host in a b c d e f; do
    record_mellanox "$host" mlx5_0 1
    record_broadcom "$host" bnxt_re0 2
    record_thunderbolt "$host" tb0 3
done
for host in a b c d e f; do
    put "$host" /sys/module/apparmor/parameters/enabled Y
    put "$host" /proc/sys/kernel/yama/ptrace_scope 1
done
check "recorded machines" on_recorded info a,b
check_no_match '^\*' "$OUT" "… that are equal"
check_match '^  OS +Debian GNU/Linux 12 \(bookworm\) +Debian' "$OUT" "… their system"
check_match '^  memory +378G +378G$' "$OUT" "… memory"
check_match '^  NUMA nodes +2 +2$' "$OUT" "… NUMA nodes"
check_match '^  governor +performance ' "$OUT" "… governor"
check_match '^  security +AppArmor, ptrace_scope 1 +AppArmor' "$OUT" "… what limits programs"
check_match '^  GPUs +2 x NVIDIA 2330 at node 1 0 +2 x' "$OUT" "… GPUs, but no console"
check_match '^  GPU driver +nvidia 535.104.05 ' "$OUT" "… driver"
check_match "^  GPU dmabuf +unknown: /proc/driver/nvidia/version can't be read +unk" "$OUT" \
    "… who may read them"
check_match '^  GPU peermem +no: nvidia_peermem is not loaded +no:' "$OUT" "… and who may not"
check_match '^  GPU NICs +none, bnxt_re0\+mlx5_0 +none,' "$OUT" "… what is near by memory node"
check_match '^  libibverbs +1.14.44.0 ' "$OUT" "… libibverbs"
check_match '^  mlx5_0 firmware +20.39.1002 ' "$OUT" "… firmware"
check_match '^  mlx5_0 PCIe +16.0 GT/s PCIe x16 ' "$OUT" "… PCIe link"
check_match '^  mlx5_0 port 1 +ACTIVE 200 Gb/sec \(4X HDR\) ' "$OUT" "… port"
check_match '^  bnxt_re0 port 1 +ACTIVE 100 Gb/sec \(4X EDR\) Ethernet ' "$OUT" "… of another maker"
check_match '^  bnxt_re0 port 1 MTU +9000 +9000$' "$OUT" "… and its MTU"
check_match '^  tb0 port 1 +ACTIVE 40 Gb/sec' "$OUT" "… and of a third"

record g h
record_gpus g
record_gpus h
for host in g h; do
    put "$host" /proc/driver/nvidia/version \
        'NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  535.104.05  Release Build'
    mkdir -p "$T/recorded/$host/sys/module/nvidia_peermem"
done
check "GPUs behind switches" on_recorded info g,h
check_no_match '^\*' "$OUT" "… are equal"
check_match '^  GPU NICs +mlx5_0 x 2, mlx5_2 +mlx5_0' "$OUT" "… each has a device near it"
check_match '^  GPU cores +0-31 x 2, 32-63 +0-31' "$OUT" "… and cores"
check_match '^  GPU dmabuf +yes +yes$' "$OUT" "… an open driver exports memory"
check_match '^  GPU peermem +yes +yes$' "$OUT" "… a module registers it"
rm "$T/recorded/h/sys/class/infiniband/mlx5_2/device"
ln -s ../../../bus/pci/devices/0000:1e:00.0 "$T/recorded/h/sys/class/infiniband/mlx5_2/device"
check_status 1 "a card in another slot" on_recorded verify g,h
check_match 'host h: GPU NICs are mlx5_0 x 2, none, and on 1 other mlx5_0 x 2, mlx5_2; ' "$OUT" \
    "… is noticed"
put g /proc/driver/nvidia/version 'NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05'
put h /proc/sys/kernel/osrelease 5.10.0-28-amd64
rmdir "$T/recorded/h/sys/module/nvidia_peermem"
check "GPUs of which hosts say something else" on_recorded info g,h
check_match '^\* GPU dmabuf +no: nvidia is not the open kernel module +no: Linux is 5.10.0-28-amd64, n' \
    "$OUT" "… why not"
check_match '^\* GPU peermem +yes +no: nvidia_peermem is not loaded$' "$OUT" "… on one of them"
check_status 1 "verify compares it" on_recorded verify g,h
check_match 'GPU peermem is no: nvidia_peermem is not loaded, and on 1 other yes' "$OUT" "… too"
for host in g h; do
    rm "$T/recorded/$host"/sys/bus/pci/devices/*/driver
done
check "GPUs without a driver" on_recorded info g
check_match '^  GPU dmabuf +no: the driver is missing$' "$OUT" "… can't be read"

put b /proc/sys/kernel/osrelease 6.1.0-26-amd64
put e /sys/class/infiniband/mlx5_0/fw_ver 20.35.1012
put f /sys/class/infiniband/mlx5_0/fw_ver $'20.35\033[2J'
check "one kernel differs" on_recorded info a,b
cp "$OUT" "$T/table"
check_output '* kernel 6.1.0-28-amd64 6.1.0-26-amd64' \
    "… and only that is marked" sh -c 'grep "^\*" "$1" | tr -s " "' sh "$T/table"
check "six hosts" on_recorded info a,b,c,d,e,f
check_match '^\* kernel +6.1.0-28-amd64 +a,c-f$' "$OUT" "… in groups"
check_match '^ +6.1.0-26-amd64 +b$' "$OUT" "… of equal ones"
check_match '^  OS +Debian GNU/Linux 12 \(bookworm\) +all 6$' "$OUT" "… or all"
check_match '^ +20.35\?\[2J +f$' "$OUT" "what would control a terminal is replaced"
done_testing
