# shellcheck shell=bash disable=SC2034
# SPDX-License-Identifier: MIT
# Sourced by prepare and run: where things are and what they need.

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
cache=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/mlaunch-test-vm

packages=(qemu-system-x86 busybox-static cpio kmod iproute2 util-linux xz-utils perl-base rdma-core
    ibverbs-providers openssh-server openssh-client)

# Loaded in the initramfs, in this order; everything else is loaded on demand by modprobe.
modules_early=(virtio_pci 9pnet_virtio 9p overlay virtio_net macvlan crc32_generic rdma_rxe \
    ib_uverbs
    rdma_ucm)

# What is kept of the kernel package's module tree (the whole is some 400 MB).
module_trees=(arch/x86/crypto crypto lib net fs/9p fs/configfs fs/fscache fs/netfs fs/overlayfs
    drivers/infiniband/core drivers/infiniband/sw drivers/net/virtio_net.ko \
        drivers/net/net_failover.ko
    drivers/net/macvlan.ko drivers/net/dummy.ko drivers/net/ifb.ko drivers/virtio)

# 125: the test bed failed, not the command.
die() {
    printf 'tests/vm/%s: %s\n' "${0##*/}" "$*" >&2
    exit 125
}

kernel_stamp() { printf '%s\n' "${module_trees[@]}" | sha256sum | cut -c1-16; }
initrd_stamp() {
    { printf '%s\n' "$1" "${modules_early[@]}"; cat "$here/initramfs-init"; } | sha256sum |
        cut -c1-16
}
