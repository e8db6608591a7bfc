#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Hosts over SSH: what ssh_config says is done, and everything that can go wrong on the way has its
# own sentence; if one host fails, all that fail are named and nothing runs.
TEST_TIER=full
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../lib/hosts.sh"
NETNS_SSHD='Port 22
Port 2222' hosts_up 3

# listen MODE…: starts a listener; its port is in $PORT.
listen() {
    local out=$T/listener.$((LISTENERS += 1))
    : > "$out"
    "$TEST_LIB/listener.py" "$@" > "$out" 2>&1 &
    at_exit kill $!
    wait_for "[ -s '$out' ]"
    PORT=$(cat "$out")
}
LISTENERS=0

listen silent && SILENT=$PORT
listen other && OTHER=$PORT
listen drop && DROP=$PORT
listen drop 2 "$A1" 22 && DROP2=$PORT

ssh-keygen -q -t ed25519 -N '' -f "$SHORT/strange_key"
ssh-keygen -q -t ed25519 -N 'secret' -f "$SHORT/locked_key"
cp "$NETNS_KEY" "$T/my_locked_key"
ssh-keygen -q -p -P '' -N secret -f "$T/my_locked_key" > "$T/.keygen"
cp "$NETNS_KEY.pub" "$T/my_locked_key.pub"
: > "$T/empty"
read -r type key _ < "$SHORT/strange_key.pub"
echo "changed $type $key" > "$T/changed"
read -r type key _ < "$NETNS_DIR/host_key.pub"
{
    echo "# a comment"
    echo "revoked $type $key"
    echo "@revoked * $type $key"
} > "$T/revoked"
echo "name-in-capitals $type $key" > "$T/capitals"
printf '%s\n' "!negated,* $type $key" "*,!NEGATED $type $key" "negate?,!n*d $type $key" > "$T/negated"
ssh-keygen -q -H -f "$T/changed" > "$T/.keygen" 2>&1 # also hashed names
cat > "$T/other.conf" << E
Host included
    HostName $A2
    HostKeyAlias $H2
E

# "Host *" comes last, because the first value wins.
cat > "$T/config" << E
Include $T/oth*.conf $T/hosts.conf
Host unknown-name
    HostName no-such-host.invalid
Host refused
    HostName $A1
    Port 2299
Host silent
    HostName 127.0.0.1
    Port $SILENT
Host other
    HostName 127.0.0.1
    Port $OTHER
Host dropped
    HostName 127.0.0.1
    Port $DROP
Host dropped-twice
    HostName 127.0.0.1
    HostKeyAlias $H1
    Port $DROP2
Host new
    HostName $A1
    UserKnownHostsFile $T/empty
Host forgets
    HostName $A1
    UserKnownHostsFile /dev/null
Host capitals
    HostName Name-In-Capitals
    UserKnownHostsFile $T/capitals
    ProxyCommand ssh -F $T/config -W $A2:22 $H1
Host changed
    HostName $A1
    HostKeyAlias changed
    UserKnownHostsFile $T/changed
Host revoked
    HostName $A1
    HostKeyAlias revoked
    UserKnownHostsFile $T/revoked
Host negated
    HostKeyAlias negated
Host not-negated
    HostKeyAlias not-negated
Host *negated
    HostName $A1
    UserKnownHostsFile $T/negated
Host stranger
    HostName $A1
    HostKeyAlias $H1
    IdentityFile $SHORT/strange_key
    IdentityFile $SHORT/locked_key
Host locked
    HostName $A1
    HostKeyAlias $H1
    IdentityFile $T/my_locked_key
Host agent-only
    HostName $A1
    HostKeyAlias $H1
    IdentitiesOnly no
Host nobody
    HostName $A1
    HostKeyAlias $H1
    User no-such-user
Host jump
    HostName $A2
    HostKeyAlias $H2
    ProxyJump $H1
Host two-jumps
    HostName $A3
    HostKeyAlias $H3
    ProxyJump $H1,$H2
Host bad-jump
    HostName $A2
    HostKeyAlias $H2
    ProxyJump refused
Host command
    HostName "$A2"
    HostKeyAlias=$H2
    ProxyCommand ssh -F $T/config -W %h:%p $H1
Host bad-command
    HostName $A2
    ProxyCommand echo "out of cables" >&2; exit 1
Host port*
    HostName = $A2
Host port2222
    Port 2222
Match originalhost port2222
    UserKnownHostsFile $T/port2222
Match originalhost by-*,!by-exec user root,nobody localuser *
    HostName $A2
    HostKeyAlias $H2
Match exec "test %n = by-exec"
    HostName $A2
    HostKeyAlias $H2
Match originalhost !stranger,!locked,!agent-only,*
    IdentityFile $NETNS_KEY
Host *
    User root
    IdentitiesOnly yes
    UserKnownHostsFile $NETNS_KNOWN_HOSTS
    GlobalKnownHostsFile /dev/null
E
sed '/^Host \*/,$d' "$NETNS_SSH_CONFIG" > "$T/hosts.conf" # the hosts, without what goes for all
echo "[$A2]:2222 $type $key" > "$T/port2222"
printf '[ssh]\nconnect-timeout = 30\n' > "$T/ini"

unset SSH_AUTH_SOCK
ml() { "$MLAUNCH" --config "$T/ini" --ssh-config "$T/config" "$@"; }
sorted() { "$@" > "$T/.unsorted" && sort "$T/.unsorted"; }
check_host() { check_output "$3" "$2" ml -H "$1" -n 1 -- hostname; }

check_output "$H1
$H1
$H2
$H2" "four ranks run on two hosts" sorted ml -H "$H1:2,$H2:2" --output raw -- hostname
check_output 1 "a host has one connection, whatever the number of its ranks" \
    ml -H "$H1" -n 8 --output raw -- sh -c \
    '[ $MLAUNCH_RANK != 7 ] || ss -Htn state established "sport = :22" | wc -l'

# -vv says what each step of a connection did.
check "a job over SSH runs with -vv" ml -vv -H "$H1" -n 1 -- true
for line in "host $H1: opening a channel to its agent over SSH" "$H1: connected to .*$A1.* port 22" \
    "$H1: keys exchanged with .*: curve25519-sha256.*, cipher aes128-gcm@openssh.com" \
    "$H1: host key ssh-[a-z0-9]+ SHA256:.* is known from $NETNS_KNOWN_HOSTS line [0-9]+" \
    "$H1: logged in as root with $NETNS_KEY" "$H1: an agent of this build runs; nothing had to be copied" \
    "host $H1: the channel to its agent is open after [0-9]+ ms"; do
    check_match "^mlaunch: $line" "$ERR" "-vv says $line"
done

check_host jump "a host is reached with ProxyJump" "$H2"
check_host two-jumps "a host is reached with ProxyJump through two hosts" "$H3"
check_host command "a host is reached with ProxyCommand" "$H2"
check_host port2222 "a host is reached with Port, a second block about it, and Match originalhost" \
    "$H2"
check_host included "a host is reached with Include" "$H2"
check_host by-user "a host is reached with Match originalhost, user and localuser" "$H2"
check_host by-exec "a host is reached with Match exec" "$H2"
check_host dropped-twice "an sshd that hangs up before its banner is tried again" "$H1"

# fails HOST REGEX NAME: mlaunch's status is 125 and its sentence about HOST matches.
fails() { check_error 125 "host $1: .*$2" "$3" ml -H "$1" -n 1 -- true; }
fails unknown-name "unknown host name no-such-host.invalid" "a name that nobody knows is told of"
fails refused "port 2299 refused the connection" "a port without a listener is told of"
fails silent "says nothing" "a listener that says nothing is told of"
fails other "is not an SSH server|before its banner" "a listener that is no sshd is told of"
fails dropped "tried 5 times: .*MaxStartups" "an sshd that always hangs up is told of"
fails new "host key is unknown: SHA256:[^ ]+ is not in .*/empty .*ssh -F" \
    "an unknown host key is refused"
fails forgets "host key is unknown: UserKnownHostsFile of ssh_config is /dev/null, which keeps none" \
    "a file of known hosts that keeps nothing is told of"
check_host capitals "a host whose name has capitals is known in small letters, as ssh writes it" "$H2"
fails changed "host key has changed: .*/changed line 1 .*ssh-keygen -R" \
    "a changed host key is refused"
fails revoked "is revoked in .*/revoked line 3" "a revoked host key is refused"
fails negated "host key is unknown: SHA256:[^ ]+ is not in .*/negated" \
    "a host key is refused where known_hosts says !HOST,*"
check_status 255 "ssh refuses a host key where known_hosts says !HOST,*" \
    ssh -F "$T/config" negated true
check_host not-negated "another host is known by !HOST,*" "$H1"
fails stranger "no permitted key: .*strange_key; not tried: .*locked_key \(needs a passphrase" \
    "keys that are not let in are told of"
fails locked "no key to log in with as root; not tried: .*needs a passphrase" \
    "a key with a passphrase alone is told of"
fails nobody "in as no-such-user" "a user that is not there is told of"
fails bad-jump "jump host: .*port 2299: Connection refused" \
    "a jump host that can't be reached is told of"
fails bad-command "proxy command: out of cables" "a proxy command that fails is told of"
check_error 125 "cannot read .*no-such-file" "an --ssh-config that is not there is refused" \
    "$MLAUNCH" --ssh-config "$T/no-such-file" -H "$H1" -- true
printf 'Host x\n  Match nonsense y\n' > "$T/bad"
check_error 125 "Match attribute nonsense; .*/bad line 2: Bad Match condition" \
    "an ssh_config that can't be understood is refused" \
    "$MLAUNCH" --ssh-config "$T/bad" -H x -- true

netns cut "$H3"
sed -i 's/30/3/' "$T/ini"
fails "$H3" "no answer from $A3 port 22 within 3 s|cannot connect to $A3" \
    "a host without its cable is told of"
netns join "$H3"
sed -i 's/= 3$/= 30/' "$T/ini"

mark=$(new_mark several)
check_status 125 "one host that fails ends the job" \
    ml -H "$H1,$H2,refused,new,unknown-name,stranger" -n 6 -x "$mark" -- \
    sh -c "touch $T/ran; sleep 60"
for h in refused new unknown-name stranger; do
    check_match "host $h: " "$ERR" "$h is named, like all hosts that fail"
done
check_no_match "host ($H1|$H2): " "$ERR" "no host is named that did not fail"
no_survivors "nothing runs on hosts beside failed ones" "$mark"
check "no rank has run beside failed hosts" test ! -e "$T/ran"

# ssh-agent: needs no passphrase; IdentitiesOnly asks it only for a named file that does.
eval "$(ssh-agent -s -a "$SHORT/agent")" > "$T/.agent"
at_exit kill "$SSH_AGENT_PID"
ssh-add -q "$NETNS_KEY" 2> "$T/.agent"
check_host agent-only "the ssh-agent's key is used" "$H1"
check_host locked "the ssh-agent's key is used for a named file that needs a passphrase" "$H1"
done_testing
