#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# --restarts and a job that cannot be started at all. A host that SSH does not reach is a try, and a
# spare host takes its place; what would fail again is not tried again: a program that is not there,
# a name, a key.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../lib/hosts.sh"
. "${0%/*}/../cli/job.sh"
hosts_up 2
: > "$T/empty"
cat > "$T/config" << EOF
Host refused
    HostName $A1
    Port 2299
Host new
    HostName $A1
    UserKnownHostsFile $T/empty
Host stranger
    HostName $A1
    HostKeyAlias $H1
    User no-such-user
Host unknown
    HostName no-such-host.invalid
Host cut-*
    HostName $A1
    HostKeyAlias $H1
    ProxyCommand python3 $T/cut.py %h %p %n
Host *
    Include $NETNS_SSH_CONFIG
EOF
# It ends after as many bytes of the host's as the name says that is asked for.
cat > "$T/cut.py" << 'EOF'
import os, select, socket, sys
host = socket.create_connection((sys.argv[1], int(sys.argv[2])))
left = int(sys.argv[3].partition("-")[2])
while left > 0:
    ready = select.select([0, host], [], [])[0]
    if 0 in ready:
        said = os.read(0, 65536)
        if not said:
            break
        host.sendall(said)
    if host in ready:
        said = host.recv(min(left, 65536))
        if not said:
            break
        left -= len(said)
        os.write(1, said)
EOF
JOB+=(--ssh-config "$T/config" --grace 1)
AGAIN='starting the job again'

job_status 0 "a host that SSH does not reach is replaced by a spare one" \
    -H "$H1,refused" --spare-hosts "$H2" --restarts 1 -- hostname
check_match "^mlaunch: host refused: .*port 2299 refused the connection" "$ERR" \
    "a host that SSH does not reach is named"
check_match "^mlaunch: $AGAIN in 1 s \\(restart 1 of 1\\)$" "$ERR" \
    "the job starts again without the host that SSH does not reach"
check_match "^mlaunch: host refused was lost; spare host $H2 takes its place" "$ERR" \
    "the host that SSH does not reach is said to be lost"
job_status 125 "a host without a spare one is tried as often as --restarts says" \
    -H "$H1,refused" --restarts 2 -- true
cp "$ERR" "$T/err"
check_output 2 "a host is tried no more often than --restarts says" grep -c "$AGAIN" "$T/err"

# The connection is cut at any stage: before the banner, in the exchange of keys, in the login, when
# the session opens.
bytes=(0 500 1200 1600 2000)
is_long && mapfile -t bytes < <(seq 0 100 2400)
for left in "${bytes[@]}"; do
    run job -H "$H1,cut-$left" --restarts 1 -- true
    cp "$ERR" "$T/err"
    job_judge 125 "a connection that ends after $left bytes fails the job" "mlaunch"
    check_output 1 "a connection that ends after $left bytes is a try" grep -c "$AGAIN" "$T/err"
done

# once STATUS REGEX NAME ARGUMENT…: the job ends with STATUS and the sentence, and is not tried
# again.
once() {
    job_says "$1" "$2" "$3" --restarts 2 "${@:4}"
    check_no_match "$AGAIN" "$ERR" "$3 is not tried again"
}
once 127 'no-such-program: not found' \
    "a program that is not found on a host" -H "$H1" -n 1 -- no-such-program
once 127 'no-such-program: not found' "a program that is not found here" -n 1 -- no-such-program
once 126 'cannot execute|ermission denied' "a program that cannot be executed" -n 1 -- /etc/passwd
once 125 'unknown host name' "a name that does not resolve" -H "$H1,unknown" -- true
once 125 'host key is unknown' "an unknown host key, though there is a spare host," \
    -H "$H1,new" --spare-hosts "$H2" -- true
once 125 'no permitted key' "a key that is refused" -H "$H1,stranger" -- true
once 125 'refused the connection' "a host that is not reached beside a key that is refused" \
    -H "stranger,refused" -- true
once 125 'cannot read|No such file' "a hostfile that is not there" --hostfile "$T/no-hosts" -- true
done_testing
