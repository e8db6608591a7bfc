#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# `make host-sets`, in check-long: its sets need no glibc above 2.28, or musl, are installed, and
# are what hosts of other distributions get over SSH, beside ranks of this machine: a Debian 11,
# which is the one in which the sets were built, a Debian 13, and a system with musl and nothing of
# glibc. Each is a directory that this machine's sshd makes its users' root, in namespaces of its
# own. With the wheel, which is built where the sets are, the Debians are heads too. The first part
# types README's commands and looks at the sets; the second has the jobs, without a set for ARM.
TEST_TIER=full
TEST_PARTS=2
TEST_LIMIT=2400
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../pages/page.sh"
is_long || skip_all "only in check-long: it fetches Debians and builds in one"
[ "$SANITIZE" = no ] || skip_all "sets are built without sanitizers"
[ "$(id -u)" = 0 ] || skip_all "needs root"
[ -e "$BUILD/launcher/mlaunch-ssh.so" ] || skip_all "built without SSH"
needs debootstrap
archive=$("$SOURCE/tests/fresh/make_system" trixie 2> "$T/why") ||
    skip_all "$(tail -n 1 "$T/why")"
[ -x /usr/sbin/sshd ] || skip_all "there is no sshd here"
machine=$(uname -m)
gnu=$BUILD/hosts/$machine-gnu2.28
musl=$BUILD/hosts/$machine-musl
arm=$BUILD/hosts/aarch64-gnu2.28

if in_part 0; then
    of_musl="libmlaunch.so.0 mlaunch-agent mlaunch-bench mlaunch-copier mlaunch-entry"
    of_gnu="$of_musl mlaunch-pmix mlaunch-probe mlaunch-rdma.so mlaunch-runtime.so"
    of_musl+=" mlaunch-runtime.so"
    files_of() { (cd "$1" && echo *); }
    # README's reader is in the folder of the source.
    mkdir "$T/reader" "$T/bin"
    cd "$T/reader" || exit 1
    ln -s "$BUILD" build
    is_here sudo || {
        printf '#!/bin/sh\nexec "$@"\n' > "$T/bin/sudo"
        chmod +x "$T/bin/sudo"
    }
    while IFS=$'\t' read -r page command; do
        check_typed "$page" "$command" env PATH="$PATH:$T/bin"
    done < <(page_commands)
    if [ ! -d "$gnu" ] || [ ! -d "$musl" ] || [ ! -d "$arm" ]; then done_testing; fi
    for set in "$gnu" "$arm"; do
        check_output "$of_gnu" "the set ${set##*/} has its files" files_of "$set"
        readelf -VW "$set"/* | grep -o 'GLIBC_2[.0-9]*' | sort -Vu > "$T/needs"
        check_output "GLIBC_2.28" \
            "the set ${set##*/} needs no newer glibc than 2.28" tail -n 1 "$T/needs"
    done
    check_output "AArch64" "all of ${arm##*/} are for that processor" sh -c \
        'readelf -hW "$1"/* | sed -n "s/^ *Machine: *//p" | sort -u' sh "$arm"
    check_output "$of_musl" "the set for musl has its files" files_of "$musl"
    readelf -dVW "$musl"/* | grep -E 'NEEDED|GLIBC' | sed 's/.*\[//; s/\]//' | sort -u | xargs \
        > "$T/needs"
    check_output "libc.so libmlaunch.so.0" "the set for musl needs musl and itself" cat "$T/needs"
    check_output "" "the agent and the copier for musl need nothing" sh -c \
        'readelf -lW "$@" | grep -E "INTERP|DYNAMIC" || :' sh \
        "$musl/mlaunch-agent" "$musl/mlaunch-copier"
    check "make install succeeds with sets" make -C "$BUILD" -s install DESTDIR="$T/installed"
    check_output "$([ "$arm" = "$gnu" ] && echo 15 || echo 24)" "make install installs the sets" \
        sh -c 'find "$1" -path "*/mlaunch/hosts/*" -type f | wc -l' sh "$T/installed"
else
    check "make host-sets makes the sets but that for ARM" \
        make -C "$BUILD" -s host-sets PROCESSOR="$machine"
fi
in_part 1 || done_testing

old=$BUILD/packaging/host-sets/bullseye
inside=$SOURCE/packaging/host-sets/inside
check "a static shell comes into the old Debian" "$inside" "$old" apt-get install -q -y \
    --no-install-recommends busybox-static musl-tools
bare=$T/bare
mkdir -p "$bare"/{bin,dev,etc,lib,proc,root,srv,tmp,dev/shm}
cp "$old/bin/busybox" "$bare/bin"
chroot "$bare" /bin/busybox --install -s /bin
printf '#!/bin/sh\nexec /bin/sh "$@"\n' > "$bare/bin/bash" # what this machine's root logs in to
chmod 755 "$bare/bin/bash"
chmod 1777 "$bare/tmp"
cp "$old/usr/lib/$machine-linux-musl/libc.so" "$bare/lib/ld-musl-$machine.so.1"
echo root:x:0:0:root:/root:/bin/sh > "$bare/etc/passwd"
for node in null:1:3 zero:1:5 random:1:8 urandom:1:9; do
    IFS=: read -r name major minor <<< "$node"
    mknod -m 666 "$bare/dev/$name" c "$major" "$minor"
done
new=$T/trixie
mkdir "$new"
check "a Debian 13 is made" tar -C "$new" -xf "$archive"
check "a Debian 13 gets Python" "$inside" "$new" sh -c \
    'apt-get update -q && apt-get install -q -y --no-install-recommends python3'

# A program in C, which this machine compiles for glibc, in the old Debian, and for musl, and one in
# Python; each lies at the same path everywhere.
cat > "$T/sum.c" << 'C'
#include <mlaunch.h>
#include <stdio.h>
int main(void)
{
    ml_group *world;
    int one = 1, sum = 0;

    if (ml_init(&world) || ml_all_reduce(world, &one, &sum, 1, ML_INT32, ML_SUM)) {
        fprintf(stderr, "%s\n", ml_error());
        return 1;
    }
    printf("%d of %d\n", sum, ml_size(world));
    return ml_finalize();
}
C
cat > "$T/sum.py" << 'PY'
import array, mlaunch, sys
w = mlaunch.init()
a = array.array("d", [1.0])
w.all_reduce(a)
sys.stdout.write("%d of %d, python %d\n" % (a[0], w.size, sys.version_info[0]))
PY
mkdir -p "$old/compile"
cp -L "$T/sum.c" "$BUILD/include/mlaunch.h" "$old/compile"
cp "$gnu/libmlaunch.so.0" "$old/compile/gnu.so"
cp "$musl/libmlaunch.so.0" "$old/compile/musl.so"
check "the program for glibc is compiled" "$inside" "$old" sh -c \
    'cd /compile && cc -O2 -I. -o sum-gnu sum.c -L. -l:gnu.so'
check "the program for musl is compiled" "$inside" "$old" sh -c \
    'cd /compile && musl-gcc -O2 -I. -o sum-musl sum.c -L. -l:musl.so'
cp "$old/compile/sum-gnu" "$T/sum"
for root in "$old" "$new" "$bare"; do
    mkdir -p "$root$T" "$root/root" "$root/srv"
    rm -rf "$root/root/.cache" "$root/srv/tree"
    chmod 755 "$root$T"
    cp "$T/sum.py" "$root$T"
    kind=gnu
    [ "$root" != "$bare" ] || kind=musl
    cp "$old/compile/sum-$kind" "$root$T/sum"
done
TEST_CLEANUP+=("rm -rf '$old$T' '$new$T'")

ssh-keygen -q -t ed25519 -N '' -f "$T/key"
ssh-keygen -q -t ed25519 -N '' -f "$T/hostkey"
mkdir -p /run/sshd
# host_up NAME ROOT: an sshd of this machine, whose users see ROOT, at a port of 127.0.0.1.
host_up() {
    local port
    port=$(python3 -c \
        'import socket; s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1])')
    cat > "$T/sshd-$1" << END
Port $port
ListenAddress 127.0.0.1
HostKey $T/hostkey
AuthorizedKeysFile $T/key.pub
StrictModes no
UsePAM no
PermitRootLogin yes
ChrootDirectory /mnt
Subsystem sftp internal-sftp
PidFile none
END
    # shellcheck disable=SC2016 # the inner shell expands it
    (exec unshare --mount --pid --ipc --uts --fork --kill-child sh -c 'hostname "$1" &&
        mount -t proc proc /proc && mount --bind "$2" /mnt && mount -t proc proc /mnt/proc &&
        mount -t tmpfs tmpfs /mnt/dev/shm && exec /usr/sbin/sshd -D -e -f "$3"' \
        sh "$1" "$2" "$T/sshd-$1") 2> "$T/log-$1" &
    TEST_CLEANUP+=("{ kill -9 $!; wait $!; } 2> /dev/null") # unshare heeds no SIGTERM
    wait_for "grep -q 'listening on' $T/log-$1"
    echo "[127.0.0.1]:$port $(cut -d ' ' -f 1-2 "$T/hostkey.pub")" >> "$T/known"
    printf 'Host %s\n    HostName 127.0.0.1\n    Port %s\n    User root\n    IdentityFile %s\n' \
        "$1" "$port" "$T/key" >> "$T/config"
    printf '    UserKnownHostsFile %s\n' "$T/known" >> "$T/config"
}
host_up old "$old"
host_up new "$new"
host_up bare "$bare"
ml() { "$MLAUNCH" "$@" --ssh-config "$T/config"; }
run_on() { "$MLAUNCH" -v --ssh-config "$T/config" -H "$1" -n "$2" --output raw -- "${@:3}"; }
check "a job of four distributions ends well" run_on localhost,old,new,bare 4 "$T/sum"
cp "$OUT" "$T/four"
check_match "old: .*copying $machine-gnu2.28" "$ERR" "the set for glibc is copied"
check_match "bare: .*copying $machine-musl" "$ERR" "the set for musl is copied"
check_output "4" "ranks of four distributions work together" grep -cx '4 of 4' "$T/four"
# shellcheck disable=SC2016 # for the ranks
check "a second job of four distributions ends well" run_on localhost,old,new,bare 4 \
    sh -c 'echo "$MLAUNCH_RANK $(. /etc/os-release 2> /dev/null && echo "$VERSION_CODENAME")"'
check_no_match "copying" "$ERR" "a second job copies nothing"
check_match "^1 bullseye\$" "$OUT" "rank 1 is in a Debian 11"
check_match "^2 trixie\$" "$OUT" "rank 2 is in a Debian 13"
check_match "^3 \$" "$OUT" "rank 3 is in a system that is no Debian"
check_output "2" "two ranks beside musl work together" sh -c '"$@" | grep -cx "2 of 2"' sh \
    "$MLAUNCH" --ssh-config "$T/config" -H bare:2 -n 2 --output raw -- "$T/sum"
check_output "3" "three Pythons of three distributions work together" sh -c \
    '"$@" | grep -c "^3 of 3, python 3"' sh \
    "$MLAUNCH" --ssh-config "$T/config" -H localhost,old,new -n 3 --mpi none --output raw -- \
    /usr/bin/python3 "$T/sum.py"
check "mlaunch bench checks its results in all distributions" ml bench -H localhost,old,new,bare \
    -n 4 --sizes 8,4M --check
cpus() {
    "$MLAUNCH" --ssh-config "$T/config" --bind-to core -H "$1" -n 1 --output raw -- \
        grep Cpus_allowed_list /proc/self/status
}
first=$(cpus localhost)
check "--bind-to core binds a rank here" test -n "$first"
check_output "$first" "--bind-to core binds by hwloc in the Debian 11" cpus old
check_output "$first" "--bind-to core binds by the agent for musl" cpus bare
check_error 125 "host bare: mlaunch-pmix, which serves programs of Open MPI and PMIx, is missing" \
    "programs of Open MPI are refused beside musl" \
    "$MLAUNCH" --ssh-config "$T/config" --mpi pmix -H bare -n 2 -- true
mkdir "$T/tree" && echo word > "$T/tree/file"
check "mlaunch sync to three distributions ends well" ml sync -H old,new,bare --to /srv "$T/tree"
for root in "$old" "$new" "$bare"; do
    check_output word "mlaunch sync brings files to ${root##*/}" cat "$root/srv/tree/file"
done

# What a wheel installs is the head in each Debian.
check "make wheel succeeds" make -C "$BUILD" -s wheel
wheel=$(echo "$BUILD"/packaging/wheel/*.whl)
check_output "py3-none-manylinux_2_28_$machine.whl" \
    "the wheel's tag has glibc 2.28" sh -c 'echo "${1#*-*-}"' sh "${wheel##*/}"
mkdir "$T/wheel"
check "the wheel is an archive" python3 -m zipfile -e "$wheel" "$T/wheel"
for root in "$old" "$new"; do
    rm -rf "$root/opt/mlaunch"
    cp -R "$T"/wheel/mlaunch-*.data/data "$root/opt/mlaunch"
    chmod -R +x "$root"/opt/mlaunch/bin "$root"/opt/mlaunch/libexec
    cp "$T/key" "$T/known" "$T/config" "$root$T"
done
# head_in ROOT HOSTS COMMAND…
head_in() {
    "$inside" "$1" /opt/mlaunch/bin/mlaunch --ssh-config "$T/config" -H "localhost,$2" -n 3 \
        --output raw -- "${@:3}"
}
check "a Debian 11 is the head of a Debian 13 and musl" head_in "$old" new,bare "$T/sum"
cp "$OUT" "$T/three"
check_output "3" "ranks below a Debian 11 work together" grep -cx '3 of 3' "$T/three"
check "a Debian 13 is the head of a Debian 11 and musl" head_in "$new" old,bare "$T/sum"
cp "$OUT" "$T/three"
check_output "3" "ranks below a Debian 13 work together" grep -cx '3 of 3' "$T/three"
done_testing
