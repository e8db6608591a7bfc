#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# --wrap: some ranks run under another command, which takes part in nothing else.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
. "${0%/*}/job.sh"

wrapped() { job "$@" | sort; }
check_output "[0] no
[1] 1@localhost
[2] no
[3] 3@localhost" "--wrap has {rank} and {host}, and the other ranks are as they were" wrapped -n 4 \
    --wrap '1,3: env "WRAPPED={rank}@{host}"' -- sh -c 'echo ${WRAPPED:-no}'
check_output "a b|{x}|c" "--wrap has words as a shell would split them, and no shell" \
    job --wrap "all: env 'A=a b' B={x} C=c" -- sh -c 'echo "$A|$B|$C"'
printf 'import os\nprint(os.environ["MLAUNCH_RANK"], os.getppid() == int(os.environ["AGENT"]))\n' \
    > "$T/script.py"
check_output "0 False" "a Python script that is not executable is wrapped" \
    job --wrap 'all: sh -c '\''AGENT=$PPID "$@"; exit $?'\'' sh' -- "$T/script.py"
check_output "0 2" "--eager is for the program, not for what wraps it" job -n 2 --eager \
    --output raw --wrap '1: sh -c "exit 0"' --backend shm --wrap '0: sh -c '\''"$@"; exit $?'\'' sh' \
    -- sh -c 'echo $MLAUNCH_RANK $MLAUNCH_SIZE'
job_says 3 'rank 1 on host localhost .*exited with status 3' \
    "the status of a wrapped rank is the rank's" -n 2 --wrap '1: sh -c "exit 3"' -- sleep 60
job_says 127 'rank 1 on host localhost could not be started: no-such: not found' \
    "a command that is not there is refused" -n 2 --wrap '1: no-such' -- sleep 60
check_error 125 "--wrap: there is no rank 2: the job has ranks 0 to 1" \
    "a rank that is not there is refused" "$MLAUNCH" -n 2 --wrap '1-2: env' -- true
check_error 125 "--wrap: rank 1 has been named before" "a second command for one rank is refused" \
    "$MLAUNCH" -n 2 --wrap 'all: env' --wrap '1: nice' -- true
check_error 125 "--wrap: 'env' does not say which ranks: write RANKS: COMMAND" \
    "a command without ranks is refused" "$MLAUNCH" --wrap env -- true
run "$MLAUNCH" -n 2 --dry-run --wrap "1: env 'A=b c'" -- true
check_match "^rank 1 runs under: env 'A=b c'$" "$OUT" "--dry-run says what wraps a rank"
if [ "$SANITIZE" != no ] || ! is_here gdb; then
    skip "gdb sees what ends a rank" "${LACKS:-the sanitizer takes the signal}"
else
    keep job -n 2 --wrap '1: gdb -nx -batch -ex run -ex bt --args' -- sh -c \
        '[ $MLAUNCH_RANK = 0 ] || kill -SEGV $$; exit 0'
    check_match '\[1\] Program received signal SIGSEGV' "$T/out" "gdb sees what ends a rank"
fi
done_testing
