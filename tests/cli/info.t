#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# mlaunch info: hosts side by side, what differs is marked, a host that can't be reached is named
# beside the others; many hosts in groups; recorded machines of three makers.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
. "${0%/*}/recorded.sh"

check "mlaunch info shows this machine" "$MLAUNCH" info
check_match "^  kernel +$(uname -r)$" "$OUT" "info has this machine's kernel"
check_match "^  cores +$(grep -c '^processor' /proc/cpuinfo)$" "$OUT" \
    "info has this machine's processors"
check_match '^  mlaunch +[0-9.]+$' "$OUT" "info has mlaunch's version"
check_error 125 "mlaunch info: unexpected argument 'x'" "a word behind mlaunch info is refused" \
    "$MLAUNCH" info x
check_error 125 'host nowhere\.invalid: ' "a host that can't be reached is an error" \
    "$MLAUNCH" info -H localhost,nowhere.invalid
check_match '^  HOST +localhost$' "$OUT" "a host that can't be reached does not hide the other"
check_error 125 'host nowhere\.invalid: ' "a host that can't be reached is an error as JSON, too" \
    "$MLAUNCH" info --json -H localhost,nowhere.invalid
cp "$OUT" "$T/out.json"
check_output "6 error" "JSON has the error of the host that can't be reached" \
    json_show '(lambda a, b: (len(
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
check "info shows two recorded machines" on_recorded info a,b
check_no_match '^\*' "$OUT" "equal machines have no mark"
check_match '^  OS +Debian GNU/Linux 12 \(bookworm\) +Debian' "$OUT" "info has the operating system"
check_match '^  memory +378G +378G$' "$OUT" "info has the memory"
check_match '^  NUMA nodes +2 +2$' "$OUT" "info has the NUMA nodes"
check_match '^  governor +performance ' "$OUT" "info has the governor"
check_match '^  security +AppArmor, ptrace_scope 1 +AppArmor' "$OUT" "info has what limits programs"
check_match '^  GPUs +2 x NVIDIA 2330 at node 1 0 +2 x' "$OUT" \
    "info has the GPUs, and not the console's"
check_match '^  GPU driver +nvidia 535.104.05 ' "$OUT" "info has the driver of GPUs"
check_match "^  GPU dmabuf +unknown: /proc/driver/nvidia/version can't be read +unk" "$OUT" \
    "info says why dmabuf can't be told"
check_match '^  GPU peermem +no: nvidia_peermem is not loaded +no:' "$OUT" \
    "info says why devices can't register GPU memory"
check_match '^  GPU NICs +none, bnxt_re0\+mlx5_0 +none,' "$OUT" \
    "info has the devices near each GPU by memory node"
check_match '^  libibverbs +1.14.44.0 ' "$OUT" "info has the version of libibverbs"
check_match '^  mlx5_0 firmware +20.39.1002 ' "$OUT" "info has a device's firmware"
check_match '^  mlx5_0 PCIe +16.0 GT/s PCIe x16 ' "$OUT" "info has a device's PCIe link"
check_match '^  mlx5_0 port 1 +ACTIVE 200 Gb/sec \(4X HDR\) ' "$OUT" "info has a device's port"
check_match '^  bnxt_re0 port 1 +ACTIVE 100 Gb/sec \(4X EDR\) Ethernet ' "$OUT" \
    "info has a port of another maker's device"
check_match '^  bnxt_re0 port 1 MTU +9000 +9000$' "$OUT" "info has the MTU of a RoCE port"
check_match '^  tb0 port 1 +ACTIVE 40 Gb/sec' "$OUT" "info has a port of a device on Thunderbolt"

record g h
record_gpus g
record_gpus h
for host in g h; do
    put "$host" /proc/driver/nvidia/version \
        'NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  535.104.05  Release Build'
    mkdir -p "$T/recorded/$host/sys/module/nvidia_peermem"
done
check "info shows GPUs behind switches" on_recorded info g,h
check_no_match '^\*' "$OUT" "equal machines with GPUs have no mark"
check_match '^  GPU NICs +mlx5_0 x 2, mlx5_2 +mlx5_0' "$OUT" "each GPU has a device near it"
check_match '^  GPU cores +0-31 x 2, 32-63 +0-31' "$OUT" "each GPU has the cores near it"
check_match '^  GPU dmabuf +yes +yes$' "$OUT" "an open driver exports GPU memory"
check_match '^  GPU peermem +yes +yes$' "$OUT" "a module registers GPU memory"
rm "$T/recorded/h/sys/class/infiniband/mlx5_2/device"
ln -s ../../../bus/pci/devices/0000:1e:00.0 "$T/recorded/h/sys/class/infiniband/mlx5_2/device"
check_status 1 "verify fails for a card in another slot" on_recorded verify g,h
check_match 'host h: GPU NICs are mlx5_0 x 2, none, and on 1 other mlx5_0 x 2, mlx5_2; ' "$OUT" \
    "a card in another slot is named"
put g /proc/driver/nvidia/version 'NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05'
put h /proc/sys/kernel/osrelease 5.10.0-28-amd64
rmdir "$T/recorded/h/sys/module/nvidia_peermem"
check "info shows hosts with different GPU drivers" on_recorded info g,h
check_match '^\* GPU dmabuf +no: nvidia is not the open kernel module +no: Linux is 5.10.0-28-amd64, n' \
    "$OUT" "info says why each host can't export GPU memory"
check_match '^\* GPU peermem +yes +no: nvidia_peermem is not loaded$' "$OUT" \
    "info says on which host no module registers GPU memory"
check_status 1 "verify fails for a host that lacks the module" on_recorded verify g,h
check_match 'GPU peermem is no: nvidia_peermem is not loaded, and on 1 other yes' "$OUT" \
    "verify names the host that lacks the module"
for host in g h; do
    rm "$T/recorded/$host"/sys/bus/pci/devices/*/driver
done
check "info shows GPUs without a driver" on_recorded info g
check_match '^  GPU dmabuf +no: the driver is missing$' "$OUT" \
    "GPUs without a driver can't export memory"

put b /proc/sys/kernel/osrelease 6.1.0-26-amd64
put e /sys/class/infiniband/mlx5_0/fw_ver 20.35.1012
put f /sys/class/infiniband/mlx5_0/fw_ver $'20.35\033[2J'
check "info shows two hosts with different kernels" on_recorded info a,b
cp "$OUT" "$T/table"
check_output '* kernel 6.1.0-28-amd64 6.1.0-26-amd64' \
    "only the kernels are marked" sh -c 'grep "^\*" "$1" | tr -s " "' sh "$T/table"
check "info shows six hosts" on_recorded info a,b,c,d,e,f
check_match '^\* kernel +6.1.0-28-amd64 +a,c-f$' "$OUT" "hosts with equal kernels are one group"
check_match '^ +6.1.0-26-amd64 +b$' "$OUT" "a host with another kernel is a group of its own"
check_match '^  OS +Debian GNU/Linux 12 \(bookworm\) +all 6$' "$OUT" \
    "equal values of six hosts are shown once"
check_match '^ +20.35\?\[2J +f$' "$OUT" "what would control a terminal is replaced"
done_testing
