# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# recorded.sh: recorded machines for a *.t, behind test.sh. They are the files in which systems with
# RDMA devices describe themselves, in $T/recorded/HOST.
#
#     record a b              # two equal machines
#     record_mellanox a mlx5_0 1
#     put a /proc/sys/kernel/osrelease 6.1.0-26

# put HOST FILE TEXT
put() {
    mkdir -p "$T/recorded/$1${2%/*}"
    printf '%s\n' "$3" > "$T/recorded/$1$2"
}

# record HOST…: equal machines without devices.
record() {
    local host
    for host in "$@"; do
        put "$host" /etc/os-release 'PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"'
        put "$host" /proc/sys/kernel/osrelease 6.1.0-28-amd64
        put "$host" /proc/sys/kernel/random/boot_id "00000000-0000-4000-8000-$(cksum <<< "$host" | cut -c1-8)"
        put "$host" /proc/cpuinfo $'processor\t: 0\nmodel name\t: AMD EPYC 9354\nprocessor\t: 1\nmodel name\t: AMD EPYC 9354'
        put "$host" /proc/meminfo $'MemTotal:       395907216 kB\nMemAvailable:   380000000 kB'
        put "$host" /proc/loadavg '0.50 0.40 0.30 1/900 4711'
        put "$host" /proc/uptime '86400.10 100000.00'
        mkdir -p "$T/recorded/$host/sys/devices/system/node/node"{0,1}
        put "$host" /sys/devices/system/cpu/cpu0/cpufreq/scaling_governor performance
        put "$host" /sys/kernel/mm/transparent_hugepage/enabled 'always [madvise] never'
        put "$host" /sys/bus/pci/devices/0000:17:00.0/class 0x030200
        put "$host" /sys/bus/pci/devices/0000:17:00.0/vendor 0x10de
        put "$host" /sys/bus/pci/devices/0000:17:00.0/device 0x2330
        put "$host" /sys/bus/pci/devices/0000:17:00.0/numa_node 1
        put "$host" /sys/bus/pci/devices/0000:ca:00.0/class 0x030200
        put "$host" /sys/bus/pci/devices/0000:ca:00.0/vendor 0x10de
        put "$host" /sys/bus/pci/devices/0000:ca:00.0/numa_node 0
        put "$host" /sys/bus/pci/devices/0000:03:00.0/class 0x030000
        put "$host" /sys/bus/pci/devices/0000:03:00.0/vendor 0x1a03
        put "$host" /sys/module/nvidia/version 535.104.05
        ln -s ../../../../bus/pci/drivers/nvidia \
            "$T/recorded/$host/sys/bus/pci/devices/0000:17:00.0/driver"
        mkdir -p "$T/recorded/$host/usr/lib/x86_64-linux-gnu"
        ln -s libibverbs.so.1.14.44.0 "$T/recorded/$host/usr/lib/x86_64-linux-gnu/libibverbs.so.1"
    done
}

# device HOST NAME NUMBER DRIVER: what all devices have; NUMBER tells it from others.
device() {
    local d=/sys/class/infiniband/$2
    put "$1" "$d/node_guid" "$(printf 'b83f:d203:00%02x:%04x' "$3" "$(($(cksum <<< "$1" | cut -c1-4)))")"
    put "$1" "$d/device/numa_node" 0
    mkdir -p "$T/recorded/$1$d/device"
    ln -s "../../../bus/pci/drivers/$4" "$T/recorded/$1$d/device/driver"
    put "$1" "$d/ports/1/state" '4: ACTIVE'
    put "$1" "$d/ports/1/phys_state" '5: LinkUp'
    put "$1" "$d/ports/1/gids/0" "fe80:0000:0000:0000:ba3f:d2ff:fe$(printf %02x "$3"):$(printf %04x "$(($(cksum <<< "$1" | cut -c1-4)))")"
    put "$1" "$d/ports/1/gids/1" 0000:0000:0000:0000:0000:0000:0000:0000
}

# A ConnectX-6 with InfiniBand.
record_mellanox() {
    local d=/sys/class/infiniband/$2
    device "$1" "$2" "$3" mlx5_core
    put "$1" "$d/fw_ver" 20.39.1002
    put "$1" "$d/board_id" MT_0000000223
    put "$1" "$d/device/current_link_speed" '16.0 GT/s PCIe'
    put "$1" "$d/device/max_link_speed" '16.0 GT/s PCIe'
    put "$1" "$d/device/current_link_width" 16
    put "$1" "$d/device/max_link_width" 16
    put "$1" "$d/ports/1/rate" '200 Gb/sec (4X HDR)'
    put "$1" "$d/ports/1/link_layer" InfiniBand
    put "$1" "$d/ports/1/pkeys/0" 0xffff
    put "$1" "$d/ports/1/counters/symbol_error" 0
    put "$1" "$d/ports/1/counters/port_rcv_data" 123456789
    put "$1" "$d/ports/1/hw_counters/out_of_sequence" 0
}

# A BCM57504 with RoCE.
record_broadcom() {
    local d=/sys/class/infiniband/$2
    device "$1" "$2" "$3" bnxt_en
    put "$1" "$d/fw_ver" 222.0.135.0
    put "$1" "$d/device/current_link_speed" '16.0 GT/s PCIe'
    put "$1" "$d/device/max_link_speed" '16.0 GT/s PCIe'
    put "$1" "$d/device/current_link_width" 8
    put "$1" "$d/device/max_link_width" 8
    put "$1" "$d/ports/1/rate" '100 Gb/sec (4X EDR)'
    put "$1" "$d/ports/1/link_layer" Ethernet
    put "$1" "$d/ports/1/gid_attrs/types/0" 'RoCE v2'
    put "$1" "$d/ports/1/gid_attrs/ndevs/0" "ens$3np0"
    put "$1" "/sys/class/net/ens$3np0/mtu" 9000
    put "$1" "$d/ports/1/hw_counters/packet_seq_err" 0
}

# record_bond HOST INTERFACE: it is one of two links of bond0, which are up.
record_bond() {
    local name
    put "$1" /sys/class/net/bond0/bonding/mode '802.3ad 4'
    for name in "$2" "${2%?}1"; do
        put "$1" "/sys/class/net/$name/operstate" up
        ln -s ../bond0 "$T/recorded/$1/sys/class/net/$name/master"
        ln -s "../$name" "$T/recorded/$1/sys/class/net/bond0/lower_$name"
    done
}

# A device on Thunderbolt: no PCIe link, no firmware, no counters.
record_thunderbolt() {
    local d=/sys/class/infiniband/$2
    device "$1" "$2" "$3" thunderbolt_rdma
    rm -r "$T/recorded/$1$d/device/numa_node"
    put "$1" "$d/ports/1/rate" '40 Gb/sec (4X QDR)'
    put "$1" "$d/ports/1/link_layer" Ethernet
    put "$1" "$d/ports/1/gid_attrs/types/0" 'RoCE v2'
}

# pci_device HOST PATH ADDRESS NODE: a PCI device behind others.
pci_device() {
    put "$1" "/sys/devices/$2/$3/numa_node" "$4"
    mkdir -p "$T/recorded/$1/sys/bus/pci/devices"
    ln -s "../../../devices/$2/$3" "$T/recorded/$1/sys/bus/pci/devices/$3"
}

# record_gpus HOST: three GPUs instead of the usual ones, two of them behind a switch with mlx5_0;
# mlx5_1 is at the same root, mlx5_2 beside the third one.
record_gpus() {
    local address number=0
    rm -r "$T/recorded/$1/sys/bus/pci"
    pci_device "$1" pci0000:15/0000:15:01.0/0000:16:00.0 0000:17:00.0 0
    pci_device "$1" pci0000:15/0000:15:01.0/0000:16:00.0 0000:18:00.0 0
    pci_device "$1" pci0000:15/0000:15:01.0/0000:16:00.0 0000:1a:00.0 0
    pci_device "$1" pci0000:15/0000:15:03.0 0000:1e:00.0 0
    pci_device "$1" pci0000:c0/0000:c0:01.0 0000:ca:00.0 1
    pci_device "$1" pci0000:c8/0000:c8:01.0 0000:d0:00.0 1
    for address in 0000:17:00.0 0000:1a:00.0 0000:ca:00.0; do
        put "$1" "/sys/bus/pci/devices/$address/class" 0x030200
        put "$1" "/sys/bus/pci/devices/$address/vendor" 0x10de
        put "$1" "/sys/bus/pci/devices/$address/device" 0x2330
        put "$1" "/sys/bus/pci/devices/$address/local_cpulist" 0-31
        ln -s ../../../../bus/pci/drivers/nvidia \
            "$T/recorded/$1/sys/bus/pci/devices/$address/driver"
    done
    put "$1" /sys/bus/pci/devices/0000:ca:00.0/local_cpulist 32-63
    for address in 0000:18:00.0 0000:1e:00.0 0000:d0:00.0; do
        put "$1" "/sys/class/infiniband/mlx5_$number/fw_ver" 20.39.1002
        ln -s "../../../bus/pci/devices/$address" \
            "$T/recorded/$1/sys/class/infiniband/mlx5_$number/device"
        number=$((number + 1))
    done
}

# on_recorded COMMAND HOSTS OPTION…: the subcommand about recorded machines.
# shellcheck disable=SC2016 # the agent's shell
on_recorded() {
    "$MLAUNCH" "$1" --agent "$AGENT" --agent-command 'sh -c '\''exec "$@"'\'' {host}' -H "$2" \
        --sysfs "$T/recorded" "${@:3}"
}
