#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Standard input: to rank 0, to one rank, to all, to none; end of file; slow and absent readers; a
# terminal.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
. "${0%/*}/job.sh"

job_reads() { job "$@" < "$T/in"; }
seq 3 > "$T/in"
check_output "[0] 1
[0] 2
[0] 3" "rank 0 gets the input, and all see its end" job_reads -n 3 -- cat
check_output "[1] 1
[1] 2
[1] 3" "--stdin 1 gives the input to rank 1" job_reads -n 2 --stdin 1 -- cat
check_output "" "--stdin none gives the input to nobody" job_reads -n 2 --stdin none -- cat
keep job_reads -n 3 --stdin all -- cat
check_output "$(for r in 0 1 2; do printf '[%d] 1\n[%d] 2\n[%d] 3\n' $r $r $r; done)" \
    "--stdin all gives the input to each rank" sort "$T/out"
check_error 125 'stdin' "--stdin of a rank that isn't there is refused" \
    "$MLAUNCH" -n 2 --stdin 2 -- cat

# Large inputs.
head -c 30000000 /dev/urandom > "$T/in"
sum=$(md5sum < "$T/in")
check_output "$sum" "30 MB from a file reach one rank" job_reads -n 1 -- md5sum
job_piped() { job "$@" < <(cat "$T/in"); }
check_output "$sum" "30 MB from a pipe reach one rank" job_piped -n 1 -- md5sum
head -c 5000000 /dev/urandom > "$T/in"
sum=$(md5sum < "$T/in")
check_output "$(printf '%s\n' "$sum" "$sum" "$sum" "$sum")" \
    "5 MB reach each of 4 ranks, one of them slow" \
    job_reads -n 4 --stdin all --output raw -- sh -c '[ $MLAUNCH_RANK = 2 ] && sleep 0.5; md5sum'

# Ranks that don't want it.
check "a rank may read nothing" job_reads -n 2 -- true
check_output "$(head -c 10 "$T/in" | md5sum)" "a rank may read a little and end" job_reads -n 1 \
    -- sh -c 'head -c 10 | md5sum'
keep job_reads -n 3 --stdin all --output raw -- sh -c \
    '[ $MLAUNCH_RANK = 1 ] && exec <&-; [ $MLAUNCH_RANK = 1 ] || md5sum'
check_output "$(printf '%s\n' "$sum" "$sum")" \
    "a rank that has closed its input does not hold up the others" cat "$T/out"

# stdin that stays open does not keep the job.
mkfifo "$T/fifo"
exec 7<> "$T/fifo"
job_waiting() { job "$@" < "$T/fifo"; }
check "an input that never ends does not keep the job" job_waiting -n 2 -- true
exec 7>&-
job_closed() { job "$@" <&-; }
skip_emulated "qemu-user opens the program's file as the stdin that is closed" \
    "a closed stdin is at its end at once" ||
    check_output "" "a closed stdin is at its end at once" job_closed -n 1 -- cat

# On a terminal.
terminal() { "$SOURCE/tests/cli/on_terminal.py" "$@"; }
keep terminal 'wait name?
type bob\n
wait [0] hello bob' "${JOB[@]}" -n 2 -- sh -c \
    '[ $MLAUNCH_RANK = 0 ] && { printf "name? "; read x; echo "hello $x"; }; exit 0'
job_judge 0 "a prompt gets its answer, and what follows the typed line has its label" \
    "on a terminal"
keep terminal 'type one\n
type two\n
type \x04' "${JOB[@]}" -- sh -c 'n=$(wc -l); echo "lines: $n"'
job_judge 0 "Ctrl-D ends the input" "on a terminal"
check_match 'lines: 2' "$T/out" "the ranks get what was typed before Ctrl-D"

# A job in the background leaves the terminal to others: its ranks see the end at once.
keep terminal 'wait ended
wait shell read: typed' bash --norc -c 'set -m
"$@" & wait "$!"; echo ended $?; echo typed > '"$T"'/typed; read -r x < '"$T"'/typed; echo "shell read: $x"' - \
    "${JOB[@]}" -n 1 -- cat
job_judge 0 "nobody reads the terminal in the background" "on a terminal, &"
check_match 'ended 0' "$T/out" "a job in the background is not stopped for its terminal"

done_testing
