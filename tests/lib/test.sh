# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# test.sh: what every *.t begins with:
#
#     #!/usr/bin/env bash
#     # SPDX-License-Identifier: MIT
#     # What is shown here, and the expected end.
#     TEST_LIMIT=600                               # seconds, which end a hang; default 300
#     . "${0%/*}/../lib/test.sh"
#     check "two ranks start" "$MLAUNCH" -n 2 -- true
#     check_status 3 "the status is the rank's" "$MLAUNCH" -- sh -c 'exit 3'
#     check_output "hello" "output comes through" "$MLAUNCH" -- echo hello
#     done_testing
#
# By hand: BUILD=/path/to/build tests/cli/some.t. A file that takes longer than its limit, or leaves
# processes behind, fails with a sentence (lib/limit); limits are longer with a sanitizer and for
# check-long.
#
# A file that waits for whole failure times (common/failure_times.h) says TEST_TIMES=divided before
# this file is read. In `check --all` it then uses the build that divides them, which
# MLAUNCH_TEST_DIVIDED names, and says so; elsewhere it waits for the times that users have.
# `failure_s 10` is what a sentence of the build has for 10 s.
#
# Here for use: $SOURCE, $BUILD (absolute), $MLAUNCH, $AGENT, $SANITIZE (no, or a list), $T (a
# private directory, removed at the end), $SHORT (another, or the same: its path is short whatever
# $TMPDIR is), $OUT, $ERR and $status (files and status of the last command that a check ran),
# is_long (true in check-long), in_part, has_time, must and json_show (below), STRANGER (see below).
# A file asks for each program that neither the base system nor ./bootstrap check brings, by `needs`
# or is_here (programs.sh), and lib/programs.list lists them all.
set -u

TEST_LIB=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
if [ -z "${MLAUNCH_TEST_MARK:-}" ]; then
    exec "$TEST_LIB/limit" "${TEST_LIMIT:-300}" "$BASH" "$0" "$@"
fi

SOURCE=${SOURCE:-${TEST_LIB%/tests/lib}}
if [ -z "${BUILD:-}" ]; then
    if [ -e ./config.status ]; then BUILD=$PWD; else BUILD=$SOURCE/build; fi
fi
if [ -n "${TEST_TIMES:-}" ] && [ -n "${MLAUNCH_TEST_DIVIDED:-}" ] && [ "${SANITIZE:-no}" = no ]; then
    BUILD=$MLAUNCH_TEST_DIVIDED
fi
[ -e "$BUILD/config.status" ] || { echo "Bail out! no build in $BUILD: set BUILD"; exit 1; }
FAILURE_DIVISOR=$(sed -n 's/^#define FAILURE_TIMES_DIVISOR //p' "$BUILD/config.h")
[ "$FAILURE_DIVISOR" = 1 ] || echo "# failure times divided by $FAILURE_DIVISOR, by $BUILD"
failure_s() { awk "BEGIN { print $1 / $FAILURE_DIVISOR }"; }
if [ -z "${SANITIZE:-}" ]; then
    SANITIZE=$(sed -n 's/^#define SANITIZE "\(.*\)"/\1/p' "$BUILD/config.h")
    SANITIZE=${SANITIZE:-no}
fi
CC=${CC:-cc}
MLAUNCH=$BUILD/launcher/mlaunch
AGENT=$BUILD/launcher/agent/mlaunch-agent
export SOURCE BUILD SANITIZE CC MLAUNCH AGENT

# For tests that look at all jobs of this machine: TEST_ALONE=1 before this file is read gives a
# /tmp of their own to root's, so that the jobs of tests that run beside them are not among those.
if [ -n "${TEST_ALONE:-}" ] && [ "${TEST_ALONE_PID:-}" != $$ ] && unshare --mount true 2> /dev/null; then
    TEST_ALONE_PID=$$ exec unshare --mount sh -c '"$0" /tmp mode=1777 && exec "$@"' \
        "$TEST_LIB/cover" "$BASH" "$0" "$@"
fi

T=$(mktemp -d "${TMPDIR:-/tmp}/mlaunch-test.XXXXXX") || exit 1
unset TMPDIR # the jobs of tests are in /tmp
SHORT=$T # for sockets, whose paths have at most 107 bytes, and for what is shown shortened
[ "${#T}" -le 60 ] || SHORT=$(mktemp -d /tmp/mlaunch-test.XXXXXX) || exit 1
mkfifo "$T/.nap" || exit 1 # for nap: nothing comes from it
OUT=$T/.out
ERR=$T/.err
: > "$OUT"
: > "$ERR"
status=0
TEST_COUNT=0
TEST_FAILED=0
TEST_DONE=
TEST_CLEANUP=()

# Neither the caller's configuration and logs nor what an outer launcher set may reach a test.
# LC_ALL: messages are compared.
export XDG_CONFIG_HOME="$T/.config" XDG_STATE_HOME="$T/.state" LC_ALL=C.UTF-8
while IFS= read -r TEST_NAME; do unset "$TEST_NAME"; done < <(compgen -e |
    grep -E '^(MLAUNCH_OPT_|MLAUNCH_(ALGO|RECORD|STALL)$)')

# Options for ranks that are other people's programs and call the library, like python3. In a
# sanitized build the sanitizer's runtime must be loaded before such a program, whose own leaks are
# ignored.
#     check "python" "$MLAUNCH" -n 2 "${STRANGER[@]}" -- python3 x.py
# shellcheck disable=SC2034
case $SANITIZE in
no) STRANGER=() ;;
*address*)
    STRANGER=(-x "LD_PRELOAD=$($CC -print-file-name=libasan.so)" -x \
        "ASAN_OPTIONS=detect_leaks=0") ;;
*thread*)
    STRANGER=(-x "LD_PRELOAD=$($CC -print-file-name=libtsan.so)" -x \
        "TSAN_OPTIONS=halt_on_error=1:suppressions=$TEST_LIB/strangers.supp") ;;
*undefined*) STRANGER=(-x "LD_PRELOAD=$($CC -print-file-name=libubsan.so)") ;;
*) STRANGER=() ;;
esac
HANG_SECONDS=60
[ "$SANITIZE" = no ] || HANG_SECONDS=180
export UBSAN_OPTIONS=print_stacktrace=1 TSAN_OPTIONS="${TSAN_OPTIONS:-halt_on_error=1}"

# at_exit COMMAND…: run at the end whatever happens, last one first.
at_exit() { TEST_CLEANUP=("$(printf '%q ' "$@")" "${TEST_CLEANUP[@]}"); }

test_end() {
    local c code=$?
    trap - EXIT
    # A signal can reach a child between its fork and the moment bash takes the traps off it.
    [ "$BASHPID" = "$$" ] || exit "$code"
    for c in "${TEST_CLEANUP[@]}"; do eval "$c"; done
    if [ -z "$TEST_DONE" ]; then
        echo "Bail out! ended before done_testing, status $code"
        [ "$code" -ne 0 ] || code=1
    fi
    rm -rf "$T" "$SHORT"
    exit "$code"
}
trap test_end EXIT
trap 'exit 143' TERM
trap 'exit 130' INT

# shellcheck source=SCRIPTDIR/programs.sh
. "$TEST_LIB/programs.sh"

diag() { printf '%s\n' "$*" | sed 's/^/# /'; }
diag_file() { sed 's/^/#   /' "$1" | tail -n 40; }
is_long() { [ -n "${MLAUNCH_TEST_LONG:-}" ]; }
# in_part NUMBER: whether that one of many things, from 0 on, belongs to the part of a long form
# that is run (MLAUNCH_TEST_PART=K/N; all do if it is not set). The head says TEST_PARTS=N.
in_part() {
    local part=${MLAUNCH_TEST_PART:-1/1}
    [ $(($1 % ${part#*/})) -eq $((${part%/*} - 1)) ]
}
# has_time: whether a long form that can be of any length goes on; in a turn it has
# MLAUNCH_TEST_SECONDS, from the file's beginning.
has_time() { [ -z "${MLAUNCH_TEST_SECONDS:-}" ] || [ "$SECONDS" -lt "$MLAUNCH_TEST_SECONDS" ]; }

pass() { echo "ok $((TEST_COUNT += 1)) - ${1//#/}"; }
# fail NAME [TEXT]
fail() {
    echo "not ok $((TEST_COUNT += 1)) - ${1//#/}"
    TEST_FAILED=$((TEST_FAILED + 1))
    [ $# -lt 2 ] || diag "$2"
}
# skip NAME REASON
skip() { echo "ok $((TEST_COUNT += 1)) - ${1//#/} # SKIP $2"; }
# skip_all REASON: the whole file; before any check.
skip_all() {
    echo "1..0 # SKIP $1"
    TEST_DONE=1
    exit 0
}
# needs PROGRAM…: skips the whole file where one of them is missing.
needs() { is_here "$@" || skip_all "$LACKS"; }
done_testing() {
    echo "1..$TEST_COUNT"
    TEST_DONE=1
    [ "$TEST_FAILED" -eq 0 ]
    exit
}

# must COMMAND…: what the checks rest on, like a mount or a kill; the file ends here if it fails.
must() {
    "$@" && return 0
    echo "Bail out! status $?: $*"
    exit 1
}

# json_show EXPRESSION [FILE [WORD…]]: what a Python expression makes of JSON (json_show.py).
json_show() { python3 "$TEST_LIB/json_show.py" "$@"; }

# run COMMAND…: sets $status, fills $OUT and $ERR.
run() {
    "$@" > "$OUT" 2> "$ERR"
    status=$?
}
# Prints what the last `run` did.
diag_run() {
    diag "command: $*"
    diag "status $status; stdout:"
    diag_file "$OUT"
    diag "stderr:"
    diag_file "$ERR"
}

# check NAME COMMAND…: the command's status is 0.
check() { check_status 0 "$@"; }

# check_status N NAME COMMAND…
check_status() {
    local expected=$1 name=$2
    shift 2
    run "$@"
    if [ "$status" -eq "$expected" ]; then
        pass "$name"
    else
        fail "$name" "expected status $expected"
        diag_run "$@"
    fi
}

# check_output TEXT NAME COMMAND…: status 0 and exactly TEXT on stdout (final newlines apart).
check_output() {
    local expected=$1 name=$2
    shift 2
    run "$@"
    if [ "$status" -eq 0 ] && [ "$(cat "$OUT")" = "$expected" ]; then
        pass "$name"
    else
        fail "$name" "expected status 0 and on stdout: $expected"
        diag_run "$@"
    fi
}

# check_error N REGEX NAME COMMAND…: the status is N and stderr has a line that matches.
check_error() {
    local expected=$1 regex=$2 name=$3
    shift 3
    run "$@"
    if [ "$status" -eq "$expected" ] && grep -Eq -- "$regex" "$ERR"; then
        pass "$name"
    else
        fail "$name" "expected status $expected and on stderr: $regex"
        diag_run "$@"
    fi
}

# check_match REGEX FILE NAME: a line of FILE ($OUT, $ERR, …) matches.
check_match() {
    if grep -Eq -- "$1" "$2"; then
        pass "$3"
    else
        fail "$3" "nothing in ${2##*/} matches: $1"
        diag_file "$2"
    fi
}
check_no_match() {
    if ! grep -Eq -- "$1" "$2"; then
        pass "$3"
    else
        fail "$3" "${2##*/} has lines that match: $1"
        diag "$(grep -E -- "$1" "$2" | tail -n 20)"
    fi
}

# is_emulated: the test runs under qemu-user (tests/arm64/check).
is_emulated() { [ -n "${MLAUNCH_TEST_EMULATED:-}" ]; }
# skip_emulated REASON NAME…: there, skips these checks; elsewhere it is false, and they are made,
# as in
#     skip_emulated "qemu-user knows no child subreapers" "a daemon is ended" || check …
skip_emulated() {
    local name
    is_emulated || return 1
    for name in "${@:2}"; do skip "$name" "$1"; done
}
# longer SECONDS: more of them if the processor is emulated, for limits that are an option's value.
longer() { echo $(($1 * ${MLAUNCH_TEST_SLOW:-1})); }

# nap MILLISECONDS: a pause, between two looks or where its length is the subject. A read of a fifo
# needs no process, which `sleep` is; one of <(:) would wait for ever at times, because bash keeps
# the pids of those and waits for one that is given again.
nap() {
    local nap_seconds
    printf -v nap_seconds '%d.%03d' $(($1 / 1000)) $(($1 % 1000))
    read -r -t "$nap_seconds" <> "$T/.nap" || :
}

# wait_for COMMAND [SECONDS]: evaluates COMMAND until it succeeds; fails after SECONDS, or longer,
# and the log has a line about it. Without SECONDS it ends hangs only, so that no verdict depends on
# how busy the machine is.
wait_for() {
    local wait_begun=${EPOCHREALTIME/./} wait_now wait_pause
    local wait_end=$((wait_begun + ${2:-$HANG_SECONDS} * ${MLAUNCH_TEST_SLOW:-1} * 1000000))
    until eval "$1"; do
        wait_now=${EPOCHREALTIME/./}
        [ "$wait_now" -lt "$wait_end" ] || { diag "waited in vain: $1" >&2; return 1; }
        # Looks that take long are made less often, so that they leave others the processors.
        wait_pause=$(((wait_now - wait_begun) / 250)) # four times as long as the look, in ms
        nap $((wait_pause < 10 ? 10 : wait_pause > 300 ? 300 : wait_pause))
        wait_begun=${EPOCHREALTIME/./}
    done
}

# state_of PID: the letter of proc(5), T if it is stopped; nothing if there is no such process.
state_of() { sed 's/.*) //; s/ .*//' "/proc/$1/stat" 2> /dev/null; }

# A mark for one job: -x "$(new_mark name)"; the same string for `survivors` and `no_survivors`.
new_mark() { echo "MLAUNCH_TEST_JOB=$1.$$"; }
# survivors MARK: "pid command" of each process, on any namespace host too, with MARK in its
# environment.
survivors() {
    local f pid
    for f in $(env -u MLAUNCH_TEST_JOB grep -lsaF -- "$1" /proc/[0-9]*/environ); do
        pid=${f#/proc/}
        pid=${pid%/environ}
        [ "$pid" != "$$" ] && [ "$pid" != "$BASHPID" ] || continue
        echo "$pid $(tr '\0\n' '  ' 2> /dev/null < "/proc/$pid/cmdline")"
    done
}
# no_survivors NAME MARK [SECONDS]: a check that they are all gone; with 0, that they are now.
no_survivors() {
    if wait_for "[ -z \"\$(survivors '$2')\" ]" "${3:-}"; then
        pass "$1"
    else
        fail "$1" "still running: $(survivors "$2")"
    fi
}
