#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# --trace: all ranks' calls in one file, which viewers' parsers accept, on one time axis although the
# hosts' clocks differ; and the probes for perf and bpftrace.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../lib/hosts.sh"
. "$SOURCE/tests/llm/npm.sh"
needs python3
hosts_up 2
R=$BUILD/tests/cli/recorder
export TMPDIR=$T

# The second host's clock is 1,000 s ahead.
cat > "$T/enter" << END
#!/bin/sh
host=\$1; shift
[ "\$host" = $H1 ] || set -- unshare --time --fork --kill-child --monotonic 1000 "\$@"
exec '$TEST_LIB/netns-hosts' exec "\$host" "\$@"
END
chmod +x "$T/enter"
check "a job on two hosts is traced" \
    "$MLAUNCH" --agent-command "$T/enter {host}" -H "$H1,$H2" -n 4 \
    --trace "$T/trace" --record "$T/record" -- "$R" well
# Each rank: 6 collective calls and 3 messages; rank 0 one more to rank 1. A sendrecv is two ends of
# arrows: 4, 4 and 1 in all.
check_output "10 10 9 9" "a trace has the right form, aligned clocks, and arrows that meet" \
    python3 "$SOURCE/tests/cli/trace_check.py" "$T/trace" 4 9
check "--record has the same clock" python3 "$SOURCE/tests/cli/one_clock.py" "$T/record"
check "a trace says beside each rank how well its clock is known" \
    grep -q '"process_labels","pid":3,"args":{"labels":"clock within [0-9.]* us"}' "$T/trace"

if npm_install "$BUILD/tests/cli/npm" @paulirish/trace_engine@0.0.65; then
    check_output "10 10 9 9" "the parser of Chrome's DevTools finds the same calls" \
        node "$SOURCE/tests/cli/trace_peer.mjs" "$BUILD/tests/cli/npm" "$T/trace"
else
    skip "the parser of Chrome's DevTools finds the same calls" "$NPM_WHY"
fi

# A rank that ends within a call; a restart; a job of one.
run "$MLAUNCH" -n 2 --restarts 1 --trace "$T/trace" -- "$R" killed
check_output "2010 2008" "a trace has calls that have not ended, of two runs" \
    python3 "$SOURCE/tests/cli/trace_check.py" "$T/trace" 2 2
check "a job that makes no call is traced" "$MLAUNCH" -n 2 --trace "$T/trace" -- true
check_match "^mlaunch: warning: no rank made a call of .*: $T/trace is empty\$" "$ERR" \
    "a job that makes no call is told of"
check_output "[]" "a job that makes no call has an empty trace" \
    json_show 'j["traceEvents"]' "$T/trace"

if grep -q '^#define HAVE_USDT 1' "$BUILD/config.h"; then
    readelf -n "$BUILD/runtime/mlaunch-runtime.so" > "$T/notes"
    for probe in call_begin call_end; do
        check "the probe mlaunch:$probe is in the library" \
            python3 "$SOURCE/tests/cli/probe_listed.py" \
            "$T/notes" "$probe"
    done
else
    skip "the probes are in the library" "this build has no <sys/sdt.h> (systemtap-sdt-dev)"
fi
done_testing
