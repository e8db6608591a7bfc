#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# mlaunch verify about recorded machines: those in order give no finding; each kind of finding about
# RDMA devices, and about what must be the same on all hosts, is the only one.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
. "${0%/*}/recorded.sh"
. "${0%/*}/verify.sh"

record a b c
for host in a b c; do
    record_mellanox "$host" mlx5_0 1
    record_broadcom "$host" bnxt_re0 2
    record_thunderbolt "$host" tb0 3
done
mv "$T/recorded" "$T/good"
reset() {
    rm -rf "$T/recorded"
    cp -a "$T/good" "$T/recorded"
}
# device_only STATUS REGEX NAME FILE TEXT: with another text in a file of b's.
device_only() {
    reset
    put b "$4" "$5"
    only "$1" "$2" "$3" on_recorded verify a,b,c
}
reset
check "recorded machines are in order" on_recorded verify a,b,c
said "fit; examined 3 of 3 hosts" "machines in order have no finding"
m=/sys/class/infiniband/mlx5_0
device_only 1 "^warning  same    host b: mlx5_0's firmware is 20.35.1012, and on 2 others 20.39.1002; " \
    "an older firmware" $m/fw_ver 20.35.1012
device_only 1 '^warning  same    host b: kernel is 6.1.0-26, and on 2 others 6.1.0-28-amd64; ' \
    "an older kernel" /proc/sys/kernel/osrelease 6.1.0-26
device_only 1 '^warning  same    host b: governor is powersave, ' "another governor" \
    /sys/devices/system/cpu/cpu0/cpufreq/scaling_governor powersave
device_only 1 '^warning  same    host b: memory is 283G, and on 2 others 378G; ' "less memory" \
    /proc/meminfo 'MemTotal: 296907216 kB'
reset
put b /proc/meminfo 'MemTotal: 390907216 kB'
check "hardly less memory is no finding" on_recorded verify a,b,c
device_only 1 "^warning  device  host b: mlx5_0 port 1 has 100 Gb/sec \(4X EDR\), and on a 200 Gb/sec; see its cable" \
    "a slow cable" $m/ports/1/rate '100 Gb/sec (4X EDR)'
device_only 1 "^warning  device  host b: mlx5_0's PCIe link has 8.0 GT/s PCIe x16 of 16.0 GT/s PCIe x16; " \
    "a slow PCIe link" $m/device/current_link_speed '8.0 GT/s PCIe'
device_only 1 "^warning  device  host b: mlx5_0's PCIe link has 16.0 GT/s PCIe x8 of .* x16; " \
    "a narrow PCIe link" $m/device/current_link_width 8
reset
put b "$m/device/current_link_width" 4
put b "$m/device/max_link_width" 4
only 1 "^warning  device  host b: mlx5_0's PCIe link, 16.0 GT/s PCIe x4, carries 63 Gb/s, and its port 1 200 Gb/s; " \
    "a PCIe link that is slower than the port" on_recorded verify a,b,c
device_only 0 "^note     device  host b: the IOMMU translates what 1 of its 3 RDMA devices, mlx5_0 first, read and write \(DMA-FQ\), .*; boot with iommu=pt" \
    "an IOMMU" $m/device/iommu_group/type DMA-FQ
reset
for host in a b c; do
    record_bond "$host" ens2np0
    put "$host" "$m/device/iommu_group/type" identity
    put "$host" /sys/module/apparmor/parameters/enabled Y
    put "$host" /proc/sys/kernel/yama/ptrace_scope 1
done
check "bonded ports, a policy and an IOMMU that does not translate are no finding" \
    on_recorded verify a,b,c
put b /sys/class/net/ens2np1/operstate down
only 1 "^warning  device  host b: bnxt_re0 port 1's bond bond0 has 1 of its 2 links up; see the cables" \
    "a link of a bond that is down" on_recorded verify a,b,c
put b /sys/class/net/ens2np1/operstate up
put b /sys/fs/selinux/enforce 1
only 1 '^warning  same    host b: security is AppArmor, SELinux enforcing, ptrace_scope 1, and on 2 others AppArmor, ptrace_scope 1; ' \
    "another security policy" on_recorded verify a,b,c
device_only 1 '^warning  device  host b: mlx5_0 port 1 is DOWN \(LinkUp\), and active elsewhere; see its cable' \
    "a port that is down" $m/ports/1/state '1: DOWN'
device_only 1 '^warning  device  host b: bnxt_re0 port 1.s interface ens2np0 has an MTU of 1500, and on a of 9000' \
    "a smaller MTU" /sys/class/net/ens2np0/mtu 1500
device_only 1 '^error    device  host b: bnxt_re0 port 1 has no RoCE v2 address' \
    "a lack of RoCE v2 addresses" \
    /sys/class/infiniband/bnxt_re0/ports/1/gid_attrs/types/0 'IB/RoCE v1'
reset
for host in a b c; do rm -r "$T/recorded/$host/sys/class/infiniband/bnxt_re0/ports/1/gid_attrs/types"; done
put b /sys/class/infiniband/bnxt_re0/ports/1/gids/0 0000:0000:0000:0000:0000:0000:0000:0000
only 1 '^error    device  host b: bnxt_re0 port 1 has no RoCE v2 address' \
    "a lack of addresses on an old kernel" on_recorded verify a,b,c
device_only 0 '^note     device  host b: mlx5_0 port 1.s first partition is 0x8001' "another partition" \
    $m/ports/1/pkeys/0 0x8001
device_only 0 '^note     device  host b: mlx5_0.s NUMA node is unknown' "an unknown NUMA node" \
    $m/device/numa_node -1
reset
put b "$m/node_guid" "$(cat "$T/recorded/a$m/node_guid")"
only 1 '^error    device  hosts a and b: a device of each, mlx5_0 on the second, has the GUID b83f' \
    "a GUID of two devices" on_recorded verify a,b,c
reset
put b "$m/ports/1/gids/0" "$(cat "$T/recorded/a$m/ports/1/gids/0")"
only 1 '^error    device  hosts a and b: a port of each, mlx5_0 port 1 on the second, has the GID fe80' \
    "a GID of two ports" on_recorded verify a,b,c
reset
rm -r "$T/recorded/b/sys/class/infiniband/mlx5_0"
only 1 '^warning  device  host b: it has 0 RDMA devices of mlx5_core, and a has 1; see whether a card' \
    "a device that is missing" on_recorded verify a,b,c
reset
rm "$T/recorded/b/usr/lib/x86_64-linux-gnu/libibverbs.so.1"
only 1 '^error    device  host b: it has RDMA devices, but no libibverbs.so.1; install' \
    "a lack of libibverbs" on_recorded verify a,b,c
reset
for d in mlx5_0 bnxt_re0 tb0; do put b /sys/class/infiniband/$d/ports/1/state '1: DOWN'; done
only 1 '^error    device  host b: none of the ports of its 3 RDMA devices is active' \
    "a host without an active port" on_recorded verify a,b,c
reset
for host in a b c; do put $host "$m/ports/1/state" '1: DOWN'; done
check "a port that nobody uses is no failure" on_recorded verify a,b,c
check_match '^note     device  host c: mlx5_0 port 1 is DOWN' "$OUT" \
    "a port that nobody uses is a note"
check_error 125 'recorded machines \(--sysfs\) have no jobs' "--fix of a record is refused" \
    on_recorded verify a --fix
done_testing
