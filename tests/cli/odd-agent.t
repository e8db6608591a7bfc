#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# An agent that is missing, is another program, is silent or breaks the protocol: mlaunch says which
# and why, and ends.
. "${0%/*}/../lib/test.sh"

odd() { ODD=$1 "$MLAUNCH" --agent "$SOURCE/tests/cli/odd-agent.py" -n 1 "${@:2}" -- true; }

check_error 125 'host localhost: cannot start /no-such-agent: No such file' "no agent" \
    "$MLAUNCH" --agent /no-such-agent -n 1 -- true
check_error 125 'host localhost: the agent ended with status 7' "it ends at once" odd gone
check_error 125 'host localhost: the agent ended with status 7' \
    "… where the caller ignores SIGCHLD" \
    env --ignore-signal=CHLD ODD=gone "$MLAUNCH" --agent "$SOURCE/tests/cli/odd-agent.py" -n 1 \
    -- true
check_error 125 'host localhost: the data received is not a message of this protocol' \
    "it prints something else" odd garbage
check_error 125 'host localhost: its mlaunch-agent is build 0{16}, this mlaunch is build' \
    "another build" odd build
check_error 125 "host localhost: its processor is vax, this machine's" "another processor" odd arch
check_error 125 'host localhost: its agent sent a message of type 21 out of turn' \
    "it speaks out of turn" odd early
check_error 125 'host localhost: no room here' "it refuses" odd refuses
check_error 125 'host localhost: the agent ended with status 8' \
    "it ends before it is ready" odd gone-later
check_error 125 'host localhost was lost: its agent speaks of rank 5 of 1' \
    "it speaks of a rank that there isn't" odd other-rank
check_error 125 'host localhost was lost: its agent sent a malformed EXITED' \
    "it sends nonsense" odd malformed
check_error 125 'host localhost was lost: its other half is gone' "it says that it is lost" odd lost
check_error 0 'host localhost: process 9 could not be ended: in uninterruptible sleep' \
    "it leaves a survivor" odd warns
check_match 'warning: host localhost: a warning' "$ERR" "its warnings are shown"
check_match '^out$' "$OUT" "its output too"
check_error 125 'host localhost: nothing was heard from its agent for 10 s' \
    "it says nothing" odd silent
check_error 3 'host localhost: its agent has not ended the ranks in time' \
    "it never ends its ranks" odd never-done --grace 1
check_match 'rank 0 on host localhost \(pid 1\) exited with status 3' "$ERR" \
    "the failure is named nevertheless"

done_testing
