#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# mlaunch verify: hosts in order give no finding; each kind of finding about the way to a host, and
# what a dead job has left there, is provoked, and is then the only one.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../lib/hosts.sh"
. "${0%/*}/verify.sh"
NETNS_PRIVATE=/tmp hosts_up 3 # whatever other jobs have left in /tmp
# … and their control groups, which all namespaces share.
for host in "$H1" "$H2" "$H3"; do
    must netns exec "$host" mount -t tmpfs t /sys/fs/cgroup
done
SSH=(--ssh-config "$NETNS_SSH_CONFIG")

check "three hosts in order are fit" "$MLAUNCH" verify --quick "${SSH[@]}" -H "$H1,$H2,$H3"
if ! skip_emulated "$NO_READV" "three hosts in order have no finding" \
    "JSON has three hosts and no finding"; then
    said "fit; examined 3 of 3 hosts" "three hosts in order have no finding"
    check_output "0 3" "JSON has three hosts and no finding" \
        sh -c '"$0" verify --quick --json --ssh-config "$1" -H "$2" | python3 \
        "$SOURCE/tests/lib/json_show.py" "(len(j[\"findings\"]), len(j[\"hosts\"]))"' \
        "$MLAUNCH" "$NETNS_SSH_CONFIG" "$H1,$H2,$H3"
fi

# Reach.
only 1 "^error .* reach .* host nowhere.invalid: .*; see that it is up" "a host that is not there" \
    "$MLAUNCH" verify --quick "${SSH[@]}" -H "$H1,nowhere.invalid,$H3"
skip_emulated "$NO_READV" "the other hosts are looked at" ||
    check_match '^not fit; examined 2 of 3 hosts, 1 error$' "$OUT" "the other hosts are looked at"
check_status 125 "a host that cannot be reached is status 125 if it is alone" \
    "$MLAUNCH" verify --quick "${SSH[@]}" -H nowhere.invalid
if is_long; then
    # Agents wait for a host that takes long to fail, and are told that mlaunch is still there.
    must netns cut "$H3"
    sed 's/^Host \*$/&\n  ConnectTimeout 14/' "$NETNS_SSH_CONFIG" > "$T/slow_config"
    only 1 "^error .* reach .* host $H3: " "a host that gives no sign of life" \
        "$MLAUNCH" verify --quick --ssh-config "$T/slow_config" -H "$H1,$H2,$H3"
    must netns join "$H3"
fi
printf 'Host twin\n  HostName %s\n  HostKeyAlias %s\n' "$A1" "$H1" > "$T/ssh_config"
cat "$NETNS_SSH_CONFIG" >> "$T/ssh_config"
only 1 "^error .* reach .* hosts $H1 and twin: they are one machine; " "a second name of one machine" \
    "$MLAUNCH" verify --quick --ssh-config "$T/ssh_config" -H "$H1,$H2,twin"
must netns exec "$H1" ip route add unreachable "$A2"
only 1 "^error .* reach .* hosts $H1 and $H2: neither can connect .*; look for a firewall" \
    "a missing route" "$MLAUNCH" verify --quick "${SSH[@]}" -H "$H1,$H2,$H3"
must netns exec "$H1" ip route del unreachable "$A2"
if netns exec "$H2" nft list ruleset > /dev/null 2>&1; then
    must netns exec "$H2" nft add table inet t
    must netns exec "$H2" nft add chain inet t in '{ type filter hook input priority 0; }'
    must netns exec "$H2" nft add rule inet t in ip saddr "$A3" tcp dport 1024-65535 tcp flags '&' \
        '(syn|ack)' == syn reject with tcp reset
    only 1 "^error .* reach .* hosts $H3 and $H2: $H3 cannot connect to a TCP port of $H2 .*refused.*$H2 to $H3 works" \
        "a closed port" "$MLAUNCH" verify --quick "${SSH[@]}" -H "$H1,$H2,$H3"
    must netns exec "$H2" nft delete table inet t
else
    skip "a closed port is found" "nft does not work here"
fi

# shellcheck disable=SC2016 # the host's shell
must netns exec "$H2" sh -c 'grep -v "$0" /etc/hosts > /tmp/hosts && mount --bind /tmp/hosts /etc/hosts' "$H3"
only 0 "^note     reach   host $H3: on $H2 its name is not found: [A-Za-z3].*; add it to" "a name that one host lacks" \
    "$MLAUNCH" verify --quick "${SSH[@]}" -H "$H1,$H2,$H3"
must netns exec "$H2" sh -c "echo 10.9.9.9 $H3 >> /tmp/hosts"
only 1 "^warning  reach   host $H3: on $H2 its name is 10.9.9.9, and it has only $A3; mend" \
    "a name that means another machine" "$MLAUNCH" verify --quick "${SSH[@]}" -H "$H1,$H2,$H3"
must netns exec "$H2" umount /etc/hosts

# What a dead job has left: its agent and guard were killed.
stale() {
    "$MLAUNCH" "${SSH[@]}" -H "$H2" -- sleep 300 > "$T/job.out" 2>&1 < /dev/null &
    PID=$!
    wait_for 'netns exec "$H2" pgrep -x sleep > "$T/sleep"'
    # shellcheck disable=SC2046 # pids
    must netns exec "$H2" sh -c \
        'agents=$(pgrep -x mlaunch-agent); kill -STOP $agents && kill -KILL $agents'
    wait_for '! netns exec "$H2" pgrep -x sleep > "$T/sleep"' # the kernel ends it with its agent
    wait "$PID"
}
stale
only 1 "^warning  left    host $H2: job [0-9a-z-]+ of root is dead and has left /tmp/mlaunch-0/.*; mlaunch clean" \
    "what a dead job has left" "$MLAUNCH" verify --quick "${SSH[@]}" -H "$H1,$H2,$H3"
check "--fix works where a dead job has left something" \
    "$MLAUNCH" verify --quick --fix "${SSH[@]}" -H "$H1,$H2,$H3"
check_match "^fixed    left    host $H2: directory /tmp/mlaunch-0/" "$OUT" \
    "--fix says what it has removed"
check_match '^fit; examined 3 of 3' "$OUT" "the host is fit after --fix"
done_testing
