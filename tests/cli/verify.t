#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# mlaunch verify: hosts in order give no finding; each kind of finding is provoked, and is then the
# only one. The hosts share this machine's memory and processors, so they differ in nothing unless a
# file in one of them is covered.
TEST_LIMIT=240
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../lib/hosts.sh"
. "${0%/*}/recorded.sh"
. "${0%/*}/verify.sh"
NETNS_PRIVATE=/tmp hosts_up 3 # whatever other jobs have left in /tmp
# … and their control groups, which all namespaces share.
for host in "$H1" "$H2" "$H3"; do
    TMPDIR=$T "$TEST_LIB/netns-hosts" exec "$host" mount -t tmpfs t /sys/fs/cgroup
done
SSH=(--ssh-config "$NETNS_SSH_CONFIG")

# only STATUS REGEX NAME COMMAND…: the only finding is a line that matches.
only() {
    check_status "$1" "$3" "${@:4}"
    findings "$OUT" > "$T/findings"
    if [ "$(wc -l < "$T/findings")" = 1 ] && grep -qE "$2" "$T/findings"; then
        pass "… and nothing else is found"
    else
        fail "… and nothing else is found" "expected only: $2"
        diag_file "$T/findings"
    fi
}
# said TEXT NAME: what the last command printed.
said() {
    cp "$OUT" "$T/said"
    check_output "$1" "$2" cat "$T/said"
}
inside() { TMPDIR=$T "$TEST_LIB/netns-hosts" exec "$@"; }

check "three hosts" "$MLAUNCH" verify --quick "${SSH[@]}" -H "$H1,$H2,$H3"
if ! skip_emulated "$NO_READV" "… without a finding" "… as JSON"; then
    said "fit: 3 of 3 hosts looked at" "… without a finding"
    check_output "0 3" "… as JSON" sh -c '"$0" verify --quick --json --ssh-config "$1" -H "$2" | python3 -c "
import json, sys
v = json.load(sys.stdin)
print(len(v[\"findings\"]), len(v[\"hosts\"]))"' "$MLAUNCH" "$NETNS_SSH_CONFIG" "$H1,$H2,$H3"
fi

# Reach.
only 1 "^error .* reach .* host nowhere.invalid: .*; see that it is up" "a host that is not there" \
    "$MLAUNCH" verify --quick "${SSH[@]}" -H "$H1,nowhere.invalid,$H3"
skip_emulated "$NO_READV" "… the others are looked at" ||
    check_match '^not fit: 2 of 3 hosts looked at, 1 error$' "$OUT" "… the others are looked at"
check_status 125 "no host at all" "$MLAUNCH" verify --quick "${SSH[@]}" -H nowhere.invalid
if is_long; then
    # Agents wait for a host that takes long to fail, and are told that mlaunch is still there.
    netns cut "$H3"
    sed 's/^Host \*$/&\n  ConnectTimeout 14/' "$NETNS_SSH_CONFIG" > "$T/slow_config"
    only 1 "^error .* reach .* host $H3: " "a host that gives no sign of life" \
        "$MLAUNCH" verify --quick --ssh-config "$T/slow_config" -H "$H1,$H2,$H3"
    netns join "$H3"
fi
printf 'Host twin\n  HostName %s\n  HostKeyAlias %s\n' "$A1" "$H1" > "$T/ssh_config"
cat "$NETNS_SSH_CONFIG" >> "$T/ssh_config"
only 1 "^error .* reach .* hosts $H1 and twin: they are one machine; " "a second name of one machine" \
    "$MLAUNCH" verify --quick --ssh-config "$T/ssh_config" -H "$H1,$H2,twin"
inside "$H1" ip route add unreachable "$A2"
only 1 "^error .* reach .* hosts $H1 and $H2: neither can connect .*; look for a firewall" "no route" \
    "$MLAUNCH" verify --quick "${SSH[@]}" -H "$H1,$H2,$H3"
inside "$H1" ip route del unreachable "$A2"
if command -v nft > /dev/null && inside "$H2" nft list ruleset > /dev/null 2>&1; then
    inside "$H2" nft add table inet t
    inside "$H2" nft add chain inet t in '{ type filter hook input priority 0; }'
    inside "$H2" nft add rule inet t in ip saddr "$A3" tcp dport 1024-65535 tcp flags '&' \
        '(syn|ack)' == syn reject with tcp reset
    only 1 "^error .* reach .* hosts $H3 and $H2: the first cannot connect .*refused.*other way" \
        "a closed port" "$MLAUNCH" verify --quick "${SSH[@]}" -H "$H1,$H2,$H3"
    inside "$H2" nft delete table inet t
else
    skip "a closed port" "nft is missing, or does not work here"
fi

# shellcheck disable=SC2016 # the host's shell
inside "$H2" sh -c 'grep -v "$0" /etc/hosts > /tmp/hosts; mount --bind /tmp/hosts /etc/hosts' "$H3"
only 0 "^note     reach   host $H3: on $H2 its name is not found: [A-Za-z3].*; add it to" "a name that one host lacks" \
    "$MLAUNCH" verify --quick "${SSH[@]}" -H "$H1,$H2,$H3"
inside "$H2" sh -c "echo 10.9.9.9 $H3 >> /tmp/hosts"
only 1 "^warning  reach   host $H3: on $H2 its name is 10.9.9.9, and it has only $A3; mend" \
    "a name that means another machine" "$MLAUNCH" verify --quick "${SSH[@]}" -H "$H1,$H2,$H3"
inside "$H2" umount /etc/hosts

# Hosts whose agents a shell starts here in namespaces; it carries ALL out before, and that of b
# CHANGE, too. What they have in /sys/fs/cgroup is their own.
# shellcheck disable=SC2016 # the agent's shell
here() {
    "$MLAUNCH" verify --quick --agent "$AGENT" --agent-command \
        'unshare -npm --propagation private --mount-proc --fork sh -c '\''ip link set lo up; mkdir -p -m 700 /tmp/mlaunch-0; mount -t tmpfs -o mode=700 t /tmp/mlaunch-0; mount -t tmpfs t /sys/fs/cgroup; eval "$ALL"; [ "$1" != b ] || eval "$CHANGE"; shift; exec "$@"'\'' sh {host}' \
        -H a,b,c "$@"
}
export CHANGE='' ALL=''
faked="$(find /usr/lib -name libfaketime.so.1 2> /dev/null | head -n 1)"
if [ -n "$faked" ] && [ "$SANITIZE" = no ] && ! is_emulated; then
    # This host is slow to reach, too.
    CHANGE="sleep 6; export LD_PRELOAD=$faked FAKETIME=+90s FAKETIME_DONT_FAKE_MONOTONIC=1 DONT_FAKE_MONOTONIC=1"
    here > "$T/clock" 2>&1
    check_match "^warning .* reach .* host b: its clock is (89|90)\.[0-9] s ahead of this machine's \(at most 1 s\)" \
        "$T/clock" "a clock that is ahead"
    check_match "^warning .* reach .* host b: its agent was ready after ([6-9]|[1-9][0-9])\.[0-9] s, and that of the median host after .* \(at most 5 s" \
        "$T/clock" "a host that is slow to reach"
else
    skip "a clock that is ahead" "no libfaketime for this processor, or a sanitized build"
fi

# What is beside the clock is alike: only group reach may speak of these hosts, as they have no
# network in common.
# alike REGEX NAME [OPTION…]
alike() {
    here "${@:3}" > "$T/all" 2> "$T/err"
    findings "$T/all" | grep -v ' reach ' > "$T/findings"
    if [ "$(wc -l < "$T/findings")" = 1 ] && grep -qE "$1" "$T/findings"; then
        pass "$2, and nothing else"
    else
        fail "$2, and nothing else" "expected only: $1"
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
CHANGE='mount -t tmpfs -o size=1m t /dev/shm'
alike '^warning  limits  host b: /dev/shm has room for 1.0M \(at least 64M\); free it' "a small /dev/shm"
# The build, which has the agent, may lie below /tmp.
CHANGE='cd "$BUILD"; mount -t tmpfs -o size=2m t /tmp; mkdir -p "$BUILD"; mount -c --bind . "$BUILD"'
alike '^warning  limits  host b: /tmp has room for 2.0M \(at least 64M\)' "a small /tmp"
CHANGE='mount -t tmpfs -o size=2m t /mnt; export HOME=/mnt'
alike '^warning  limits  host b: the home directory has room for 2.0M \(at least 64M\)' "a full home directory"
group=$(sed -n 's/^0:://p' /proc/self/cgroup)
if [ -n "$group" ]; then
    CHANGE="mkdir -p /sys/fs/cgroup/$group; echo 50000 100000 > /sys/fs/cgroup/$group/cpu.max"
    alike '^note     limits  host b: its control group allows 0.5 of its [0-9]+ processors; start no more' \
        "half a processor"
    CHANGE="mkdir -p /sys/fs/cgroup/$group; echo 104857600 > /sys/fs/cgroup/memory.max"
    alike '^note     limits  host b: its control group allows 100M of its [0-9.]+G of memory; ' \
        "100 MiB of memory"
else
    skip "a control group" "there is no version 2 of them here"
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
    skip "processes that cannot read each other" "no filter of system calls here"
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
    skip "devices" "there is no libibverbs"
fi
echo 'PRETTY_NAME="Other 1"' > "$T/os"
CHANGE="mount --bind $T/os /etc/os-release"
alike '^warning  same    host b: OS is Other 1, and on 2 others ' "another system"
echo one > "$T/program"
echo two > "$T/other"
CHANGE="mount --bind $T/other $T/program"
alike "^error    same    host b: $T/program has 4 bytes with checksum [0-9]+, and on 2 others 4 bytes with" \
    "another program" --program "$T/program"
mkdir "$T/gone"
CHANGE="mount -t tmpfs t $T/gone"
echo one > "$T/gone/program"
alike "^error    same    host b: $T/gone/program: No such file or directory; copy it" \
    "a program that is missing" --program "$T/gone/program"

mkdir "$T/modules" "$T/old"
for d in modules old; do
    mkdir -p "$T/$d/something" "$T/$d/some_thing-2.dist-info"
    : > "$T/$d/something/__init__.py"
    echo something > "$T/$d/some_thing-2.dist-info/top_level.txt"
    printf 'Metadata-Version: 2.1\nName: some-thing\nVersion: %s\n' "$d" > "$T/$d/some_thing-2.dist-info/METADATA"
done
if command -v python3 > /dev/null; then
    ALL="export PYTHONPATH=$T/modules"
    CHANGE="export PYTHONPATH=$T/old"
    alike "^error    same    host b: Python's something is old, and on 2 others modules; install the same" \
        "another version of a Python module" --module os --module something
    CHANGE="unset PYTHONPATH"
    alike "^error    same    host b: Python cannot import something: there is none; install" \
        "a Python module that is missing" --module something
    ALL=
else
    skip "Python modules" "there is no python3"
fi

# What a dead job has left: its agent and guard were killed.
stale() {
    "$MLAUNCH" "${SSH[@]}" -H "$H2" -- sleep 300 > "$T/job.out" 2>&1 < /dev/null &
    PID=$!
    wait_for 'inside "$H2" pgrep -x sleep > "$T/sleep"' 20
    # shellcheck disable=SC2046 # pids
    inside "$H2" sh -c 'agents=$(pgrep -x mlaunch-agent); kill -STOP $agents; kill -KILL $agents'
    wait_for '! inside "$H2" pgrep -x sleep > "$T/sleep"' 20 # the kernel ends it with its agent
    wait "$PID"
}
stale
only 1 "^warning  left    host $H2: job [0-9a-z-]+ of root is dead and has left /tmp/mlaunch-0/.*; mlaunch clean" \
    "what a dead job has left" "$MLAUNCH" verify --quick "${SSH[@]}" -H "$H1,$H2,$H3"
check "--fix removes it" "$MLAUNCH" verify --quick --fix "${SSH[@]}" -H "$H1,$H2,$H3"
check_match "^fixed    left    host $H2: directory /tmp/mlaunch-0/" "$OUT" "… and says so"
check_match '^fit: 3 of 3' "$OUT" "… and the host is fit"

# Devices, of recorded machines.
reset() {
    rm -rf "$T/recorded"
    record a b c
    for host in a b c; do
        record_mellanox "$host" mlx5_0 1
        record_broadcom "$host" bnxt_re0 2
        record_thunderbolt "$host" tb0 3
    done
}
# device_only STATUS REGEX NAME FILE TEXT: with another text in a file of b's.
device_only() {
    reset
    put b "$4" "$5"
    only "$1" "$2" "$3" on_recorded verify a,b,c
}
reset
check "recorded machines" on_recorded verify a,b,c
said "fit: 3 of 3 hosts looked at" "… in order"
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
check "hardly less memory" on_recorded verify a,b,c
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
check "bonded ports, a policy and an IOMMU that does not translate" on_recorded verify a,b,c
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
device_only 1 '^error    device  host b: bnxt_re0 port 1 has no RoCE v2 address' "no RoCE v2 address" \
    /sys/class/infiniband/bnxt_re0/ports/1/gid_attrs/types/0 'IB/RoCE v1'
reset
for host in a b c; do rm -r "$T/recorded/$host/sys/class/infiniband/bnxt_re0/ports/1/gid_attrs/types"; done
put b /sys/class/infiniband/bnxt_re0/ports/1/gids/0 0000:0000:0000:0000:0000:0000:0000:0000
only 1 '^error    device  host b: bnxt_re0 port 1 has no RoCE v2 address' "no address, on an old kernel" \
    on_recorded verify a,b,c
device_only 0 '^note     device  host b: mlx5_0 port 1.s first partition is 0x8001' "another partition" \
    $m/ports/1/pkeys/0 0x8001
device_only 0 '^note     device  host b: mlx5_0.s NUMA node is unknown' "an unknown NUMA node" \
    $m/device/numa_node -1
reset
put b "$m/node_guid" "$(cat "$T/recorded/a$m/node_guid")"
only 1 '^error    device  hosts a and b: a device of each, mlx5_0 on the second, has the GUID b83f' \
    "the same GUID twice" on_recorded verify a,b,c
reset
put b "$m/ports/1/gids/0" "$(cat "$T/recorded/a$m/ports/1/gids/0")"
only 1 '^error    device  hosts a and b: a port of each, mlx5_0 port 1 on the second, has the GID fe80' \
    "the same GID twice" on_recorded verify a,b,c
reset
rm -r "$T/recorded/b/sys/class/infiniband/mlx5_0"
only 1 '^warning  device  host b: it has 0 RDMA devices of mlx5_core, and a has 1; see whether a card' \
    "a device that is missing" on_recorded verify a,b,c
reset
rm "$T/recorded/b/usr/lib/x86_64-linux-gnu/libibverbs.so.1"
only 1 '^error    device  host b: it has RDMA devices, but no libibverbs.so.1; install' "no libibverbs" \
    on_recorded verify a,b,c
reset
for d in mlx5_0 bnxt_re0 tb0; do put b /sys/class/infiniband/$d/ports/1/state '1: DOWN'; done
only 1 '^error    device  host b: none of the ports of its 3 RDMA devices is active' "no port at all" \
    on_recorded verify a,b,c
reset
for host in a b c; do put $host "$m/ports/1/state" '1: DOWN'; done
check "a port that nobody uses" on_recorded verify a,b,c
check_match '^note     device  host c: mlx5_0 port 1 is DOWN' "$OUT" "… is a note"
check_error 125 'recorded machines \(--sysfs\) have no jobs' "--fix of a record" on_recorded verify a --fix
done_testing
