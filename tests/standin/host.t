#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# standin-host: what a command sees on a host of the stand-in's network, and what is refused.
# Expected: the host's devices and the stand-in's libibverbs are there, all else is as it was, and
# the machine itself is unchanged.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
[ -x "$BUILD/rdma/standin/standin-host" ] || skip_all "built without RDMA"
# What follows each arrow in the list of libraries.
verbs=$(ldconfig -p | sed -n 's/^[[:space:]]*libibverbs\.so\.1 .* => //p')
[ -n "$verbs" ] || skip_all "there is no libibverbs.so.1 here"
# Another user has to be able to read them.
cp "$BUILD"/rdma/standin/{standin-fabric,standin-host,libibverbs.so.1} "$T"
chmod 755 "$T"
HOST=$T/standin-host LIBRARY=$T/libibverbs.so.1

printf '%s\n' '[kind k]' '[device a/r0]' 'kind = k' 'gids = ::1' '[device a/r1]' 'kind = k' \
    '[device b/r0]' 'kind = k' > "$T/network.ini"
mkdir "$T/net"
mkfifo "$T/in" "$T/out"
"$T/standin-fabric" "$T/network.ini" "$T/net" < "$T/in" > "$T/out" &
fabric=$!
exec {input}> "$T/in"
fabric_end() {
    exec {input}>&-
    wait "$fabric"
}
at_exit fabric_end
read -r ready < "$T/out"
must [ "$ready" = ready ]

# The machine's devices but for those that are hidden, its classes, and what is mounted there.
devices() {
    stat -c '%n %F %t:%T' /dev/* |
        grep -vE '^/dev/(infiniband|ptmx|tty[0-9][^ ]*|vcs[^ ]*|loop[^ ]*) ' | sort
}
classes() { stat -c %n /sys/class/* | grep -v '/infiniband' | sort; }
machine() {
    ls /sys/class /dev/infiniband
    for file in $verbs; do cksum "$file"; done
    grep -E ' /(dev|sys)(/[^ ]*)? |libibverbs' /proc/self/mountinfo
} 2>&1
devices > "$T/devices"
classes > "$T/classes"
machine > "$T/machine"
export -f devices classes

seen=
for way in -m -Urm; do
    # shellcheck disable=SC2086
    if ! unshare $way mount -t tmpfs standin "$T/net/a/dev" 2> /dev/null; then
        skip "a host is shown by unshare $way" "that is not permitted here"
        continue
    fi
    seen+=" $way"
    host=(unshare "$way" "$HOST" "$T/net/a" "$LIBRARY" --)
    check_output $'r0\nr1' "unshare $way: the host's devices are in /sys/class/infiniband" \
        "${host[@]}" ls /sys/class/infiniband
    check_output uverbs0 "unshare $way: the host's devices are in /sys/class/infiniband_verbs" \
        "${host[@]}" sh -c 'grep -lx r0 /sys/class/infiniband_verbs/*/ibdev | cut -d/ -f5'
    check_output $'uverbs0\nuverbs0.socket\nuverbs1\nuverbs1.socket' \
        "unshare $way: the host's devices are in /dev/infiniband" "${host[@]}" ls /dev/infiniband
    # shellcheck disable=SC2016,SC2086 # paths without blanks
    check "unshare $way: the library is that of the stand-in" "${host[@]}" sh -c \
        'for file; do ! cmp -s "$file" "$0" || exit 0; done; exit 1' "$LIBRARY" $verbs
    "${host[@]}" bash -c devices > "$T/shown"
    check_output "" "unshare $way: all other devices are there" comm -23 "$T/devices" "$T/shown"
    "${host[@]}" bash -c classes > "$T/shown"
    check_output "" "unshare $way: all other classes are there" comm -23 "$T/classes" "$T/shown"
    check "unshare $way: devices can be used" "${host[@]}" sh -c 'echo > /dev/null &&
        head -c 1 /dev/zero > /dev/null && ls /dev/pts/ptmx /dev/shm/ /sys/class/net/lo/address'
    check "unshare $way: terminals can be made" "${host[@]}" \
        python3 -c 'import os; os.write(os.openpty()[0], b"x")'
    check_status 7 "unshare $way: the status is the command's" "${host[@]}" sh -c 'exit 7'
    check_error 127 '^standin-host: cannot run no-such: No such file or directory$' \
        "unshare $way: a command that is not there is an error" "${host[@]}" no-such
    check_error 2 "^standin-host: cannot open $T/none: No such file or directory$" \
        "unshare $way: a library that is not there is refused" \
        unshare "$way" "$HOST" "$T/net/a" "$T/none" -- true
    check_error 2 "^standin-host: $T/net/x is not a host of a running standin-fabric: cannot read" \
        "unshare $way: a host that is not there is refused" \
        unshare "$way" "$HOST" "$T/net/x" "$LIBRARY" -- true
done
check_error 2 'is in the mount namespace of standin-fabric: run .* by unshare -m as root' \
    "the namespace of the fabric is refused" "$HOST" "$T/net/a" "$LIBRARY" -- true
mkdir "$T/other"
check "a library of another layout can be made" "${CC:-cc}" -shared -o "$T/other/libibverbs.so.1" \
    -Wl,-soname,libibverbs.so.1 -x c /dev/null
check_error 1 "^standin-host: $T/other/libibverbs\.so\.1 has no IBVERBS_PRIVATE_34, so it is of an rdma-core" \
    "a libibverbs of another layout is refused" unshare -Urm \
    env LD_LIBRARY_PATH="$T/other" "$HOST" "$T/net/a" "$LIBRARY" -- true
check_error 2 '^usage: standin-host DIR/HOST LIBRARY -- COMMAND' \
    "a call without a command is refused" "$HOST" "$T/net/a" "$LIBRARY" --

if [[ $seen = *" -m"* ]]; then
    # shellcheck disable=SC2016
    check_output "" "mounts of a shared namespace are kept to the host" \
        unshare -m sh -c 'mount --make-rshared / && unshare -m --propagation unchanged "$@" &&
        ! grep -w standin /proc/self/mountinfo' sh "${host[@]:2}" true
    nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups)
    check_error 1 '^standin-host: cannot keep mounts to this process: run standin-host by unshare' \
        "somebody without rights is refused" \
        unshare -m "${nobody[@]}" "$HOST" "$T/net/a" "$LIBRARY" -- true
    if "${nobody[@]}" unshare -Urm true 2> /dev/null; then
        check_output $'r0\nr1' "somebody without rights has a namespace of his own" "${nobody[@]}" \
            unshare -Urm "$HOST" "$T/net/a" "$LIBRARY" -- ls /sys/class/infiniband
    else
        skip "somebody without rights has a namespace of his own" "that is not permitted here"
    fi
else
    skip "the rights of others are respected" "without root"
fi
machine > "$T/machine.after"
check_output "" "the machine is as it was" diff "$T/machine" "$T/machine.after"
exec {input}>&-
wait "$fabric"
check_output 0 "the fabric ends well" echo $?
check_output "" "the fabric leaves nothing" ls -A "$T/net"
done_testing
