#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# mlaunch metrics of several hosts: one that is silent, or cannot be reached, costs a page its own
# metrics, and the others have theirs, as fresh as ever. Here a host is an agent
# that --agent-command starts: b's is stopped, c's never says anything.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
. "${0%/*}/recorded.sh"

# value SERIES: its value on the page in $T/page.
value() { awk -v s="$1" '$1 == s { print $2 }' "$T/page"; }
# shellcheck disable=SC2120 # a check calls it with options
page() { curl -sS --max-time 100 "$@" "$URL" > "$T/page"; }
end() { kill "$1" 2> /dev/null; }
# times TEXT: how often the server has said it.
times() { grep -c "$1" "$T/err"; }
is_at_once() { page && [ "$(value 'mlaunch_host_up{host="b"}')" = 0 ] &&
    awk '$1 == "mlaunch_metrics_duration_seconds" { exit !($2 < 1) }' "$T/page"; }

record a b c
put a /proc/uptime '100 100'
cat > "$T/agent" << 'END'
#!/bin/sh
echo $$ > "$0.$1"
[ "$1" = c ] && exec cat > /dev/null # until mlaunch goes
shift
exec "$@"
END
chmod +x "$T/agent"
"$MLAUNCH" metrics --listen 0 -H a,b,c --sysfs "$T/recorded" --agent "$AGENT" \
    --agent-command "$T/agent {host}" > "$T/url" 2> "$T/err" &
SERVER=$!
at_exit end "$SERVER"
check "an endpoint for three hosts is there" wait_for 'grep -q /metrics "$T/url"'
URL=$(cat "$T/url")
ups() {
    page && echo "$(value 'mlaunch_host_up{host="a"}')" "$(value 'mlaunch_host_up{host="b"}')" \
        "$(value 'mlaunch_host_up{host="c"}')"
}
check_output "1 1 0" "a page does not wait for a host that says nothing" ups
check_match '^mlaunch: error: host c: has not answered within 2 s; its metrics are missing until it does$' \
    "$T/err" "the host that says nothing is named"

B=$(cat "$T/agent.b")
# signal_b SIGNAL: to its agent, which is two processes.
signal_b() { pgrep -P "$B" | xargs kill "-$1" "$B" 2> /dev/null; }
at_exit signal_b CONT
must signal_b STOP
check_output "1 0 0" "a page does not wait for a host that has fallen silent" ups
check_output "1" "a silence of more than 2 s is an error" \
    times 'error: host b: has not answered within 2 s'
check "later pages do not wait for the silent host at all" wait_for is_at_once
put a /proc/uptime '234 100'
check_output "1 0 0 234" "later pages have what the other hosts say then" echo "$(ups)" \
    "$(page; value 'mlaunch_host_uptime_seconds{host="a"}')"
check_output "1" "a host's silence is told once" times 'error: host b: has not answered'
must signal_b CONT
check "a host that speaks again is on the page again" wait_for '[ "$(ups)" = "1 1 0" ]'
must signal_b KILL
check "a host whose agent has died is on the page again" wait_for \
    '[ "$(ups)" = "1 1 0" ] && [ "$(cat "$T/agent.b")" != "$B" ]'
must kill "$SERVER"
wait "$SERVER"
check_output "0" "the endpoint for three hosts ends well" echo $?

# --- the time that Prometheus has, and a command that takes longer
cat > "$T/slow" << 'END'
echo mlaunch_local_x 1
exec sleep 1000
END
: > "$T/url" # the last endpoint's must not count
"$MLAUNCH" metrics --listen 0 --command "sh $T/slow" > "$T/url" 2> "$T/err" &
SERVER=$!
at_exit end "$SERVER"
check "an endpoint with a slow command is there" wait_for 'grep -q /metrics "$T/url"'
URL=$(cat "$T/url")
check "a page is made for one who has 1.5 s" page -H 'X-Prometheus-Scrape-Timeout-Seconds: 1.5'
check_output "1 0" "the page has the host, and not the slow command" \
    echo "$(value mlaunch_host_up)" "$(value mlaunch_metrics_command_success)"
check_match 'warning: --command sh .*/slow was ended after 1 s$' "$T/err" \
    "the slow command is named"
must kill "$SERVER"
wait "$SERVER"

# --- a file
"$MLAUNCH" metrics -o "$T/page" --every 1 -H a,c --sysfs "$T/recorded" --agent "$AGENT" \
    --agent-command "$T/agent {host}" 2> "$T/err" &
WRITER=$!
at_exit end "$WRITER"
file_has() { [ "$(value 'mlaunch_host_uptime_seconds{host="a"}')" = "$1" ]; }
check "a file of metrics is written" wait_for 'file_has 234'
put a /proc/uptime '345 100'
check "the file is written again, although a host is silent" wait_for 'file_has 345'
check_output "1" "the silent host is told once" times 'error: host c: '
must kill "$WRITER"
wait "$WRITER" 2> /dev/null
done_testing
