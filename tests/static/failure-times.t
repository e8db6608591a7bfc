#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# common/failure_times.h: its order holds in each build that configure makes, a wrong one is an
# error of the compiler, documents say the times that users have, and the tests that wait for whole
# ones have their sentences follow the build.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
cd "$SOURCE" || exit 1
header=common/failure_times.h

# compiles HEADER DIVISOR
compiles() {
    echo "#define FAILURE_TIMES_DIVISOR $2" > "$T/config.h"
    "$CC" -std=c11 -I "$T" -fsyntax-only -x c "$1"
}
for divisor in {1..5}; do
    check "divided by $divisor, the times are in order" compiles $header "$divisor"
done
sed 's/AGENT_HEARTBEAT_MS = FAILURE_MS(2000)/AGENT_HEARTBEAT_MS = FAILURE_MS(6000)/' $header > "$T/slow.h"
check_status 1 "a heartbeat that is too slow does not compile" compiles "$T/slow.h" 1
check_match "one lost ping is no silence" "$ERR" "the compiler says what is wrong"

# milliseconds NAME: of the header, compiled.
milliseconds() {
    compiles $header 1 && printf '#include "%s"\n#include <stdio.h>\nint main(void) { printf("%%d", %s); }\n' \
        $header "$1" | "$CC" -I "$T" -I . -o "$T/time" -x c - && "$T/time"
}
# says NAME FILE WORDS: the time in seconds is N in WORDS, which are in the text of FILE.
says() {
    local s words
    s=$(awk "BEGIN { print $(milliseconds "$1") / 1000 }")
    words=${3/ N / $s }
    if tr -s '\n ' ' ' < "$2" | grep -qF -- "$words"; then pass "$2 says $1: $words"; else
        fail "$2 says $1: $words"
    fi
}
says AGENT_HEARTBEAT_MS doc/troubleshooting.md "asks each agent every N seconds"
says AGENT_SILENCE_MS doc/troubleshooting.md "has not answered for N seconds"
says AGENT_SILENCE_MS doc/mlaunch.1 "silent for N seconds is lost"
says AGENT_SILENCE_MS doc/elastic.md "silent host is given up after N s,"
says AGENT_SILENCE_MS doc/architecture.md "is silent for N s |"
says AGENT_SILENCE_MS doc/security.md "without a frame for N s has ended"
says HOST_LOST_MS doc/mlaunch.1 "is given up N seconds later"
says HOST_LOST_MS doc/elastic.md "mlaunch hears both for N s more"
says HOST_LOST_MS doc/protocol.md "not told of another one within N s,"
says TCP_CONNECT_MS doc/mlaunch.1 "do not reach each other over TCP for N seconds"
says TCP_SILENCE_MS doc/mlaunch.1 "do not reach each other over TCP for N seconds"
says KEPT_PATIENCE_MS doc/elastic.md "after an error, or N s without a byte"
says KEPT_PATIENCE_MS doc/protocol.md "gives up after N s without a byte"
says HANDSHAKE_MS doc/protocol.md "finished the handshake within N s."
says HANDSHAKE_MS doc/security.md "without a proof has N s, frames"
says UPLINK_PING_MS doc/protocol.md "| PING | every N s; after four without any frame"
says UPLINK_LOST_MS doc/security.md "the others wait, at most N s, after which"
says PMIX_PING_MS doc/protocol.md "| PING | every N s, once it is ready"
says PMIX_SILENCE_MS doc/protocol.md "after N s without an answer the job gets a warning"
says WAITING_AFTER_MS doc/protocol.md "call has waited N s; MOVING"
says ORPHANS_GONE_MS doc/mlaunch-join.1 "each host ends its ranks within N s,"
says RC_QUIET_MS doc/architecture.md "Its puts wait N s,"
says STALL_DEFAULT_MS doc/mlaunch.1 "a call that has waited for N seconds"

# The tests that wait for whole times are those that say so, in a line that `check --all` goes by.
grep -lE '\bfailure_s\b' tests/*/*.t | grep -vx tests/static/failure-times.t | sort > "$T/waits"
grep -lx 'TEST_TIMES=divided' tests/*/*.t | sort > "$T/divided"
check "some tests are divided" test -s "$T/divided"
check_output "" "those whose sentences follow the build are" comm -23 "$T/waits" "$T/divided"
done_testing
