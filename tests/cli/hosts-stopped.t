#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Ctrl-Z of a command that asks its hosts twice, while they work on the first question, for longer
# than an agent stands silence. Expected: after fg it asks again and has its answers.
TEST_TIER=full
. "${0%/*}/../lib/test.sh"
grep -q '^#define HAVE_RDMA 1' "$BUILD/config.h" || skip_all "built without RDMA"

# The probe of host h1 answers when the command has been stopped.
mkdir "$T/inst"
cp "$AGENT" "$T/inst/"
cat > "$T/inst/mlaunch-probe" << EOF
#!/bin/sh
: > "$T/asked"
read -r _ < "$T/gate"
exec "$TEST_LIB/probe-stand-in" "\$@"
EOF
chmod +x "$T/inst/mlaunch-probe"
mkfifo "$T/gate"
exec 9<> "$T/gate" # so that no echo waits for a reader
export PROBE_FABRIC=$T/fabric.json
echo '[[0, "m0", 1, "10.1.0.1", 1], [1, "m0", 1, "10.1.0.2", 1]]' > "$PROBE_FABRIC"
# shellcheck disable=SC2016
"$MLAUNCH" hosts --probe --agent "$T/inst/mlaunch-agent" --agent-command \
    'sh -c '\''PROBE_HOST=${0#h} exec "$@"'\'' {host}' -H h0,h1 > "$T/out" 2> "$T/err" &
mlaunch=$!
must wait_for '[ -e "$T/asked" ]'
must kill -TSTP "$mlaunch"
must wait_for '[ "$(state_of "$mlaunch")" = T ]'
echo go >&9
echo go >&9
nap 12000 # how long it is stopped is the subject
must kill -CONT "$mlaunch"
wait "$mlaunch"
check_output 0 "the command goes on to a good end after 12 s" echo "$?"
check_match '^h1 +m0 +-' "$T/out" "both questions have their answers"
check_output "" "no error is told" cat "$T/err"
done_testing
