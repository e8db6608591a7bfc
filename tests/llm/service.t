#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# llm.service: systemd finds nothing wrong with the unit, and its command does as a service of
# systemd must. With nothing but systemd's environment, as the unit's user and in /, it serves, ends
# on SIGTERM to its first process with a status that the unit calls success, and leaves nothing. No
# systemd is started here: one in namespaces still changes /tmp and /dev of the whole machine.
# shellcheck disable=SC2154 # serve_status: of server.sh
TEST_TIER=full
. "${0%/*}/../lib/test.sh"
. "${0%/*}/server.sh"
unit=$SOURCE/examples/llm/llm.service
user=daemon

# What the unit's reader changes; and two servers' names must not meet here.
chmod 711 "$T"
check "a model is made for the service" python3 "$TINY" "$T/tiny.gguf"
sed "s|^User=LLM|User=$user|; s|/usr/local/bin/mlaunch|$MLAUNCH|; s|/usr/local/bin/llm|$LLM|
    s|--name llm |--name llm-test-$$ -x $MARK |; s|HOST1,HOST2|localhost:2|
    s|/MODELS/MODEL.gguf|$T/tiny.gguf --port $PORT|" "$unit" > "$T/llm.service"
check_no_match '[^A-Z]([A-Z]*MODELS?|LLM|HOST[12])([^A-Z]|$)' "$T/llm.service" \
    "all that a reader changes is in capitals"
if is_here systemd-analyze; then
    check "systemd finds nothing wrong with the unit" systemd-analyze verify "$T/llm.service"
    cat "$OUT" "$ERR" > "$T/verify"
    check_output "" "systemd warns of nothing in the unit" cat "$T/verify"
else
    skip "systemd finds nothing wrong with the unit" "$LACKS"
fi

# setting NAME: of the unit, its lines joined.
setting() { sed -e ':a' -e '/\\$/{N;s/\\\n *//;ba' -e '}' "$T/llm.service" | sed -n "s/^$1=//p"; }
as_user=()
[ "$(id -u)" != 0 ] || as_user=(setpriv --reuid "$user" --regid "$user" --clear-groups)
if ! "${as_user[@]}" test -x "$LLM"; then
    as_user=()
    user=$(id -un)
fi
read -ra command <<< "$(setting ExecStart)"
# unit_start WORD…: the command, with the variables that systemd sets.
unit_start() {
    (
        cd / || exit 1
        exec env -i LANG=C.UTF-8 PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin \
            HOME="$T/home" LOGNAME="$user" USER="$user" SHELL=/bin/sh "$MARK" \
            "${as_user[@]}" "${command[@]}" "$@"
    ) > "$T/serve.out" 2> "$T/serve.err" &
    serve_pid=$!
}

unit_start
check "the unit's command serves" serve_healthy
diag_file "$T/serve.err"
check_match '"world_size":2,' "$T/health" "the unit's command serves over two ranks"
serve_stop
check "the status on SIGTERM is what the unit calls success" \
    test "$serve_status" = "$(setting SuccessExitStatus)"
no_survivors "nothing is left after SIGTERM" "$MARK"

# Killed, as by the kernel when memory is short: the ranks end, and the next start has their port.
unit_start
check "the unit's command starts again" serve_healthy
must kill -KILL "$serve_pid"
serve_wait 2> "$T/wait.err"
no_survivors "nothing is left when mlaunch is killed" "$MARK"
unit_start
check "the unit's command starts on the same port" serve_healthy
serve_stop

unit_start --model "$T/nowhere.gguf"
serve_wait
check "systemd does not start it again and again without a model" \
    test "$serve_status" = "$(setting RestartPreventExitStatus)"
no_survivors "nothing is left at the end" "$MARK"
done_testing
