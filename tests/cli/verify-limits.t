#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# mlaunch verify: each kind of finding about what a host allows, and about what must be the same on
# all hosts, is provoked, and is then the only one. The hosts share this machine's memory and
# processors, so they differ in nothing unless a file in one of them is covered.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
. "${0%/*}/recorded.sh"
. "${0%/*}/verify.sh"
unshare -npm --propagation private --mount-proc --fork true 2> "$T/why" ||
    skip_all "no namespaces here: $(head -n 1 "$T/why")"

# Hosts whose agents a shell starts here in namespaces; it carries ALL out before, and that of b
# also CHANGE. What they have in /tmp and /sys/fs/cgroup is their own.
export COVER=$TEST_LIB/cover TMPDIR=$T
cat > "$T/enter" << 'END'
set -e
ip link set lo up
"$COVER" /tmp mode=1777
mount -t tmpfs t /sys/fs/cgroup
eval "$ALL"
[ "$1" != b ] || eval "$CHANGE"
shift
unset TMPDIR
exec "$@"
END
here() {
    "$MLAUNCH" verify --quick --agent "$AGENT" --agent-command \
        "unshare -npm --propagation private --mount-proc --fork sh '$T/enter' {host}" -H a,b,c "$@"
}
export CHANGE='' ALL=''
faked="$(find /usr/lib -name libfaketime.so.1 2> /dev/null | head -n 1)"
if [ -n "$faked" ] && [ "$SANITIZE" = no ] && ! is_emulated; then
    # This host is also slow to reach.
    CHANGE="sleep 6; export LD_PRELOAD=$faked FAKETIME=+90s FAKETIME_DONT_FAKE_MONOTONIC=1 DONT_FAKE_MONOTONIC=1"
    here > "$T/clock" 2>&1
    check_match "^warning .* reach .* host b: its clock is (89|90)\.[0-9] s ahead of this machine's \(at most 1 s\)" \
        "$T/clock" "a clock that is ahead is found"
    check_match "^warning .* reach .* host b: its agent was ready after ([6-9]|[1-9][0-9])\.[0-9] s, and that of the median host after .* \(at most 5 s" \
        "$T/clock" "a host that is slow to reach is found"
else
    skip "a clock that is ahead is found" "no libfaketime for this processor, or a sanitized build"
fi

# What is beside the clock is alike: only group reach may speak of these hosts, as they have no
# network in common.
# alike REGEX NAME [OPTION…]
alike() {
    here "${@:3}" > "$T/all" 2> "$T/err"
    findings "$T/all" | grep -v ' reach ' > "$T/findings"
    if [ "$(wc -l < "$T/findings")" = 1 ] && grep -qE "$1" "$T/findings"; then
        pass "nothing but $2 is found"
    else
        fail "nothing but $2 is found" "expected only: $1"
        diag_file "$T/findings"
        diag_file "$T/err"
    fi
}
CHANGE='ulimit -n 64'
alike '^warning  limits  host b: the number of open files is limited to 64 \(at least 256\); raise' \
    "few open files"
CHANGE='prlimit --nproc=99:99 --pid $$'
alike '^warning  limits  host b: the number of processes is limited to 99 \(at least 256\)' \
    "few processes"
CHANGE='"$COVER" /dev/shm size=1m'
alike '^warning  limits  host b: /dev/shm has only 1.0M free, and jobs need 64M; delete files' "a small /dev/shm"
CHANGE='"$COVER" /tmp size=2m'
alike '^warning  limits  host b: /tmp has only 2.0M free, and jobs need 64M' "a small /tmp"
mkdir "$T/home"
# Where jobs can make nothing at all.
CHANGE='mount -o remount,ro /tmp'
alike '^error    limits  host b: no file can be made in /tmp: Read-only file system; make it writable' \
    "a read-only /tmp"
CHANGE='mount -t tmpfs -o ro t /dev/shm'
alike '^error    limits  host b: no file can be made in /dev/shm: Read-only file system; mount a tmpfs .*, or start jobs with --backend tcp --local net$' \
    "a read-only /dev/shm"
CHANGE='mount -t tmpfs -o size=64k t /dev/shm; head -c 65536 /dev/zero > /dev/shm/full'
alike '^error    limits  host b: no file can be made in /dev/shm: No space left on device; ' \
    "a full /dev/shm"
CHANGE='mount -t tmpfs -o size=2m t "$TMPDIR/home"; export HOME=$TMPDIR/home'
alike '^warning  limits  host b: the home directory has only 2.0M free, and jobs need 64M' "a full home directory"
group=$(sed -n 's/^0:://p' /proc/self/cgroup)
if [ -n "$group" ]; then
    CHANGE="mkdir -p /sys/fs/cgroup/$group; echo 50000 100000 > /sys/fs/cgroup/$group/cpu.max"
    alike '^note     limits  host b: its control group allows 0.5 of its [0-9]+ processors; start no more' \
        "half a processor"
    CHANGE="mkdir -p /sys/fs/cgroup/$group; echo 104857600 > /sys/fs/cgroup/memory.max"
    alike '^note     limits  host b: its control group allows 100M of its [0-9.]+G of memory; ' \
        "100 MiB of memory"
else
    skip "what a control group allows is found" "there is no version 2 of them here"
fi
# wrapped COMMAND…: the agent of b is started through it.
wrapped() { CHANGE="host=\$1; shift; set -- \"\$host\" $(printf '%q ' "$@") \"\$@\""; }
if ! is_emulated && $CC -o "$T/deny" -x c - << 'END'; then
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof(filter) / sizeof(*filter), filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, 2, &program))
        return 1;
    execv(argv[1], argv + 1);
    return argc;
}
END
    wrapped "$T/deny"
    alike "^note     limits  host b: long messages between its ranks are copied twice, .*\(Operation not permitted\); allow" \
        "processes that cannot read each other"
else
    skip "nothing but processes that cannot read each other is found" \
        "no filter of system calls here"
fi
# With devices, which are recorded ones.
record a b c
for host in a b c; do record_mellanox "$host" mlx5_0 1; done
if ls /usr/lib*/*/libibverbs.so.1 > /dev/null 2>&1; then
    # shellcheck disable=SC2016
    ALL='mount --bind "'"$T"'/recorded/$1/sys/class" /sys/class'
    # shellcheck disable=SC2016
    wrapped setpriv --bounding-set -ipc_lock sh -c 'ulimit -l 1024; exec "$@"' sh
    alike '^error    limits  host b: a rank may lock 1.0M \(at least 64M\); set memlock' \
        "little memory to lock"
    CHANGE=
    put b /sys/class/infiniband_verbs/uverbs7/ibdev mlx5_0
    alike '^error    device  host b: mlx5_0: cannot open /dev/infiniband/uverbs7: No such file or directory; allow' \
        "a device that nobody can open"
    ALL=
else
    skip "findings about devices are provoked" "there is no libibverbs"
fi
echo 'PRETTY_NAME="Other 1"' > "$T/os"
CHANGE="mount --bind $T/os /etc/os-release"
alike '^warning  same    host b: OS is Other 1, and on 2 others ' "another system"
echo one > "$T/program"; chmod +x "$T/program"
echo two > "$T/other"; chmod +x "$T/other"
CHANGE="mount --bind $T/other $T/program"
alike "^error    same    host b: $T/program has 4 bytes with checksum [0-9]+, and on 2 others 4 bytes with" \
    "another program" --program "$T/program"
mkdir "$T/gone"
CHANGE="mount -t tmpfs t $T/gone"
echo one > "$T/gone/program"; chmod +x "$T/gone/program"
alike "^error    same    host b: $T/gone/program: No such file or directory; copy it" \
    "a program that is missing" --program "$T/gone/program"

mkdir "$T/modules" "$T/old"
for d in modules old; do
    mkdir -p "$T/$d/something" "$T/$d/some_thing-2.dist-info"
    : > "$T/$d/something/__init__.py"
    echo something > "$T/$d/some_thing-2.dist-info/top_level.txt"
    printf 'Metadata-Version: 2.1\nName: some-thing\nVersion: %s\n' "$d" > "$T/$d/some_thing-2.dist-info/METADATA"
done
if is_here python3; then
    ALL="export PYTHONPATH=$T/modules"
    CHANGE="export PYTHONPATH=$T/old"
    alike "^error    same    host b: Python's something is old, and on 2 others modules; install the same" \
        "another version of a Python module" --module os --module something
    CHANGE="unset PYTHONPATH"
    alike "^error    same    host b: Python cannot import something: there is none; install" \
        "a Python module that is missing" --module something
    ALL=
else
    skip "findings about Python modules are provoked" "$LACKS"
fi
done_testing
