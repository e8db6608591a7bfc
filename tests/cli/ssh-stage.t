#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# How the agent gets to a host: it is found in one of its places, or else copied over SFTP,
# completely or not at all. If it can't be copied, the reason is said.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../lib/hosts.sh"

# These hosts have neither this build nor these home directories.
home=$(awk -F: '$3 == 0 { print $6; exit }' /etc/passwd)
NETNS_PRIVATE="$home $BUILD" \
    NETNS_SSHD="SetEnv PATH=/run/netns-hosts/bin:$PATH" hosts_up 2
mkdir "$NETNS_DIR/bin" # the hosts' /run/netns-hosts/bin, in their $PATH
build=$("$MLAUNCH" --version | sed -n 's/.*build \([0-9a-f]*\).*/\1/p')
cache=$home/.cache/mlaunch/$build-$(uname -m)
shim=$BUILD/runtime/libmlaunch.so.0
module=$BUILD/runtime/mlaunch-runtime.so
python=$BUILD/runtime/python/mlaunch

ml() { "$MLAUNCH" --ssh-config "$NETNS_SSH_CONFIG" "$@"; }
on() { netns exec "$@"; }
# An agent that ends may still have its files open.
unmount() { must wait_for "on '$H2' umount '$1' 2> /dev/null"; }
# The program's path on the host, of the agent that started the rank.
program='readlink /proc/$a/exe'
is_emulated && program='tr "\0" "\n" < /proc/$a/cmdline | sed -n 2p' # behind qemu
where='a=$PPID; until n=$('$program'); [ "${n##*/}" = mlaunch-agent ]; do
    a=$(awk "/^PPid/ { print \$2 }" /proc/$a/status); done; echo "$n"'
ran_from() { check_output "$1" "$2" ml "${@:3}" --output raw -- sh -c "$where"; }

check "a job runs on a host that has nothing" ml -v -H "$H1" -n 2 -- true
check_match "copying" "$ERR" "a host that has nothing gets a copy"
check_output "700 libmlaunch.so.0
700 mlaunch-agent
700 mlaunch-bench
700 mlaunch-runtime.so
700 python
700 python/mlaunch
700 python/mlaunch/__init__.py
700 python/mlaunch/_argument.py
700 python/mlaunch/_buffer.py
700 python/mlaunch/_call.py
700 python/mlaunch/_group.py
700 python/mlaunch/_library.py
700 python/mlaunch/_operator.py
700 python/mlaunch/_window.py
700 python/mlaunch/elastic.py
700 python/mlaunch/gpu.py
700 python/mlaunch/torch.py
700 python/mlaunch/transfer.py" "the copy has all files with their modes" on "$H1" sh -c \
    "cd $cache && stat -c '%a %n' * python/* python/*/* | grep -vE 'mlaunch-(rdma|probe|pmix)'"
if [ -x "$BUILD/launcher/pmix/mlaunch-pmix" ]; then
    check "the copy has what serves Open MPI's programs" on "$H1" "$cache/mlaunch-pmix" --build
    check_output "0 of $H1" "the copy serves Open MPI's programs" ml -H "$H1" -n 1 --mpi pmix -- \
        sh -c 'echo "$PMIX_RANK of $PMIX_HOSTNAME"'
fi
check "mlaunch bench runs with the copy" \
    "$MLAUNCH" bench --ssh-config "$NETNS_SSH_CONFIG" -H "$H1" -n 2 --sizes 8 --check
sync() { "$MLAUNCH" sync -v --ssh-config "$NETNS_SSH_CONFIG" -H "$H1" --to "$T/to" "$T/tree"; }
mkdir "$T/tree"
check_output "" "the copy has nothing that only sync needs" \
    on "$H1" find "$cache" -name mlaunch-copier
check "mlaunch sync runs to a host with a copy" sync
check_match "copying" "$ERR" "mlaunch sync copies the program that it needs"
check_output "$(sha256sum < "$BUILD/launcher/tools/mlaunch-copier")" \
    "the program of sync is the same, byte by byte" \
    on "$H1" sh -c "sha256sum < $cache/mlaunch-copier"
check "mlaunch sync runs a second time" sync
check_no_match "copying" "$ERR" "a second sync copies nothing"
ran_from "$cache/mlaunch-agent" "a job runs from the same copy after a sync" -v -H "$H1" -n 1
check_no_match "copying" "$ERR" "a job after a sync copies nothing"
must on "$H1" rm "$cache/mlaunch-copier"
check_output "drwx------ drwx------" "the copy is in directories of its user's alone" \
    on "$H1" sh -c "echo \$(stat -c %A $cache ${cache%/*})"
check_output "" "the copy has no temporary files" on "$H1" find "$cache" -name '.?*'
for f in "$AGENT:mlaunch-agent" "$shim:libmlaunch.so.0" "$module:mlaunch-runtime.so" \
    "$python/__init__.py:python/mlaunch/__init__.py" "$python/torch.py:python/mlaunch/torch.py"; do
    check_output "$(sha256sum < "${f%:*}")" "the copied ${f#*:} is the same, byte by byte" \
        on "$H1" sh -c "sha256sum < $cache/${f#*:}"
done
must on "$H1" touch -d 2001-01-01 "$cache/mlaunch-agent"
ran_from "$cache/mlaunch-agent" "a second job uses the copy" -v -H "$H1" -n 1
check_no_match "copying" "$ERR" "a second job copies nothing"
check_output 2001 "a second job does not touch the copy" \
    on "$H1" sh -c "date -r $cache/mlaunch-agent +%Y"
check_output "$cache/libmlaunch.so.0" "the ranks get the shim that was copied" \
    ml -H "$H1" -n 1 --output raw -- sh -c 'echo "${LD_PRELOAD##*:}"'

# A machine with another processor may share the home directory: each kind keeps its own copies.
if other=$(setarch linux32 uname -m 2> "$ERR") && [ "$other" != "$(uname -m)" ]; then
    printf '#!/bin/sh\necho %s\n' "$other" > "$NETNS_DIR/bin/uname"
    chmod +x "$NETNS_DIR/bin/uname"
    check_output "${cache%-*}-$other/mlaunch-agent" \
        "an mlaunch of another processor has its own copy" \
        setarch linux32 "$MLAUNCH" --ssh-config "$NETNS_SSH_CONFIG" -H "$H1" -n 1 --output raw -- \
        sh -c "$where"
    rm "$NETNS_DIR/bin/uname"
    ran_from "$cache/mlaunch-agent" "this processor's copy is beside another's" -v -H "$H1" -n 1
    check_no_match "copying" "$ERR" "this processor's copy need not be copied again"
else
    skip "an mlaunch of another processor has its own copy" \
        "this one can look like no other: $(cat "$ERR")"
fi

# Another build's files are not used.
must on "$H1" sh -c "mkdir -p ${cache%/*}/0123456789abcdef && echo x > ${cache%/*}/0123456789abcdef/mlaunch-agent"
must on "$H1" sh -c "head -c 1000 $cache/mlaunch-agent > $T/half; rm -r $cache/*; cp $T/half $cache/mlaunch-agent;
    chmod 600 $cache/mlaunch-agent"
check "a broken copy is replaced" ml -H "$H1" -n 1 -- true
check_output "$(sha256sum < "$AGENT")" "the broken copy's place has a whole one" on "$H1" sh -c \
    "sha256sum < $cache/mlaunch-agent"
check_output x "another build's copy is left alone" on "$H1" cat \
    "${cache%/*}/0123456789abcdef/mlaunch-agent"

# The size alone is not enough: this agent reports another build's id.
must on "$H1" sh -c "printf '#!/bin/sh\nexit 94\n' > $cache/mlaunch-agent; truncate -s $(stat -c %s \
    "$AGENT") $cache/mlaunch-agent"
check "a stranger of the same size is replaced" ml -H "$H1" -n 1 -- true

# A copy that was cut off, or that others may have written to, is not used: ranks would die of
# SIGBUS, or run what somebody else has put there.
healed() {
    check "$1 is replaced" ml -v -H "$H1" -n 1 -- true
    check_match "copying" "$ERR" "$1: a new copy is made"
    check_output "$(sha256sum < "$shim") $(sha256sum < "$AGENT")" "$1: the new copy is whole" \
        on "$H1" sh -c "echo \"\$(sha256sum < $cache/libmlaunch.so.0) \$(sha256sum < $cache/mlaunch-agent)\""
    check_output "700 0 700 0 700 0" "$1: the new copy is its user's alone" on "$H1" sh -c \
        "echo \$(stat -c '%a %u' $cache $cache/libmlaunch.so.0 $cache/mlaunch-agent)"
}
byte_change() {
    must on "$H1" python3 "$SOURCE/tests/cli/flip_bit.py" "$1"
}
must on "$H1" truncate -s 5000 "$cache/libmlaunch.so.0"
healed "a library that was cut off"
byte_change "$cache/libmlaunch.so.0"
healed "a library with a byte that has changed"
byte_change "$cache/mlaunch-agent"
healed "an agent with a byte that has changed"
must on "$H1" rm "$cache/mlaunch-runtime.so"
healed "a copy that lacks a file"
must on "$H1" chmod 777 "$cache/mlaunch-agent"
healed "an agent that others may write to"
must on "$H1" chown 65534 "$cache/libmlaunch.so.0"
healed "another user's library"
must on "$H1" chmod 777 "$cache"
byte_change "$cache/libmlaunch.so.0"
healed "what lies in a directory that others may write to"
ml -v -H "$H1" -n 1 -- true > "$OUT" 2> "$ERR"
check_no_match "copying" "$ERR" "a healed copy is used"
must on "$H1" chown 65534 "$cache"
check_error 125 "host $H1: the directory $cache, .* belongs to another user \(uid 65534\): remove it" \
    "another user's directory is refused" ml -H "$H1" -n 1 -- true
must on "$H1" chown 0 "$cache"

# Jobs that begin at the same time, on the same host without a copy.
must on "$H1" rm -r "$cache"
jobs=()
for i in 1 2 3 4; do
    ml -H "$H1" -n 1 -- true 2> "$T/job$i" &
    jobs+=($!)
done
bad=0
for j in "${jobs[@]}"; do wait "$j" || bad=1; done
check_output 0 "four jobs begin at once on a host that has nothing: $(cat "$T"/job?)" echo $bad
check_output 16 "four jobs leave sixteen files, without those of RDMA and PMIx" on "$H1" sh -c \
    "find $cache -type f | grep -vcE 'mlaunch-(rdma|probe|pmix)'"

# What prevents a copy.
mkdir "$T/mixed"
mkdir "$T/mixed/python"
cp -rL "$python" "$T/mixed/python"
cp "$MLAUNCH" "$shim" "$module" "$BUILD/launcher/tools/bench/mlaunch-bench" \
    "$BUILD/launcher/mlaunch-ssh.so" "$T/mixed"
sed "s/$build/0123456789abcdef/g" "$AGENT" > "$T/mixed/mlaunch-agent"
chmod +x "$T/mixed/mlaunch-agent"
check_error 125 "host $H2: .*/mixed/mlaunch-agent is not of this mlaunch's build $build" \
    "files of two builds here are refused" \
    "$T/mixed/mlaunch" --ssh-config "$NETNS_SSH_CONFIG" -H "$H2" -n 1 -- true
must on "$H2" sh -c "mkdir -p $home/.cache && mount -t tmpfs -o size=64k tmpfs $home/.cache"
check_error 125 "host $H2: .*cannot copy .*: the disk is full" "a full disk is told of" \
    ml -H "$H2" -n 1 -- true
check_output "" "no half file stays on a full disk" \
    on "$H2" find "$cache" -type f ! '(' -name libmlaunch.so.0 -size "$(stat -Lc %s "$shim")c" ')'
unmount "$home/.cache"
must on "$H2" sh -c "chmod 700 $home && mount -t tmpfs -o noexec tmpfs $home/.cache"
check_error 125 "host $H2: .*does not run there .*noexec" "a home mounted noexec is told of" \
    ml -H "$H2" -n 1 -- true
unmount "$home/.cache"
must on "$H2" mount -t tmpfs -o ro tmpfs "$home/.cache"
remedy='; make it writable, or install mlaunch there \(--agent names its place\)'
check_error 125 "host $H2: cannot make the directory $home/.cache/mlaunch: Read-only file system$remedy" \
    "a directory that can't be written is told of" ml -H "$H2" -n 1 -- true
unmount "$home/.cache"
must on "$H2" mount -t tmpfs -o ro tmpfs "$home"
check_error 125 "host $H2: cannot make the directory $home/.cache: Read-only file system$remedy" \
    "a home that can't be written is told of" ml -H "$H2" -n 1 -- true
check_status 125 "a home that can't be written fails mlaunch verify" \
    "$MLAUNCH" verify --quick --ssh-config "$NETNS_SSH_CONFIG" -H "$H2"
check_match "^error .* host $H2: cannot make .*$remedy; see that it is up, and what mlaunch -v says" \
    "$OUT" "mlaunch verify has the remedy for a home that can't be written"
unmount "$home"
# A copy that is there runs, but none of another build can follow.
must on "$H2" mount --bind "$home/.cache" "$home/.cache"
check "an agent is copied" ml -H "$H2" -n 1 -- true
must on "$H2" mount -o remount,bind,ro "$home/.cache"
"$MLAUNCH" verify --quick --ssh-config "$NETNS_SSH_CONFIG" -H "$H2" > "$T/all" 2>&1
check_match "^warning  limits  host $H2: no file can be made in the home directory: Read-only file system; make it writable, or install" \
    "$T/all" "mlaunch verify sees a home directory that became read-only"
unmount "$home/.cache"
must on "$H2" sh -c "rm -rf $home/.cache/mlaunch"
# A C library that is too old is named before anything is copied.
fake() { printf '#!/bin/sh\n%s\n' "$2" > "$NETNS_DIR/bin/$1" && chmod +x "$NETNS_DIR/bin/$1"; }
fake getconf 'echo glibc 2.3'
check_error 125 "host $H2: .*needs glibc 2\.[0-9]+, and the host has glibc 2\.3; " \
    "a host with an older glibc is refused" ml -H "$H2" -n 1 -- true
check_output "" "a host with an older glibc gets no copy" on "$H2" sh -c "find $home/.cache -type f"
fake getconf 'exit 1'
fake ldd 'echo "ldd (GNU libc) 2.4"'
[ ! -e /lib/ld-musl-x86_64.so.1 ] && [ ! -e /lib/ld-musl-aarch64.so.1 ] &&
    check_error 125 "host $H2: .*the host has glibc 2\.4; " "an older glibc is known by ldd" \
        ml -H "$H2" -n 1 -- true
# … unless there is a set of files for such hosts. This stand-in has files of this build.
with_sets=$T/with_sets
mkdir -p "$with_sets/hosts/x86_64-musl" "$with_sets/hosts/$(uname -m)-gnu2.3" "$with_sets/python"
cp -rL "$python" "$with_sets/python"
cp -L "$MLAUNCH" "$BUILD/launcher/mlaunch-ssh.so" "$AGENT" "$shim" "$module" \
    "$BUILD/launcher/tools/bench/mlaunch-bench" "$with_sets"
cp -L "$AGENT" "$shim" "$module" "$BUILD/launcher/tools/bench/mlaunch-bench" \
    "$with_sets/hosts/$(uname -m)-gnu2.3"
set_ml() { "$with_sets/mlaunch" --ssh-config "$NETNS_SSH_CONFIG" "$@"; }
must on "$H2" mount -t tmpfs tmpfs "$with_sets" # the host has none of these
fake getconf 'echo glibc 2.4'
check_output "$cache-gnu2.3/mlaunch-agent" "the first set that fits is copied" \
    set_ml -v -H "$H2" -n 1 --output raw -- sh -c "$where"
check_match "copying $(uname -m)-gnu2.3" "$ERR" "the set that is copied is named"
check_output "$cache-gnu2.3/libmlaunch.so.0" "the ranks get the set's library" \
    set_ml -v -H "$H2" -n 1 --output raw -- sh -c 'echo "${LD_PRELOAD##*:}"'
check_no_match "copying" "$ERR" "the set is not copied anew"
fake getconf 'echo glibc 2.2'
check_error 125 "host $H2: .*the host has glibc 2\.2; .*host sets here: $(uname -m)-gnu2\.3, x86_64-musl" \
    "the sets are named where none fits" set_ml -H "$H2" -n 1 -- true
must on "$H2" rm -r "$cache-gnu2.3"
rm "$with_sets/hosts/$(uname -m)-gnu2.3/mlaunch-runtime.so"
fake getconf 'echo glibc 2.4'
check_error 125 "host $H2: mlaunch-runtime.so is missing in the host set .*: make it anew" \
    "a set that lacks a file is refused" set_ml -H "$H2" -n 1 -- true
# musl is known by its loader, which prints its version. This one is a stand-in, as is its set.
musl=$(uname -m)-musl
mkdir -p "$with_sets/hosts/$musl"
cp -L "$AGENT" "$shim" "$module" "$BUILD/launcher/tools/bench/mlaunch-bench" "$with_sets/hosts/$musl"
fake getconf 'exit 1'
# shellcheck disable=SC2016 # the host expands it
if on "$H2" sh -c 'mkdir "$1" && mount -t tmpfs tmpfs "$1" && mkdir "$1/upper" "$1/work" &&
    mount -t overlay overlay -o "lowerdir=/usr/lib,upperdir=$1/upper,workdir=$1/work" /usr/lib &&
    rm -f /usr/lib/ld-musl-* && cp "$2" "/usr/lib/ld-musl-$(uname -m).so.1"' \
    sh "$T/over" <(printf '#!/bin/sh\necho Version 1.2.5\n'); then
    must on "$H2" chmod 755 "/usr/lib/ld-musl-$(uname -m).so.1"
    check_output "$cache-musl/mlaunch-agent" "a host with musl gets its set" \
        set_ml -v -H "$H2" -n 1 --output raw -- sh -c "$where"
    check_match "copying $musl" "$ERR" "the set for musl is named"
    must on "$H2" rm -r "$cache-musl"
    rm -r "$with_sets/hosts/$musl"
    check_error 125 "host $H2: .*the host has musl 1\.2\.5; .*host sets here: .*gnu2\.3" \
        "a host with musl is refused without its set" set_ml -H "$H2" -n 1 -- true
    must on "$H2" umount -l /usr/lib # sshd has files of it
else
    skip "a host with musl gets its set" "no overlay can be mounted here"
fi
# A host with another processor, by stand-ins as well.
mkdir "$with_sets/hosts/aarch64-gnu2.28"
cp -L "$AGENT" "$shim" "$module" "$BUILD/launcher/tools/bench/mlaunch-bench" \
    "$with_sets/hosts/aarch64-gnu2.28"
fake getconf 'echo glibc 2.31'
fake uname 'echo aarch64'
check_output "${cache%-*}-aarch64-gnu2.28/mlaunch-agent" "a host with aarch64 gets its set" \
    set_ml -v -H "$H2" -n 1 --output raw -- sh -c "$where"
check_match "copying aarch64-gnu2.28" "$ERR" "the set for aarch64 is named"
must on "$H2" rm -r "${cache%-*}-aarch64-gnu2.28"
fake getconf 'echo glibc 2.27'
check_error 125 "host $H2: .*the host is aarch64 with glibc 2\.27, .*host sets here: aarch64-gnu2\.28, " \
    "a host with aarch64 and an older glibc gets no set" set_ml -H "$H2" -n 1 -- true
rm "$NETNS_DIR/bin/uname"
rm -f "$NETNS_DIR/bin/ldd" "$NETNS_DIR/bin/getconf"
printf '#!/bin/sh\necho riscv64\n' > "$NETNS_DIR/bin/uname"
chmod +x "$NETNS_DIR/bin/uname"
check_error 125 "host $H2: .*the host is riscv64 with glibc [0-9.]*, this machine $(uname -m)" \
    "a host with another processor is refused without its set" ml -H "$H2" -n 1 -- true
check "a host with another processor may have an agent" ml -H "$H1" -n 1 -- true
rm "$NETNS_DIR/bin/uname"
{
    echo "Port 2200"
    sed 's/^Subsystem.*//' "$NETNS_DIR/sshd_config"
} > "$NETNS_DIR/nosftp"
must on "$H2" /usr/sbin/sshd -f /run/netns-hosts/nosftp
wait_for 'on "$H2" ss -Hltn "sport = :2200" | grep -q .'
sed "s/^Host \*/Host nosftp\n  HostName $A2\n  HostKeyAlias $H2\n  Port 2200\n&/" \
    "$NETNS_SSH_CONFIG" > "$T/config"
check_error 125 "host nosftp: .*sshd offers no SFTP" "an sshd without SFTP is told of" \
    "$MLAUNCH" --ssh-config "$T/config" -H nosftp -n 1 -- true
check_output "" "nothing stays of copies that failed" on "$H2" sh -c "find $home/.cache -type f"

# $PATH, and --agent.
cp "$AGENT" "$NETNS_DIR/bin/mlaunch-agent"
cp "$shim" "$NETNS_DIR/bin/libmlaunch.so.0"
cp "$module" "$NETNS_DIR/bin/mlaunch-runtime.so"
mkdir "$NETNS_DIR/bin/python"
cp -rL "$python" "$NETNS_DIR/bin/python"
ran_from /run/netns-hosts/bin/mlaunch-agent "an agent in \$PATH is used" -H "$H2" -n 1
check_output "" "an agent in \$PATH makes a copy needless" \
    on "$H2" sh -c "find $home/.cache -type f"
printf '#!/bin/sh\nexit 94\n' > "$NETNS_DIR/bin/mlaunch-agent"
ran_from "$cache/mlaunch-agent" "an agent of another build in \$PATH is not used" -H "$H2" -n 1
fake mlaunch-agent 'echo "$0: libc.so.6: version GLIBC_2.99 not found" >&2; exit 1'
ran_from "$cache/mlaunch-agent" "an agent that the loader refuses is not used" -H "$H2" -n 1
ran_from "$cache/mlaunch-agent" "--agent names the agent to use" \
    -H "$H2" -n 1 --agent "$cache/mlaunch-agent"
check_error 125 "host $H2: there is no program /no/agent" \
    "--agent with a program that is not there is refused" \
    ml -H "$H2" -n 1 --agent /no/agent -- true
fake mlaunch-agent 'exit 94'
check_error 125 "host $H2: .*is another build than this mlaunch \($build\)" \
    "--agent with another build is refused" \
    ml -H "$H2" -n 1 --agent /run/netns-hosts/bin/mlaunch-agent -- true
check_error 125 "host $H2: the agent ended with status 1" \
    "--agent with a program that is no agent is refused" \
    ml -H "$H2" -n 1 --agent /bin/false -- true
done_testing
