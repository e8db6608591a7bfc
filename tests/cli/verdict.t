#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What is said at the end of a job, and where: the rank that failed and its last words, once, below
# all output.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
. "${0%/*}/job.sh"

# on_one_screen ARGUMENT…: a job whose standard output and error are one file, $T/screen.
on_one_screen() { job "$@" > "$T/screen" 2>&1; }
# ends_with NAME REGEX…: the last lines of $T/screen match, one regex each.
ends_with() {
    local name=$1 line
    shift
    while IFS= read -r line; do
        if ! [[ $line =~ $1 ]]; then
            fail "$name" "the line that should match $1: $line"
            diag_file "$T/screen"
            return
        fi
        shift
    done < <(tail -n $# "$T/screen")
    if [ $# -eq 0 ]; then pass "$name"; else fail "$name" "$# lines are missing"; fi
}

# The others are heard after the rank that failed.
cat > "$T/late" << 'EOF'
cd "$0" || exit
if [ "$MLAUNCH_RANK" = 1 ]; then
    until [ -e ready.0 ] && [ -e ready.2 ]; do sleep 0.02; done
    echo "bad data" >&2
    echo "in shard 7" >&2
    rm ready.0 ready.2
    exit 3
fi
trap 'for i in 1 2 3 4 5; do echo "consequence $i"; done; exit 1' TERM
: > ready.$MLAUNCH_RANK
while :; do sleep 0.02; done
EOF
run on_one_screen -n 3 -- sh -c '. '"$T/late" "$T"
job_judge 3 "a job ends in which the others speak after the failed rank" "mlaunch"
ends_with "the verdict is last, with the rank's last words" \
    '^mlaunch: rank 1 on host .* \(pid [0-9]+\) exited with status 3$' \
    '^mlaunch: end of its standard error:$' '^bad data$' '^in shard 7$'
check_output 1 "the verdict is said once" grep -c 'exited with status 3' "$T/screen"
check_output 10 "nothing that the others say is lost" grep -c 'consequence' "$T/screen"
run on_one_screen -n 3 --restarts 1 -- sh -c '. '"$T/late" "$T"
job_judge 3 "a job ends in which the others speak, in two runs" "mlaunch"
ends_with "the last words are those of the last run" \
    '^mlaunch: rank 1 on host .* exited with status 3$' \
    '^mlaunch: end of its standard error:$' '^bad data$' '^in shard 7$'

run on_one_screen -n 3 -- sh -c '[ $MLAUNCH_RANK = 1 ] || exec sleep 60
    echo "bad data" >&2; echo "in shard 7" >&2; exit 3'
job_judge 3 "a job ends in which the others say nothing" "mlaunch"
ends_with "words that are just above are not repeated" '^\[1\] bad data$' '^\[1\] in shard 7$' \
    '^mlaunch: rank 1 on host .* exited with status 3$'
check_output 1 "words that are just above are there once" grep -c 'bad data' "$T/screen"

# A line that another rank leaves unfinished is between them.
run on_one_screen -n 2 -- sh -c 'cd '"$T"'
    [ $MLAUNCH_RANK = 1 ] || { printf "loss "; : > begun; exec sleep 60; }
    until [ -e begun ]; do sleep 0.02; done; echo "bad data" >&2; exit 3'
job_judge 3 "a job ends with an unfinished line" "mlaunch"
ends_with "words above the end of another rank's line are repeated" \
    '^mlaunch: rank 1 on host .* exited with status 3$' \
    '^mlaunch: end of its standard error:$' '^bad data$'

# With --on-failure continue the job may go on for long: each failure is said at once.
run on_one_screen -n 3 --on-failure continue -- sh -c 'cd '"$T"'; case $MLAUNCH_RANK in
    0) until [ "$(grep -c "rank [12] .* status 5" screen)" -eq 2 ]; do sleep 0.02; done
       echo done ;;
    *) exit 5 ;;
    esac'
job_judge 5 "--on-failure continue says at once which ranks have failed" "mlaunch"
ends_with "--on-failure continue says at the end which rank was first" '^\[0\] done$' \
    '^mlaunch: rank [12] on host .* exited with status 5$'

# What the others write alike is shown once. Rank 1 fails, 0 and 2 to 4 write the same but for their
# numbers and addresses, 5 something else, 6 more than is held back.
cat > "$T/alike" << 'EOF'
cd "$0" || exit
if [ "$MLAUNCH_RANK" = 1 ]; then
    until [ "$(ls up.* 2> /dev/null | wc -l)" -eq 6 ]; do sleep 0.02; done
    rm up.*
    echo "bad data" >&2
    exit 3
fi
speak() {
    case $MLAUNCH_RANK in
    5) printf 'Traceback:\n  rank 5 has its own reason\n' ;;
    6) i=0; while [ $((i += 1)) -le 3000 ]; do echo "line $i"; done ;;
    *) printf 'Traceback:\n  in all_reduce\nError in rank %d at 0x7f%d: lost rank 1\n' \
        "$MLAUNCH_RANK" "$MLAUNCH_RANK" ;;
    esac >&2
    exit 1
}
trap speak TERM
exec 3<> forever
: > up.$MLAUNCH_RANK
while :; do read -r never <&3; done # no child, of whose end by a signal the shell would tell
EOF
mkfifo "$T/forever"
run on_one_screen -n 7 --grace 20 -- sh -c '. '"$T/alike" "$T"
job_judge 3 "a job ends in which four of seven ranks write the same" "mlaunch"
check_output 1 "what several ranks write alike is shown once" grep -c 'in all_reduce' "$T/screen"
check_match '^mlaunch: ranks [0-4,-]+ wrote the same to standard error as rank [0-4]$' "$T/screen" \
    "the ranks that wrote alike are told"
check_output 1 "what only one rank writes is shown" grep -c 'its own reason' "$T/screen"
check_output 3000 "what is long is shown" grep -c '^\[6\] line' "$T/screen"
ends_with "the verdict is below what ranks wrote alike" \
    '^mlaunch: rank 1 on host .* exited with status 3$' \
    '^mlaunch: end of its standard error:$' '^bad data$'
run on_one_screen -n 7 --grace 20 -v -- sh -c '. '"$T/alike" "$T"
check_output 4 "all that ranks wrote alike is shown with -v" grep -c 'in all_reduce' "$T/screen"
check_output 1 "-v has the first rank's failure in the verdict only" \
    grep -c 'rank 1 on host .* exited with status 3' "$T/screen"
check_match '^mlaunch: rank 1 on host localhost: ended, status 3$' "$T/screen" \
    "-v has the first rank's end at once"
run job -n 7 --grace 20 --output "$T/files" -- sh -c '. '"$T/alike" "$T"
check_output 4 "--output DIR has everything" \
    sh -c 'cat "$1"/rank.?.err | grep -c "in all_reduce"' - "$T/files"

# A signal is reported at once, and once more below what the ranks have said since.
: > "$T/screen"
"${JOB[@]}" -n 2 -- sh -c 'trap "echo bye; exit" TERM; echo ready; while :; do sleep 0.02; done' \
    > "$T/screen" 2>&1 &
mlaunch=$!
wait_for '[ "$(grep -c ready "$T/screen")" -eq 2 ]'
must kill -TERM "$mlaunch"
run eval 'wait "$mlaunch"'
job_judge 143 "a job ended by SIGTERM is status 143" "mlaunch"
check_match "^mlaunch: ended by SIGTERM \\(from pid $$, .*\\): SIGKILL in 5 s" "$T/screen" \
    "SIGTERM is told at once with its sender"
ends_with "SIGTERM is told at the end, too" \
    '^\[[01]\] bye' "^mlaunch: ended by SIGTERM \\(from pid $$, .*\\)$"

done_testing
