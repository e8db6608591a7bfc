#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Which failure is named: a rank that ends in the middle of a collective, in every way; that never
# joins; that leaves early. Expected: the sentence names the cause, never a consequence; others'
# calls return within 1 s.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../lib/hosts.sh"
. "${0%/*}/fault.sh"
hosts_up 2
JOB+=(--ssh-config "$NETNS_SSH_CONFIG" --grace 2)

# Rank 2 fails, and the others speak after it.
cat > "$T/speak" << EOF
cd "$T" || exit
if [ "\$MLAUNCH_RANK" = 2 ]; then
    until [ -e ready.0 ] && [ -e ready.1 ] && [ -e ready.3 ]; do sleep 0.02; done
    rm ready.*
    echo the reason >&2
    exit 6
fi
trap 'echo a consequence >&2; exit 1' TERM
: > "ready.\$MLAUNCH_RANK"
while :; do sleep 0.02; done
EOF
for where in "localhost:4" "$H1:2,$H2:2"; do
    named=${where%%:*}
    [ "$named" = localhost ] || named=$H2
    job_says 5 "^mlaunch: rank 2 on host $named \(pid [0-9]+\) exited with status 5$" \
        "$where: a rank that ends with a status is named" \
        -H "$where" -n 4 -- "$FAULTY" call 2 exit:5
    job_says 5 "^\[[013]\] .*rank 2 exited with status 5 on host" \
        "$where: the others' error names the rank that ended" \
        -H "$where" -n 4 --on-failure continue -- "$FAULTY" call 2 exit:5
    job_says 139 "^mlaunch: rank 2 on host $named \(pid [0-9]+\) was killed by signal 11 \(Segmentation fault\)" \
        "$where: a rank that ends by a signal is named" -H "$where" -n 4 -- "$FAULTY" call 2 kill:11
    job_says 9 "^mlaunch: rank 2 on host $named \(pid [0-9]+\) aborted the job: as asked" \
        "$where: a rank that calls ml_abort is named" \
        -H "$where" -n 4 -- "$FAULTY" call 2 abort
    job_says 6 "^the reason$" \
        "$where: the failed rank's last words on stderr have no label" -H "$where" -n 4 \
        -- sh "$T/speak"
    check_match '^mlaunch: end of its standard error:$' "$ERR" \
        "$where: the last words are said to be stderr's end"
    # Status 0 is no failure: the first consequence is named, with what it had lost.
    job_says 3 "^mlaunch: rank [013] on host [^ ]+ \(pid [0-9]+\) exited with status 3 because it had lost a peer: .*rank 2 exited with status 0 on host $named \(pid [0-9]+\)" \
        "$where: status 0 in mid-collective is named by who lost it" -H "$where" -n 4 -- "$FAULTY" \
        call 2 exit:0
    job_says 3 "^mlaunch: rank [013] on host [^ ]+ \(pid [0-9]+\) exited with status 3 because it had lost a peer: .*rank 2 exited with status 0 on host $named \(pid [0-9]+\) without calling ml_init" \
        "$where: status 0 without ml_init is named by who lost it" -H "$where" -n 4 -- "$FAULTY" \
        absent 2
    job_says 3 "because it had lost a peer: .*rank 0 exited with status 0 on host [^ ]+ \(pid [0-9]+\) without calling ml_init" \
        "$where: rank 0 without ml_init is named by who lost it" -H "$where" -n 4 -- "$FAULTY" \
        absent 0
    rm -f "$T/left"
    job_status 0 "$where: rank 0 leaves early, nobody needs it" --events "$T/left" -H "$where" \
        -n 4 -- sh -c '
        [ $MLAUNCH_RANK = 0 ] || until grep -q "\"exited\".*\"rank\":0," "$0"; do sleep 0.02; done' "$T/left"
done

if grep -q '^|' /proc/sys/kernel/core_pattern; then
    skip "a core file's path is told" "core files go to a program here"
elif [ "$(ulimit -H -c)" != unlimited ]; then
    skip "a core file's path is told" \
        "this shell's hard limit does not allow core files (ulimit -H -c)"
else
    mkdir "$T/core"
    job_says 134 "^mlaunch: rank 0 on host [^ ]+ \(pid [0-9]+\) was killed by signal 6 \(Aborted\); core file /" \
        "a core file's path is told" -n 1 --cwd "$T/core" -- sh -c \
        'ulimit -c unlimited; kill -ABRT $$'
    check "the core file is at that path" test -s "$(sed -n 's/.*core file //p' "$ERR")"
fi

done_testing
