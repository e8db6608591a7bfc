#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2154 # mlaunch, status: of fault.sh and test.sh
# --prolog and --epilog: once a host, before its ranks and after them; what fails is named with its
# output, and nothing is left.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../lib/hosts.sh"
. "${0%/*}/../fault/fault.sh"
hosts_up 2
JOB+=(--ssh-config "$NETNS_SSH_CONFIG")
BOTH=(-H "$H1,$H2")
WHERE=("${BOTH[@]}")
mkdir -m 777 "$T/seen"
# Each host writes a file of its name and of the word given.
note() { printf 'echo "$MLAUNCH_HOST $MLAUNCH_HOST_RANK $MLAUNCH_LOCAL_SIZE" >> %s/seen/%s' "$T" "$1"; }
seen() { sort "$T/seen/$1" 2> /dev/null; }
forget() { rm -f "$T/seen"/*; }
same_text() { if [ "$1" = "$2" ]; then pass "$3"; else fail "$3" "expected: $1; got: $2"; fi; }

job_status 0 "a job with a prolog and an epilog ends well" \
    "${BOTH[@]}" -n 3 --ppn 2 --prolog "$(note before)" \
    --epilog "$(note after)" -- sh -c "grep -c . $T/seen/before >> $T/seen/ranks; ! grep -s \$(uname -n) $T/seen/after"
same_text "$(printf '%s\n' "$H1 0 2" "$H2 1 1" | sort)" "$(seen before)" \
    "the prolog runs once on each host"
same_text "$(seen before)" "$(seen after)" "the epilog runs once on each host, after the ranks"
same_text "2 2 2" "$(seen ranks | xargs)" "no rank began before all prologs had ended"

forget
job_says 125 "host $H2: the prolog exited with status 3: no /data here" \
    "a prolog that fails is that host's failure, with its output" "${BOTH[@]}" --epilog "$(note after)" \
    --prolog "[ \$MLAUNCH_HOST = $H1 ] || { echo 'no /data here' >&2; exit 3; }" -- \
    sh -c "touch $T/seen/rank"
same_text "" "$(ls "$T/seen/rank" 2> /dev/null)" "no rank starts if a prolog fails"
wait_for '[ -e "$T/seen/after" ]'
same_text "$H1 0 1" "$(seen after)" "the epilog runs where the prolog had succeeded"
job_says 125 "the prolog was killed by signal 9" "a prolog that is killed is the job's failure" \
    "${BOTH[@]}" --prolog 'kill -9 $$' -- true

forget
job_says 5 "rank 0 on host $H1 .* exited with status 5" "a rank that fails is the job's failure" \
    "${BOTH[@]}" --epilog "$(note after)" -- sh -c '[ $MLAUNCH_RANK = 1 ] || exit 5; sleep 60'
same_text 2 "$(seen after | grep -c .)" "the epilog runs on both hosts after ranks that fail"
job_says 0 "warning: host $H1: the epilog exited with status 4: oh" \
    "an epilog that fails is a warning" "${BOTH[@]}" --epilog 'echo oh; exit 4' -- true

check "--dry-run works with both commands" \
    "$MLAUNCH" --dry-run --name hooks --prolog 'mount -a' --epilog sync -- true
cp "$OUT" "$T/plan"
check_output $'name: hooks\nprolog: mount -a\nepilog: sync' \
    "--dry-run prints the name and both commands" grep -E '^(name|prolog|epilog):' "$T/plan"
job_status 0 "what a prolog leaves in the background lives as long as the ranks" "${BOTH[@]}" \
    --prolog "sleep 3333 & echo \$! > $T/seen/\$MLAUNCH_HOST.pid" -- \
    sh -c "kill -0 \$(cat $T/seen/\$(uname -n).pid)"

# no_rest NAME: nothing is left.
no_rest() {
    ! skip_emulated "qemu-user knows no child subreapers, so daemons are left" "$1" || return
    if left_nothing; then pass "$1"; else fail "$1"; fi
}
for signal in INT KILL; do
    forget
    zoo_start 2 --grace 1 --epilog "$(note after)"
    must kill -$signal "$mlaunch"
    wait "$mlaunch" 2> /dev/null
    wait_for '[ "$(seen after | grep -c .)" = 2 ]'
    same_text 2 "$(seen after | grep -c .)" "the epilog runs after SIG$signal to mlaunch"
    no_rest "nothing is left after SIG$signal to mlaunch"
done

job_start "${BOTH[@]}" --grace 1 --prolog "$(note before); sleep 3333" -- true
wait_for '[ "$(seen before | grep -c .)" = 2 ]'
must kill -INT "$mlaunch"
wait "$mlaunch"
same_text 130 $? "SIGINT ends a prolog"
no_rest "nothing is left of a prolog that is ended"
check_error 125 'the prolog exited with status 1: [^1]*1+$' \
    "a prolog's failure shows the end of its output" \
    "$MLAUNCH" --prolog 'echo begin; yes 1 | head -n 9999 | tr -d "\n"; exit 1' -- true
check_no_match begin "$ERR" "a prolog's failure does not show all of much output"
done_testing
