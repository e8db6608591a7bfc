#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# --pty: a rank with a terminal of its own, with and without a terminal at mlaunch; its size, keys
# and signals; the other ranks' lines; the modes of mlaunch's terminal, however the job ends.
TEST_TIER=full
. "${0%/*}/../lib/test.sh"
. "${0%/*}/job.sh"

terminal() { "$SOURCE/tests/cli/on_terminal.py" "$@"; }
job_input() { job "$@" < "$T/in"; }

# Options.
check_error 125 "--pty=2: the job's ranks are 0 to 1" \
    "--pty of a rank that there isn't is refused" "$MLAUNCH" -n 2 --pty=2 true
check_error 125 "'x' is not a rank" "--pty of a word is refused" "$MLAUNCH" --pty=x true
check_error 125 "--pty gives standard input to rank 1: leave --stdin all out" \
    "--pty with --stdin all is refused" "$MLAUNCH" -n 2 --pty=1 --stdin all true
run "$MLAUNCH" --dry-run -n 2 --pty=1 true
check_match '^terminal: rank 1$' "$OUT" "--dry-run says which rank gets the terminal"

# The rank has one even if mlaunch has none. Its output is as it would be on a screen.
: > "$T/in"
check_output $'/dev/pts/24 80\r' \
    "a rank has a terminal of 24 lines and 80 columns without one here" \
    job_input --pty -- sh -c 'printf "%.9s" "$(tty)"; stty size'
check_output $'yes\r' "the rank's three streams are a terminal, which controls it" \
    job_input --pty -- sh -c '[ -t 0 ] && [ -t 1 ] && [ -t 2 ] && : < /dev/tty && echo yes'
check_output "1 no" "other ranks have no terminal with --pty=1" sh -c \
    '"$@" --pty=1 -n 2 --output raw -- sh -c '\''[ -t 1 ] || echo $MLAUNCH_RANK no'\'' | sed "s/^0/1/"' \
    - "${JOB[@]}"
printf 'one\ntwo' > "$T/in"
keep job_input --pty -- sh -c 'stty -echo; echo ready; cat; echo " over"'
check_match 'two over' "$T/out" "the end of the input is the end of a line's without a terminal"
job_status 3 "the status of a rank with a terminal is the job's" --pty -- sh -c 'exit 3'
seq 20000 > "$T/numbers"
keep job --pty -- cat "$T/numbers"
check_output "$(cksum < "$T/numbers")" "all that a rank writes before its end arrives" sh -c \
    'tr -d "\r" < "$0" | cksum' "$T/out"
keep job -n 2 --pty -- sh -c 'if [ $MLAUNCH_RANK = 1 ]; then echo other; echo two >&2; else
    printf "a\033[K"; fi'
check_output "[1] other" "other ranks keep labels and streams" grep -F '[1] other' "$T/out"
check_no_match '\[0\]' "$T/out" "the rank with the terminal has no label"

# On a terminal: the keys go to the rank.
keep terminal 'raw
wait >>>
type print(6 * 7)\r
wait 42
wait >>>
type import time\r
wait >>>
type print("begun"); time.sleep(1000)\r
wait begun\r\n
type \x03
wait KeyboardInterrupt
wait >>>
type exit(5)\r
modes' "${JOB[@]}" --pty -- env TERM=dumb python3 -q
job_judge 5 "Ctrl-C interrupts what python3 runs, not the job" "on a terminal"

keep terminal 'size 33 101
wait 33 101
size 44 102
wait 44 102
modes' "${JOB[@]}" --pty -- python3 "$SOURCE/tests/cli/print_sizes.py" 44
job_judge 0 "the terminal's size is that of mlaunch's, also when it changes" "on a terminal"

keep terminal 'raw
wait first
touch '"$T"'/go
wait [1] second\r\n
wait [1] third\r\n
touch '"$T"'/gone
modes' "${JOB[@]}" -n 2 --pty -- sh -c 'if [ $MLAUNCH_RANK = 0 ]; then printf "first> "
        until [ -e "$0/gone" ]; do sleep 0.02; done
    else until [ -e "$0/go" ]; do sleep 0.02; done; echo second; echo third; fi' "$T"
job_judge 0 "another rank's lines are on their own, with a label" "on a terminal"
# On a busy machine a line about connecting was there before, and has been removed.
check_match $'(^|\033\\[K)first> .$' "$T/out" "another rank's lines are not behind a prompt"

fails_eight_times() {
    for i in 1 2 3 4 5 6 7 8; do
        "${JOB[@]}" --pty -n 1 -- sh -c 'seq 3000; exit 4' < /dev/null > "$T/out" 2>&1
        [ $? = 4 ] || return 1
    done
}
check "a failure is seen behind output that the agent has not read yet" fails_eight_times

# Job control works in the rank's shell; Ctrl-Z stops its program only.
keep terminal 'raw
wait ready$
type sh -c "echo begun | tr b B; exec sleep 1000"\r
wait Begun
type \x1a
wait Stopped
wait ready$
type kill %1; wait -f %1; exit 4\r
modes' "${JOB[@]}" --pty -x PS1='ready$ ' -- bash --norc -i
job_judge 4 "job control works in the rank's shell" "on a terminal"
check_match 'Stopped' "$T/out" "Ctrl-Z stops the shell's program"

# However the job ends, the terminal has its modes again.
echo 'trap "" HUP; echo ready; while :; do sleep 0.1; done' > "$T/stubborn"
ends() { # NAME STATUS SIGNAL ARGUMENT…
    local name=$1 expected=$2 signal=$3
    shift 3
    keep terminal "raw
wait ready
signal $signal
modes" "${JOB[@]}" --pty "$@"
    job_judge "$expected" "$name: the terminal's modes are restored" "on a terminal"
}
ends SIGTERM 143 SIGTERM -- sh -c 'echo ready; exec sleep 1000'
ends SIGINT 130 SIGINT -- sh -c 'echo ready; exec sleep 1000'
ends SIGHUP 129 SIGHUP -- sh -c 'echo ready; exec sleep 1000'
[ "$SANITIZE" != no ] || # which ends a program with a status of its own
    ends "a crash" 139 SIGSEGV -- sh -c 'echo ready; exec sleep 1000'
ends "a shell at SIGTERM" 143 SIGTERM --grace 100 -x PS1='ready$ ' -- bash --norc -i
ends "a rank that ignores SIGHUP" 143 SIGTERM --grace 1 -- sh "$T/stubborn"
keep terminal 'raw
wait ready
type \x04
modes' "${JOB[@]}" --pty -n 2 -- sh -c '[ $MLAUNCH_RANK = 1 ] && exec sleep 1000
    echo ready; cat; exit 7'
job_judge 7 "the terminal's modes are restored after a failure" "on a terminal"

# SIGTSTP: the shell has its own modes meanwhile; in the foreground the rank has the keys again.
keep terminal 'raw
wait ready
touch '"$T"'/stop
wait stopped 148
modes
touch '"$T"'/fg
raw
type x\r
wait got x
wait ended 0
modes' bash --norc -c 'set -m; T=$1; shift
    (until [ -e "$T/stop" ]; do sleep 0.02; done; kill -TSTP "$(cat "$T/pid")") &
    sh -c "echo \$\$ > $T/pid; exec \"\$@\"" - "$@"; echo stopped $?
    until [ -e "$T/fg" ]; do sleep 0.02; done; fg; echo ended $?' \
    - "$T" "${JOB[@]}" --pty -- sh -c 'echo ready; read -r x; echo "got $x"'
job_judge 0 "the rank has its terminal again after SIGTSTP and fg" "on a terminal"

done_testing
