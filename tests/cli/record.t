#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What ranks record of their calls: after a failure, where they have parted; and --record.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../lib/hosts.sh"
hosts_up 2
R=$BUILD/tests/cli/recorder
net=(--ssh-config "$NETNS_SSH_CONFIG" -H "$H1,$H2")
# line PATTERN NAME: a line of standard error matches.
line() { if grep -qE "$1" "$ERR"; then pass "$2"; else fail "$2" "$(cat "$ERR")"; fi; }

# --- after a failure ---

# said_by REGEX COMMAND…: standard error has such a line at last. A rank that is about to begin a
# call may be kept from it by a busy machine until another one has failed, and is then told of as
# one that has not begun: hence five attempts.
said_by() {
    local i
    for i in 1 2 3 4 5; do
        rm -f "$T/events"
        run "${@:2}"
        grep -qE "$1" "$ERR" && return
    done
}

sum='all_reduce of 1000 float32 \(sum\)'
differ="^mlaunch: the ranks' calls differ from call 4 of the world on: rank 2 made broadcast of 4000 bytes from rank 2, but ranks 0,1,3 $sum\$"
said_by "$differ" "$MLAUNCH" "${net[@]}" -n 4 --events "$T/events" -- "$R" differ
line "$differ" \
    "the first call that differs is named, on two hosts"
check "--events has the first call that differs" \
    python3 "$SOURCE/tests/cli/diverged_event.py" "$T/events"

late="^mlaunch: rank 1 had ended 3 calls of the world, while ranks 0,2 were in call 4, $sum\$"
for seconds in 1 4 16 64; do
    run "$MLAUNCH" --timeout "$seconds" --grace 1 -n 3 -- "$R" late
    grep -qE "$late" "$ERR" && break
done
line "$late" \
    "--timeout says who was behind"
killed="^mlaunch: rank 1 had ended 1003 calls of the world, while ranks 0,2 were in call 1004, $sum\$"
said_by "$killed" "$MLAUNCH" -n 3 -- "$R" killed
line "$killed" \
    "the record outlives SIGKILL"
if sed '0,/ had ended 1003 /d' "$ERR" | grep -q '^mlaunch: rank 1 on host .* was killed'; then
    pass "the verdict comes after the record"
else
    fail "the verdict comes after the record" "$(cat "$ERR")"
fi
run env MLAUNCH_RECORD=off "$MLAUNCH" -n 3 -- "$R" killed
check "nothing is recorded with MLAUNCH_RECORD=off" [ "$(grep -c 'had ended' "$ERR")" = 0 ]
run "$MLAUNCH" -n 3 -- sh -c '[ "$RANK" != 1 ]'
check "programs that make no call have no line of calls" \
    [ "$(grep -vc '^mlaunch: rank 1 ' "$ERR")" = 0 ]
run "$MLAUNCH" -n 3 -- "$R" well
check "a job that ends well has no line of calls" [ ! -s "$ERR" ]

# --- --record ---

run "$MLAUNCH" "${net[@]}" -n 4 --record "$T/record" -- "$R" well
check "--record has each call of each rank" python3 - "$T/record" "$H1" "$H2" << 'END'
import json, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
for rank in range(4):
    mine = sorted((c for c in lines if c["rank"] == rank), key=lambda c: c["start_ns"])
    names = [c["name"] for c in mine]
    want = ["all_reduce"] * 2 + ["broadcast", "split", "all_gather", "sendrecv"]
    assert names[:6] == want and names[-1] == "barrier", names
    assert sorted(names[6:8]) == ["receive", "send"], names
    assert names[8:-1] == [["send"], ["receive"], [], []][rank], names
    first, root, half = mine[0], mine[2], mine[4]
    assert first["call"] == 1 and first["type"] == "float32" and first["op"] == "sum", first
    assert first["bytes"] == 4000 and first["group"] == 0 and first["generation"] == 1, first
    assert root["root"] == 1 and half["group"] > 0 and half["call"] == 1, (root, half)
    assert first["host"] == sys.argv[2 + rank // 2], first
    for c, d in zip(mine, mine[1:]):
        assert 0 < c["start_ns"] < c["end_ns"] and "failed" not in c, c
        assert d["name"] in ("receive", "send") or c["end_ns"] <= d["start_ns"], (c, d)
    both = mine[5]
    assert both["to"] == (rank + 1) % 4 and both["from"] == (rank + 3) % 4, both
    assert both["sent"] == both["received"] == 8, both
[tag] = [c for c in lines if c["name"] == "receive" and "tag" in c]
assert tag["from"] == 0 and tag["tag"] == 7 and tag["received"] == 12, tag
END

# A rank that is slow to begin its call when the other dies has not recorded it: then once more.
cat > "$T/restarts.py" << 'END'
import json, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
for restart in 0, 1:
    calls = [[c for c in lines if c["rank"] == r and c.get("restart", 0) == restart] for r in (0, 1)]
    assert [len(c) for c in calls] == [1005, 1004], [len(c) for c in calls]
    assert calls[0][-1].get("failed") or "end_ns" not in calls[0][-1], calls[0][-1]
    assert "end_ns" in calls[1][-1], (calls[0][-1], calls[1][-1])
END
for _ in {1..10}; do
    run "$MLAUNCH" -n 2 --restarts 1 --record "$T/record" -- "$R" killed
    python3 "$T/restarts.py" "$T/record" 2> /dev/null && break
done
check "--record has the calls of a rank that is killed, and of each restart" \
    python3 "$T/restarts.py" "$T/record"
run "$MLAUNCH" -n 2 --record "$T/record" -- "$R" twice
check "--record has the calls of a rank that joins again" \
    [ "$(grep -c '"generation":2' "$T/record")" = 6 ]
check_status 125 "a file that cannot be written is an error before anything starts" \
    "$MLAUNCH" --record /nonexistent/file -- touch "$T/started"
line '^mlaunch: error: --record: cannot write /nonexistent/file: No such file or directory$' \
    "the error of a file that cannot be written has its reason"
check "nothing runs if the record cannot be written" [ ! -e "$T/started" ]
run "$MLAUNCH" -n 2 --record /dev/full -- "$R" well
line '^mlaunch: warning: --record: cannot write /dev/full: No space left on device$' "a full disk is named"
check_status 0 "a full disk of the record is no failure of the job" \
    "$MLAUNCH" -n 2 --record /dev/full -- "$R" well
none='no rank made a call of mlaunch.s library \(MPI.s and gloo.s calls are not seen\)'
check_status 0 "programs that make no call end well" "$MLAUNCH" -n 2 --record "$T/record" -- true
line "^mlaunch: warning: $none: $T/record is empty\$" \
    "the empty record of programs that make no call is named"
check_status 127 "a job that does not start keeps its status" \
    "$MLAUNCH" -n 2 --record "$T/record" -- ./absent
check "a job that does not start has no empty record" [ "$(grep -cE "$none" "$ERR")" = 0 ]
run "$MLAUNCH" --events "$T/events" -n 2 -- "$R" well
id=$(sed -n '1s/.*"job":"\([^"]*\)".*/\1/p' "$T/events")
check_output "" "nothing is left in /dev/shm" find /dev/shm -name "mlaunch-$(id -u)-${id:?}*"
done_testing
