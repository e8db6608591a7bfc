#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# --agent-command: any command that gives a pipe to a program on a host starts an agent there. Here
# it is nsenter, run by netns-hosts.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../lib/hosts.sh"
hosts_up 2
export NETNS=$TEST_LIB/netns-hosts TMPDIR=$T
enter="'$NETNS' exec {host}"
ml() { "$MLAUNCH" --agent-command "$enter" -H "$H1,$H2" "$@"; }

# Two hosts, without SSH.
check "a job runs on two hosts without SSH" \
    ml -n 4 --ppn 2 --output raw -- sh -c 'echo $(hostname)/$MLAUNCH_LOCAL_RANK'
cp "$OUT" "$T/lines"
check_output "$(printf '%s\n' "$H1/0" "$H1/1" "$H2/0" "$H2/1")" "each host has its two ranks" \
    sort "$T/lines"
"$BUILD/examples/kmeans" "$SOURCE/examples/iris.csv" > "$T/one" 2>&1
check "ranks of two hosts work together over their own network" ml -n 4 --ppn 2 --output raw -- \
    "$BUILD/examples/kmeans" "$SOURCE/examples/iris.csv"
cp "$OUT" "$T/lines"
check_output "$(grep -o 'checksum.*' "$T/one")" "ranks of two hosts find what one rank finds" \
    grep -o 'checksum.*' "$T/lines"
# Rank 0's own host has two ranks; the other host has one connection for its six.
check "a job of two ranks here and six there runs" \
    "$MLAUNCH" --agent-command "$enter" -H "$H1:2,$H2:6" --output raw -- \
    python3 "$SOURCE/tests/cli/host_connections.py"
cp "$OUT" "$T/lines"
check_output "connections: 3" "ranks of another host share one connection to the coordinator" \
    grep connections "$T/lines"
check_output 300000 "bytes pass unchanged" sh -c 'head -c 300000 /dev/urandom > "$1/in"
    "$2" --agent-command "$3" -H "$4" --output raw -- cat < "$1/in" > "$1/out" && cmp "$1/in" "$1/out" && wc -c < "$1/out"' \
    sh "$T" "$MLAUNCH" "$enter" "$H1"
check_status 7 "the job's status is that of the failed rank" \
    ml -n 2 -- sh -c 'exit $((MLAUNCH_RANK * 7))'
check_match "^mlaunch: rank 1 on host $H2 .*exited with status 7" "$ERR" \
    "the failed rank's host is named"
check "a job runs with -vv" ml -vv -n 1 -- true
check_match "^mlaunch: host $H1: opening a channel to its agent by --agent-command" "$ERR" \
    "-vv tells how a channel is opened"
check_match "^mlaunch: pid [0-9]+ runs .*netns-hosts exec $H1 .*mlaunch-agent --build " "$ERR" \
    "-vv tells by which command a channel is opened"
check_match "^mlaunch: host $H1: the channel to its agent is open after [0-9]+ ms" "$ERR" \
    "-vv tells how long a channel took to open"
check "a dry run succeeds with --agent-command" ml --dry-run -- true
check_match "^host 0: $H1 \(--agent-command\)" "$OUT" "the plan tells how the agents are started"

# No shell interprets the command.
check_error 125 'netns-hosts: (PREFIX|there is no host)' "words of the command stay words" \
    "$MLAUNCH" --agent-command "'$NETNS' exec '\$(touch $T/shell)' {host}" -H "$H1" -- true
check_status 1 "no shell has expanded the command" test -e "$T/shell"

# What goes wrong before the start.
check_error 125 "^mlaunch: host $H1: netns-hosts ended with status [0-9]+ and started no agent; it said: .*No such file.*; it needs /no/agent of this build there" \
    "an agent that is not there is a sentence with the command's words" ml --agent /no/agent -- true
check_match '^mlaunch: 2 of 2 hosts failed; nothing was started' "$ERR" \
    "the number of failed hosts is told"
check_error 125 "host $H1: there is no program no-such-command in PATH here" \
    "a command that is not there is refused" \
    "$MLAUNCH" --agent-command 'no-such-command {host}' -H "$H1" -- true
check_error 125 "host $H1: .*/echo writes to its standard output, where only the agent may: '$H1 " \
    "a command that prints is refused" \
    "$MLAUNCH" --agent-command 'echo {host}' -H "$H1" -- true
check_error 125 "host $H1: true ended with status 0 and started no agent" \
    "a command that starts no agent is refused" \
    "$MLAUNCH" --agent-command 'true {host}' -H "$H1" -- true
check_error 125 "another build than this mlaunch" "an agent of another build is refused" \
    "$MLAUNCH" --agent-command "sh -c 'exec \"\$1\" --build 0123456789abcdef' sh" -H "$H1" -- true
check_error 125 "^mlaunch: error: --agent-command: .host. is missing, so the agents of all 2 hosts" \
    "a command without {host} is refused for two hosts" "$MLAUNCH" --agent-command 'cat' -H "$H1,$H2" -- true
check_error 125 "^mlaunch: error: --agent-command: .* ends inside quotes" \
    "a command with an open quote is refused" "$MLAUNCH" --agent-command "cat 'a" -H "$H1" -- true
check_error 125 "^mlaunch: error: --agent-launcher command needs --agent-command" \
    "the launcher command needs a command" "$MLAUNCH" --agent-launcher command -H "$H1" -- true
check_error 125 "^mlaunch: error: --agent-launcher srun: this is not a Slurm job" \
    "the launcher srun needs a Slurm job" "$MLAUNCH" --agent-launcher srun -H "$H1" -- true

# The end of mlaunch, of the command and of a host, in mid-run.
# begin NAME: a job of two ranks on two hosts in the background; sets $mark and $pid.
begin() {
    mark=$(new_mark "$1")
    "$MLAUNCH" --agent-command "$enter" -H "$H1,$H2" -n 2 --ppn 1 -x "$mark" -- sleep 1000 \
        > "$T/$1.out" 2> "$T/$1.err" &
    pid=$!
    wait_for "[ \$(survivors '$mark' | grep -c 'sleep 1000') -eq 2 ]" ||
        fail "$1: both ranks start" "$(cat "$T/$1.err")"
}
begin killed
must kill -KILL "$pid"
no_survivors "nothing is left if mlaunch is killed" "$mark"
wait "$pid" 2> /dev/null
enter="sh -c 'echo chatter >&2; exec \"\$@\"' sh $enter"
begin command
must kill -KILL "$(pgrep -P "$pid" | head -n 1)"
check_status 125 "the job fails if its command is killed" wait "$pid"
check_match "^mlaunch: .*host ($H1|$H2) was lost" "$T/command.err" \
    "a host whose command was killed is named"
check_no_match "chatter" "$T/command.err" "what the command said when it started is not shown"
no_survivors "nothing is left if a command is killed" "$mark"
begin host
must netns kill "$H2"
check_status 125 "the job fails if a host dies" wait "$pid"
check_match "^mlaunch: .*host $H2 was lost" "$T/host.err" "the host that died is named"
no_survivors "nothing is left if a host dies" "$mark"

# Other tools that give a pipe. Named network namespaces, as in the manual.
net1=mlt$$a net2=mlt$$b
for net in "$net1" "$net2"; do
    at_exit ip netns del "$net"
    ip netns add "$net"
done
ip -n "$net1" link add eth0 type veth peer name eth0 netns "$net2"
for net in "$net1 10.87.0.1/24" "$net2 10.87.0.2/24"; do
    # shellcheck disable=SC2086
    set -- $net
    ip -n "$1" addr add "$2" dev eth0
    ip -n "$1" link set lo up
    ip -n "$1" link set eth0 up
done
skip_emulated "qemu-user's user namespace may not mount /sys" \
    "ip netns exec starts a job's agents" || {
    check "ip netns exec starts a job's agents" \
        "$MLAUNCH" --agent-command 'ip netns exec {host}' -H "$net1,$net2" -n 4 \
        --ppn 2 --output raw -- "$BUILD/examples/kmeans" "$SOURCE/examples/iris.csv"
    cp "$OUT" "$T/lines"
    check_output "$(grep -o 'checksum.*' "$T/one")" \
        "ranks in named network namespaces work together" grep -o 'checksum.*' "$T/lines"
}

# Containers: a root, processes, /tmp and a name of their own. The caller's directory is not there.
mkdir "$T/root" "$T/outside"
cat > "$T/enter" << 'EOF'
#!/bin/sh
export HOME=/nowhere # the container has no home, although the clone may lie below the caller's
exec unshare --mount --uts --ipc --pid --fork --kill-child sh -ec '
    mount -t tmpfs tmpfs "$1"
    hostname "$2"
    cd "$1"
    shift 2
    mkdir proc tmp dev
    mount -t proc proc proc
    mount --rbind /dev dev
    mount -t tmpfs tmpfs dev/shm
    for d in /usr /bin /lib /lib64 "$BUILD" "$SOURCE"; do
        [ ! -e "$d" ] || { mkdir -p ".$d"; mount --rbind "$d" ".$d"; }
    done
    exec chroot . "$@"' sh "${0%/*}/root" "$@"
EOF
chmod +x "$T/enter"
cd "$T/outside" || exit 1
check "a job runs in two containers" \
    "$MLAUNCH" --agent-command "'$T/enter' {host}" -H c1,c2 -n 4 --ppn 2 --output raw -- sh -c \
    'echo "$(hostname) $(pwd) $(cd "$MLAUNCH_JOB_DIR" && cd ../.. && pwd) $(ls -d /etc 2>&1 | grep -c "No such")"'
check_match "host c2: there is no directory $T/outside: its ranks start in /" "$ERR" \
    "a directory that containers lack is named"
cp "$OUT" "$T/lines"
check_output "$(printf '%s\n' 'c1 / /tmp 1' 'c1 / /tmp 1' 'c2 / /tmp 1' 'c2 / /tmp 1')" \
    "the ranks are within the containers" sort "$T/lines"
check "kmeans runs in two containers" \
    "$MLAUNCH" -q --agent-command "'$T/enter' {host}" -H c1,c2 -n 4 --ppn 2 --output raw \
    -- "$BUILD/examples/kmeans" "$SOURCE/examples/iris.csv"
cp "$OUT" "$T/lines"
check_output "$(grep -o 'checksum.*' "$T/one")" "ranks in two containers work together" \
    grep -o 'checksum.*' "$T/lines"
cd "$T" || exit 1

# docker and kubectl stand-ins: what they are given, and that a host's name is one word of it.
mkdir "$T/bin"
cat > "$T/bin/docker" << 'EOF'
#!/bin/sh
until [ "${1##*/}" = mlaunch-agent ]; do
    printf '<%s>' "$1" >> "$T/words.${0##*/}"
    shift
done
exec "$@"
EOF
chmod +x "$T/bin/docker"
ln -s docker "$T/bin/kubectl"
export T
check "docker exec starts an agent" env PATH="$T/bin:$PATH" \
    "$MLAUNCH" --agent-command 'docker exec -i {host}' -H web_0 -- true
check_output "<exec><-i><web_0>" "docker exec gets the host's name as one word" \
    cat "$T/words.docker"
check "kubectl exec starts an agent" env PATH="$T/bin:$PATH" \
    "$MLAUNCH" --agent-command 'kubectl exec -i {host} -- ' -H web-0.ns -- true
check_output "<exec><-i><web-0.ns><-->" "kubectl exec gets the host's name as one word" \
    cat "$T/words.kubectl"
for name in 'a b' 'a;b' '$(a)' "a'b" '-a'; do
    check_error 125 "the host's name .* (must not contain|begins with)" \
        "a host can't be named $name" \
        "$MLAUNCH" --agent-command 'true {host}' -H "$name" -- true
done
done_testing
