#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# An agent that is missing, is another program, is silent or breaks the protocol: mlaunch says which
# and why, and ends.
TEST_TIER=quick
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

skip_emulated "qemu-user hides that posix_spawn fails" "no agent" ||
    check_error 125 'host localhost: cannot start /no-such-agent: No such file' "no agent" \
    "$MLAUNCH" --agent /no-such-agent -n 1 -- true
check_error 125 'host localhost: the agent ended with status 7' "it ends at once" odd gone
check_error 125 'host localhost: the agent was killed by signal 35$' \
    "a real-time signal, which has no name, kills it" odd real-time
check_error 125 'host localhost: the agent ended with status 7' \
    "… where the caller ignores SIGCHLD" \
    env --ignore-signal=CHLD ODD=gone "$MLAUNCH" --agent "$SOURCE/tests/cli/odd-agent.py" -n 1 \
    -- true
check_error 125 'host localhost: the data received is not a message of this protocol' \
    "it prints something else" odd garbage
check_error 125 'host localhost: its mlaunch-agent is build 0{16}, this mlaunch is build' \
    "another build" odd build
check_error 125 \
    'host localhost: its mlaunch-agent is build 0{16} for vax, this mlaunch is build .* from the same' \
    "another build for another processor" odd arch
check_error 125 'host localhost: its agent sent a message of type 21 out of turn' \
    "it speaks out of turn" odd early
check_error 125 'host localhost: no room here' "it refuses" odd refuses
check_error 125 'host localhost: the agent ended with status 8' "it ends before it is ready" odd gone-later
check_error 125 'host localhost was lost: its agent names rank 5 of 1' "it speaks of a rank that there isn't" odd other-rank
check_error 125 'host localhost was lost: its agent sent a malformed EXITED' "it sends nonsense" odd malformed
check_error 125 'host localhost was lost: its agent sent a malformed KILLED' "… or such a KILLED" \
    odd killed
check_error 125 'host localhost was lost: its agent sent a malformed FOLDED' "… or lines of other ranks" \
    odd folded
check_error 125 'host localhost was lost: its other half is gone' "it says that it is lost" odd lost
check_error 0 'host localhost: process 9 could not be ended: in uninterruptible sleep' \
    "it leaves a survivor" odd warns
check_match 'warning: host localhost: a warning' "$ERR" "its warnings are shown"
check_match '^out$' "$OUT" "its output too"

# Nothing that an agent says reaches the terminal as a control character, in 8 bits, as C1, or as a
# turn of the text's direction. LC_ALL=C: grep reads bytes.
CONTROLS=$'[\001-\010\013-\037\177]|\302[\200-\237]|\342\200[\252-\256]|\342\201[\246-\251]'
plain() { # WHAT WORDS: the words are there, and no control character in either stream
    [ -z "$2" ] || check_match "$2" "$ERR" "$1: it is shown"
    if cat "$OUT" "$ERR" | LC_ALL=C grep -qaE "$CONTROLS"; then
        fail "$1: no control character"
        od -c "$ERR" | tail -n 20 | sed 's/^/# /'
    else
        pass "$1: no control character"
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
check_match '^ *j\?\]0;title' "$OUT" "ps shows the job nevertheless"
run odd_asks hosts --probe
check_match 'd0\?\]0;title' "$OUT" "hosts --probe names the device"

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
        "$flood: more than its window"
    shows "… is an error" "$status" = 125
    shows "… and no more is kept" "$(stat -c %s "$T/read")" -le $((5 << 20))
done
check_error 125 'host localhost was lost: its agent sent OUTPUT of a stream that had ended' \
    "a stream that ends twice" odd ends-twice

# 20 MB of notes, and nothing reads standard error until they are sent.
export SENT=$T/sent
(wait_for '[ -e "$SENT" ]'; cat > "$T/read") < "$T/blocked" &
ODD=notes "$MLAUNCH" --agent "$SOURCE/tests/cli/odd-agent.py" -n 1 -- true 2> "$T/blocked" > "$OUT"
wait $!
check_match 'localhost: its agent says more than is read here' "$T/read" "notes are left out"
shows "… all but a few MB" "$(stat -c %s "$T/read")" -le 6000000

# With -vv each frame is a line.
rm "$SENT"
(wait_for '[ -e "$SENT" ]'; cat > "$T/read") < "$T/blocked" &
ODD=starts "$MLAUNCH" -vv --agent "$SOURCE/tests/cli/odd-agent.py" -n 1 -- true 2> "$T/blocked" > "$OUT"
wait $!
check_match 'some lines of -v are left out' "$T/read" "lines of -vv are left out"
shows "… all but 1 MiB" "$(stat -c %s "$T/read")" -le 2000000

# --events also has a text that had to be cut inside a character.
while read -r way event member; do
    run odd "long-$way" --events "$T/events" < /dev/null
    check_match "\"event\":\"$event\".*\"$member\":\"é+[?]\"" "$T/events" \
        "--events: a long text, $way"
done << 'EOF'
refuses lost text
error exited error
lost lost text
EOF

# An ANSWER of another form is not one that says that there is nothing.
asks() { ODD=$1 "$MLAUNCH" "${@:2}" --agent "$SOURCE/tests/cli/odd-agent.py"; }
while read -r command member said; do
    check_error 125 "host localhost: its agent sent a malformed ANSWER: \"$member\" is not a" \
        "mlaunch $command: $said" asks "$said" "$command"
done << 'EOF'
ps jobs {}
ps jobs {"jobs": {"a": 1}, "orphans": []}
ps jobs {"jobs": [1], "orphans": []}
ps orphans {"jobs": [], "orphans": "none"}
clean removed {"left": []}
clean left {"removed": [], "left": [[]]}
EOF
check_error 125 'malformed ANSWER: "found" is not a string' "mlaunch kill: a number" \
    asks '{"found": 1}' kill JOB
check "mlaunch ps: a good one" asks '{"jobs": [], "orphans": []}' ps

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
shows "mlaunch ps -v: 30,000 jobs" "$status" = 0
check_match '^job 29999:' "$OUT" "… and each is shown"
shows "… in less than 30 times the time of 3,000 ($used ms and $few ms of a processor)" \
    "$used" -lt $((few * 30))

# Every step of an agent has an end, though it answers PING.
slow_check 125 'host localhost: nothing was heard from its agent for 10 s' "it says nothing" silent
slow_check 125 'host localhost: its agent has not prepared the job within 10 s' \
    "it is never ready" never-ready
slow_check 125 'localhost was lost: its ranks have ended, but its agent has not said within 11 s' \
    "it is never done" no-done
slow_check 3 'host localhost: its agent has not ended the ranks in time' "it never ends its ranks" \
    never-done
check_match 'rank 0 on host localhost \(pid 1\) exited with status 3' "$ERR" \
    "the failure is named nevertheless"

done_testing
