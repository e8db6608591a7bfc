#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# `make host-sets`, in check-long: what it makes needs no glibc above 2.28, is installed, and is
# what a host with Debian 11 gets over SSH, beside ranks of this machine. That host is the Debian in
# which the set was built, with an sshd on a loopback address.
TEST_TIER=full
TEST_LIMIT=1800
. "${0%/*}/../lib/test.sh"
is_long || skip_all "only in check-long: it fetches a Debian 11 and builds in it"
[ "$SANITIZE" = no ] || skip_all "sets are built without sanitizers"
[ "$(id -u)" = 0 ] || skip_all "needs root"
[ -e "$BUILD/launcher/mlaunch-ssh.so" ] || skip_all "built without SSH"
command -v debootstrap > /dev/null || skip_all "there is no debootstrap here"
set=$(uname -m)-gnu2.28

check "make host-sets" make -C "$BUILD" -s host-sets
[ -d "$BUILD/hosts/$set" ] || done_testing
check_output "libmlaunch.so.0 mlaunch-agent mlaunch-bench mlaunch-copier mlaunch-probe \
mlaunch-rdma.so mlaunch-runtime.so" "the files of a set" sh -c 'ls "$1" | xargs' sh \
    "$BUILD/hosts/$set"
readelf -VW "$BUILD/hosts/$set"/* | grep -o 'GLIBC_2[.0-9]*' | sort -Vu > "$T/needs"
check_output "GLIBC_2.28" "they need glibc 2.28" tail -n 1 "$T/needs"
check "make install" make -C "$BUILD" -s install DESTDIR="$T/installed"
check_output "7" "… installs them" sh -c 'find "$1" -path "*/mlaunch/hosts/$2/*" | wc -l' sh \
    "$T/installed" "$set"

root=$BUILD/packaging/host-sets/bullseye
# inside COMMAND…: with processes, mounts and shared memory that end with it.
inside() {
    exec unshare --mount --pid --ipc --uts --fork --kill-child sh -c 'hostname old &&
        mount -t proc proc "$0/proc" && mount -t tmpfs tmpfs "$0/dev/shm" &&
        exec chroot "$0" /usr/bin/env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin \
        LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"' "$root" "$@"
}
check "an sshd" bash -c "$(declare -f inside); root=\$1; inside apt-get install -q -y \
    --no-install-recommends openssh-server" bash "$root"
ssh-keygen -q -t ed25519 -N '' -f "$T/key"
mkdir -p "$root/run/sshd" "$root/root/.ssh"
rm -rf "$root/root/.cache" "$root/srv/tree"
cp "$T/key.pub" "$root/root/.ssh/authorized_keys"
chmod 700 "$root/root" "$root/root/.ssh"
port=$(python3 -c 'import socket; s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1])')
(inside /usr/sbin/sshd -D -e -p "$port" -o ListenAddress=127.0.0.1) 2> "$T/sshd" &
sshd=$!
TEST_CLEANUP+=("kill -9 $sshd; wait $sshd") # unshare heeds no SIGTERM
wait_for "grep -q 'listening on' $T/sshd"
echo "[127.0.0.1]:$port $(cat "$root/etc/ssh/ssh_host_ed25519_key.pub")" > "$T/known"
cat > "$T/config" << END
Host old
    HostName 127.0.0.1
    Port $port
    IdentityFile $T/key
    UserKnownHostsFile $T/known
END
ml() { "$MLAUNCH" "$@" --ssh-config "$T/config"; }
on_both() {
    "$MLAUNCH" -v --ssh-config "$T/config" -H localhost,old -n 2 --output raw -- \
        sh -c '. /etc/os-release && echo "$MLAUNCH_RANK $VERSION_CODENAME"'
}
# shellcheck source=/dev/null
here=$(. /etc/os-release && echo "$VERSION_CODENAME")
check "a job of this machine and a Debian 11" on_both
check_match "copying" "$ERR" "… to which the set is copied"
check_match "^0 $here\$" "$OUT" "… has a rank here"
check_match "^1 bullseye\$" "$OUT" "… and one there"
check "the C program in both" ml bench -H localhost,old -n 2 --sizes 8,4M --check
check "… and two there" ml bench -H old -n 2 --sizes 8,4M --check
mkdir "$T/tree" && echo word > "$T/tree/file"
check "mlaunch sync" "$MLAUNCH" sync --ssh-config "$T/config" -H old --to /srv "$T/tree"
check_output word "… brings files" cat "$root/srv/tree/file"
done_testing
