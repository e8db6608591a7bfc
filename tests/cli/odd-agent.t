#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# An agent that is missing, is another program, is silent or breaks the protocol: mlaunch says which
# and why, and ends.
TEST_TIER=quick
TEST_ALONE=1 # its clean takes the entries of all mlaunch processes that were killed
. "${0%/*}/../lib/test.sh"

# shows WHAT EXPRESSION…: as `test` takes it.
shows() { if [ "${@:2}" ]; then pass "$1"; else fail "$1" "${*:2}"; fi; }
odd() { ODD=$1 "$MLAUNCH" --agent "$SOURCE/tests/cli/odd-agent.py" -n 1 "${@:2}" -- true; }

# Agents for which mlaunch waits 10 s and more run beside all others.
slow_start() { # WAY [OPTION…]
    odd "$@" > "$T/$1.out" 2> "$T/$1.err" < /dev/null &
    slow[$1]=$!
}
slow_check() { # STATUS REGEX NAME WAY
    local ended
    wait "${slow[$4]}"
    ended=$?
    # shellcheck disable=SC2016 # for the inner shell
    check_error "$1" "$2" "$3" sh -c 'cat "$1" >&2; exit "$2"' sh "$T/$4.err" "$ended"
}
declare -A slow
slow_start silent
slow_start never-done --grace 1
slow_start never-ready --init-timeout 1
slow_start no-done --grace 1

skip_emulated "qemu-user hides that posix_spawn fails" "an agent that is not there is named" ||
    check_error 125 'host localhost: cannot start /no-such-agent: No such file' \
        "an agent that is not there is named" "$MLAUNCH" --agent /no-such-agent -n 1 -- true
check_error 125 'host localhost: the agent ended with status 7' \
    "an agent that ends at once is an error" odd gone
check_error 125 'host localhost: the agent was killed by signal 35$' \
    "an agent is named that a real-time signal has killed, which has no name" odd real-time
check_error 125 'host localhost: the agent ended with status 7' \
    "an agent that ends at once is an error where the caller ignores SIGCHLD" \
    env --ignore-signal=CHLD ODD=gone "$MLAUNCH" --agent "$SOURCE/tests/cli/odd-agent.py" -n 1 \
    -- true
check_error 125 'host localhost: the data received is not a message of this protocol' \
    "an agent that prints something else is an error" odd garbage
check_error 125 'host localhost: its mlaunch-agent is build 0{16}, this mlaunch is build' \
    "an agent of another build is an error" odd build
check_error 125 \
    'host localhost: its mlaunch-agent is build 0{16} for vax, this mlaunch is build .* from the same' \
    "an agent of another build for another processor is an error" odd arch
check_error 125 'host localhost: its agent sent a message of type 21 out of turn' \
    "an agent that speaks out of turn is an error" odd early
check_error 125 'host localhost: no room here' "an agent that refuses is an error" odd refuses
check_error 125 'host localhost: the agent ended with status 8' \
    "an agent that ends before it is ready is an error" odd gone-later
check_error 125 'host localhost was lost: its agent names rank 5 of 1' \
    "an agent that speaks of a rank that isn't there is lost" odd other-rank
check_error 125 'host localhost was lost: its agent sent a malformed EXITED' \
    "an agent that sends nonsense in EXITED is lost" odd malformed
check_error 125 'host localhost was lost: its agent sent a malformed KILLED' \
    "an agent that sends nonsense in KILLED is lost" odd killed
check_error 125 'host localhost was lost: its agent sent a malformed FOLDED' \
    "an agent that sends lines of other ranks is lost" odd folded
check_error 125 'host localhost was lost: its other half is gone' \
    "an agent may say that it is lost" odd lost
check_error 0 'host localhost: process 9 could not be ended: in uninterruptible sleep' \
    "an agent that leaves a survivor is no failure" odd warns
check_match 'warning: host localhost: a warning' "$ERR" "an agent's warnings are shown"
check_match '^out$' "$OUT" "the ranks' output is shown"

# Nothing that an agent says reaches the terminal as a control character, in 8 bits, as C1, or as a
# turn of the text's direction. LC_ALL=C: grep reads bytes.
CONTROLS=$'[\001-\010\013-\037\177]|\302[\200-\237]|\342\200[\252-\256]|\342\201[\246-\251]'
plain() { # WHAT WORDS: the words are there, and no control character in either stream
    [ -z "$2" ] || check_match "$2" "$ERR" "$1: the agent's words are shown"
    if cat "$OUT" "$ERR" | LC_ALL=C grep -qaE "$CONTROLS"; then
        fail "$1: no control character is shown"
        od -c "$ERR" | tail -n 20 | sed 's/^/# /'
    else
        pass "$1: no control character is shown"
    fi
}
for way in 'build its mlaunch-agent is build \?\]0;title' 'refuses no room\?\]0' \
    'lost its other half\?\]0' 'aborts out of tea\?\]0' 'error no such\?\]0' \
    'core core\?\]0' ; do
    run odd "escapes-${way%% *}"
    plain "${way%% *}" "${way#* }"
done
run odd escapes-last-words
check_match 'a note\?\]0;title\?\?\[2J\?2J' "$ERR" "a note is shown without control characters"
check_match $'^words \033\\[2J' "$ERR" "the ranks' own output is as it was"
odd_asks() { ODD=escapes-answer "$MLAUNCH" "$@" --agent "$SOURCE/tests/cli/odd-agent.py"; }
for command in 'ps' 'ps -v' 'ps --json' 'clean' 'clean --json' 'kill JOB' 'hosts --probe'; do
    read -ra words <<< "$command"
    run odd_asks "${words[@]}"
    plain "$command" ''
done
run odd_asks ps
check_match '^ *j\?\]0;title' "$OUT" "ps shows a job with control characters in its name"
run odd_asks hosts --probe
check_match 'd0\?\]0;title' "$OUT" \
    "hosts --probe names a device with control characters in its name"

# Nothing reads standard output until mlaunch has noticed: the agent never gets CREDIT.
mkfifo "$T/blocked"
for flood in floods floods-bytes; do
    : > "$T/events"
    (wait_for 'grep -q "\"lost\"" "$T/events"'; cat > "$T/read") < "$T/blocked" &
    ODD=$flood "$MLAUNCH" --events "$T/events" --agent "$SOURCE/tests/cli/odd-agent.py" -n 1 -- \
        true > "$T/blocked" 2> "$ERR"
    status=$?
    wait $!
    check_match 'localhost was lost: its agent sent more OUTPUT than it may' "$ERR" \
        "$flood: an agent that sends more than its window is lost"
    shows "$flood: the lost agent is status 125" "$status" = 125
    shows "$flood: no more than 5 MiB is kept" "$(stat -c %s "$T/read")" -le $((5 << 20))
done
check_error 125 'host localhost was lost: its agent sent OUTPUT of a stream that had ended' \
    "an agent that ends a stream twice is lost" odd ends-twice

# 20 MB of notes, and nothing reads standard error until they are sent.
export SENT=$T/sent
(wait_for '[ -e "$SENT" ]'; cat > "$T/read") < "$T/blocked" &
ODD=notes "$MLAUNCH" --agent "$SOURCE/tests/cli/odd-agent.py" -n 1 -- true 2> "$T/blocked" > "$OUT"
wait $!
check_match 'localhost: its agent says more than is read here' "$T/read" \
    "notes that nobody reads are left out"
shows "all but a few MB of notes are left out" "$(stat -c %s "$T/read")" -le 6000000

# With -vv each frame is a line.
rm "$SENT"
(wait_for '[ -e "$SENT" ]'; cat > "$T/read") < "$T/blocked" &
ODD=starts "$MLAUNCH" -vv --agent "$SOURCE/tests/cli/odd-agent.py" -n 1 -- true 2> "$T/blocked" > "$OUT"
wait $!
check_match 'some lines of -v are left out' "$T/read" "lines of -vv that nobody reads are left out"
shows "all but 1 MiB of lines of -vv are left out" "$(stat -c %s "$T/read")" -le 2000000

# --events also has a text that had to be cut inside a character.
while read -r way event member; do
    run odd "long-$way" --events "$T/events" < /dev/null
    check_match "\"event\":\"$event\".*\"$member\":\"é+[?]\"" "$T/events" \
        "--events has a long text of an agent that $way"
done << 'EOF'
refuses lost text
error exited error
lost lost text
EOF

# An ANSWER of another form is not one that says that there is nothing.
asks() { ODD=$1 "$MLAUNCH" "${@:2}" --agent "$SOURCE/tests/cli/odd-agent.py"; }
while read -r command member said; do
    check_error 125 "host localhost: its agent sent a malformed ANSWER: \"$member\" is not a" \
        "mlaunch $command refuses the answer $said" asks "$said" "$command"
done << 'EOF'
ps jobs {}
ps jobs {"jobs": {"a": 1}, "orphans": []}
ps jobs {"jobs": [1], "orphans": []}
ps orphans {"jobs": [], "orphans": "none"}
clean removed {"left": []}
clean left {"removed": [], "left": [[]]}
EOF
check_error 125 'malformed ANSWER: "found" is not a string' \
    "mlaunch kill refuses an answer with a number" asks '{"found": 1}' kill JOB
check "mlaunch ps takes a good answer" asks '{"jobs": [], "orphans": []}' ps

# The time grows with the jobs, not with their square. many JOBS: sets $used to the milliseconds of
# a processor that all processes needed.
many() {
    local TIMEFORMAT='%U %S'
    export ODD=many-jobs JOBS=$1
    { time run "$MLAUNCH" ps -v --agent "$SOURCE/tests/cli/odd-agent.py"; } 2> "$T/used"
    used=$(awk '{ print int(($1 + $2) * 1000) }' "$T/used")
    unset ODD JOBS
}
many 3000
few=$used
many 30000
shows "mlaunch ps -v takes 30,000 jobs" "$status" = 0
check_match '^job 29999:' "$OUT" "mlaunch ps -v shows each of 30,000 jobs"
shows \
    "30,000 jobs take less than 30 times the time of 3,000 ($used ms and $few ms of a processor)" \
    "$used" -lt $((few * 30))

# Every step of an agent has an end, though it answers PING.
slow_check 125 'host localhost: nothing was heard from its agent for 10 s' \
    "an agent that says nothing is an error" silent
slow_check 125 'host localhost: its agent has not prepared the job within 10 s' \
    "an agent that is never ready is an error" never-ready
slow_check 125 'localhost was lost: its ranks have ended, but its agent has not said within 11 s' \
    "an agent that is never done is lost" no-done
slow_check 3 'host localhost: its agent has not ended the ranks in time' \
    "an agent that never ends its ranks keeps the rank's status" never-done
check_match 'rank 0 on host localhost \(pid 1\) exited with status 3' "$ERR" \
    "the failed rank of an agent that never ends is named"

done_testing
