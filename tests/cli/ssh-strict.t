#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What of ssh_config makes ssh refuse a host is refused by mlaunch, too: revoked host keys, files
# that others may write, logins without keys. A command of Match exec holds up neither the end of
# mlaunch nor its limit of time.
TEST_TIER=full
TEST_ALONE=1 # mlaunch ps of others would ask the host whose command takes long
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../lib/hosts.sh"
hosts_up 1

HOME_DIR=$(getent passwd "$(id -u)" | cut -d: -f6)
ssh-keygen -q -t ed25519 -N '' -f "$T/other_key"
cp "$NETNS_DIR/host_key.pub" "$T/host_key.pub"
{ echo "# a comment" && cat "$T/other_key.pub" "$T/host_key.pub"; } > "$T/keys"
cp "$T/other_key.pub" "$T/other_keys"
must ssh-keygen -q -k -f "$T/list" "$T/host_key.pub"
must ssh-keygen -q -k -f "$T/other_list" "$T/other_key.pub"
{ printf 'SSHKRL\n\0' && echo junk; } > "$T/broken_list"

# config LINE…: in $T/config, about $H1.
config() {
    { echo "Host $H1" && printf '    %s\n' "$@" && cat "$NETNS_SSH_CONFIG"; } > "$T/config"
}
ml() { timeout 120 "$MLAUNCH" --ssh-config "$T/config" -H "$H1" -n 1 -- "$@"; }
by_ssh() { ssh -F "$T/config" -o BatchMode=yes "$H1" true; }
# both_refuse REGEX NAME LINE…
both_refuse() {
    config "${@:3}"
    check_status 255 "ssh refuses $2" by_ssh
    check_error 125 "host $H1: .*$1" "$2 is refused" ml true
}
# both_log_in NAME LINE…
both_log_in() {
    config "${@:2}"
    check "ssh logs in with $1" by_ssh
    check_output "$H1" "a host is reached with $1" ml hostname
}
both_refuse "its host key SHA256:.* is revoked in $T/keys \(RevokedHostKeys\)" \
    "a host key that a file of keys revokes" "RevokedHostKeys $T/keys"
both_refuse "its host key SHA256:.* is revoked in $T/list \(RevokedHostKeys\)" \
    "a host key that a revocation list has" "RevokedHostKeys $T/list"
both_refuse "RevokedHostKeys names $T/none, and no host is trusted unless .*: No such file" \
    "any host key without the file of revoked ones" "RevokedHostKeys $T/none"
both_refuse "RevokedHostKeys names $T/broken_list, which ssh-keygen -Q cannot read" \
    "any host key with a broken revocation list" "RevokedHostKeys $T/broken_list"
both_log_in "other keys revoked by a file" "RevokedHostKeys $T/other_keys"
both_log_in "other keys revoked by a list" "RevokedHostKeys \"$T/other_list\" # a comment"
both_log_in "RevokedHostKeys none" "RevokedHostKeys none"
both_refuse "ssh_config says \"PubkeyAuthentication no\" about it" "a login without keys" \
    "PubkeyAuthentication no"
both_refuse "PreferredAuthentications of ssh_config has no publickey for it" \
    "a login that prefers no keys" "PreferredAuthentications password"
both_log_in "PreferredAuthentications with keys" "PreferredAuthentications publickey,password"

# The user's own configuration, in a home of the test's own.
at_home() {
    unshare --mount -- sh -c '"$0" "$1" mode=0700 && mkdir "$1/.ssh" && cp "$2" "$1/.ssh/config" &&
        chmod "$3" "$1/.ssh/config" && shift 3 && exec "$@"' "$TEST_LIB/cover" "$HOME_DIR" \
        "$T/config" "$@"
}
config "Port 22"
check_output "$H1" "the user's own ssh_config is read" at_home 600 "$MLAUNCH" -H "$H1" -n 1 -- hostname
check_error 255 "Bad owner or permissions on $HOME_DIR/.ssh/config" \
    "ssh refuses a file of the user's that others may write" at_home 666 ssh "$H1" true
check_error 125 "Bad owner or permissions on $HOME_DIR/.ssh/config: .*chmod go-w" \
    "a file of the user's that others may write is refused" at_home 666 "$MLAUNCH" -H "$H1" -n 1 -- true

# --- Match exec ---

mark=$(new_mark exec)
printf 'Match exec "touch %s; sleep 90; true"\n' "$T/begun" > "$T/slow"
printf '[ssh]\nconnect-timeout = 1\n' > "$T/ini"
check_error 125 "a command of Match exec in ssh_config has not ended in time: 'touch" \
    "connect-timeout ends a command of Match exec" timeout -s KILL 60 env "$mark" "$MLAUNCH" \
    --config "$T/ini" --ssh-config "$T/slow" -H "$H1" -n 1 -- true
no_survivors "the command is gone after connect-timeout" "$mark"
must rm "$T/begun"
timeout -s KILL 60 env "$mark" "$MLAUNCH" --ssh-config "$T/slow" -H "$H1" -n 1 -- true > "$T/out" 2>&1 &
mlaunch=$!
wait_for '[ -e "$T/begun" ]'
must kill -TERM "$mlaunch"
no_survivors "SIGTERM ends mlaunch and a command of Match exec" "$mark"
wait "$mlaunch"
done_testing
