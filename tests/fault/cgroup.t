#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Where mlaunch may make a control group for the ranks, it does: every process in it is known and
# ended, whatever it did to its environment and its parents. Expected: one group a job, removed with
# the job; mlaunch clean removes a dead job's.
# shellcheck disable=SC2154 # mlaunch: of fault.sh
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
. "${0%/*}/fault.sh"

own=$(sed -n 's/^0:://p' /proc/self/cgroup)
mount=$(awk '$0 ~ / - cgroup2 / && $4 == "/" { print $5; exit }' /proc/self/mountinfo)
group=$mount${own%/}
probe=$group/mlaunch-test-$$
[ -n "$mount" ] && [ -n "$own" ] || skip_all "no cgroup2 is mounted"
mkdir "$probe" 2> /dev/null || skip_all "no cgroup may be made in $group"
killable=$(test -e "$probe/cgroup.kill" && echo yes)
rmdir "$probe"
[ -n "$killable" ] || skip_all "no cgroup.kill: Linux before 5.14"
case $(uname -m) in x86_64 | aarch64) ;; *) skip_all \
    "no ranks are born in a cgroup on this processor" ;; esac

groups() { find "$group" -maxdepth 1 -name "mlaunch-$(id -u)-$1.*"; }
# A process that only its group betrays: a daemon with an empty environment, not a child of its
# rank.
SLEEP="sleep 311.$$"
STRAY="env -i setsid sh -c '$SLEEP & exec $SLEEP' > /dev/null 2>&1 < /dev/null & echo ready; exec sleep 312"
strays() { pgrep -fc "^$SLEEP\$" || :; }

# A job of two such ranks; sets $ID.
cgroup_job() {
    job_start -H localhost -n 2 -- sh -c "$STRAY"
    has_said ready 2 || diag "$(cat "$T/err")"
    ID=$(job_id)
    wait_for '[ "$(strays)" -ge 4 ]'
}

keep job -n 2 -- sed -n 's/^0:://p' /proc/self/cgroup
check_output 2 "ranks are in a group of their job's name" grep -c "^\[[01]\] ${own%/}/mlaunch-$(id \
    -u)-.*\.0\.......\$" "$T/out"
check_status 127 "a program that is not there is named as ever" job -n 2 -- ./nosuch-program

cgroup_job
check_output 6 \
    "the group has all processes of the ranks" sh -c "cat '$(groups "$ID")'/cgroup.procs | wc -l"
mkdir "$(groups "$ID")/of-a-rank"
must kill -TERM "$mlaunch"
wait "$mlaunch"
nothing_left "the job ends: no rank is left"
check_output "" "the job's group is gone, with a group that a rank has made in it" groups "$ID"
check_output 0 "the strays are gone with the job" strays

cgroup_job
both_kill
wait "$mlaunch" 2> /dev/null
check_output 4 "both of the agent's processes are killed: the strays live" strays
keep "$MLAUNCH" clean --dry-run "$ID"
check_output 4 "clean --dry-run finds the strays by their group" grep -c \
    "job $ID: process [0-9]* (sleep) would be ended" "$T/out"
check_match "job $ID: cgroup $group/mlaunch-.* would be removed" "$T/out" \
    "clean --dry-run names the group"
check "mlaunch clean of the dead job succeeds" "$MLAUNCH" clean "$ID"
check_output 0 "mlaunch clean ends the strays" strays
check_output "" "mlaunch clean removes the group" groups "$ID"

# An agent with another /tmp, as in a container, has just made it. This clean also has its own, and
# its own processes, so that it touches no job of other tests.
apart=(unshare --mount --pid --fork --mount-proc)
if "${apart[@]}" true 2> "$T/why"; then
    young=$group/mlaunch-$(id -u)-1abc123-abcdef.0.ABCdef
    young_remove() { [ ! -d "$young" ] || rmdir "$young"; }
    at_exit young_remove
    mkdir "$young"
    # shellcheck disable=SC2016 # expanded in there
    check "mlaunch clean in another /tmp succeeds" "${apart[@]}" sh -c \
        '"$0" /tmp mode=1777 && exec "$MLAUNCH" clean' "$TEST_LIB/cover"
    check_no_match "${young##*/}" "$OUT" \
        "mlaunch clean names no empty group of a job that it cannot see"
    check "mlaunch clean does not remove a group of a job that it cannot see" test -d "$young"

    # Named, the job is judged by its group: by the agent's lock on it, and by what is in it.
    # shellcheck disable=SC2016 # expanded in there
    clean_apart() {
        "${apart[@]}" sh -c '"$0" /tmp mode=1777 && exec "$MLAUNCH" clean "$@"' "$TEST_LIB/cover" \
            "$@"
    }
    exec 9< "$young"
    must flock -s 9
    keep clean_apart --dry-run 1abc123-abcdef
    check_no_match "${young##*/}" "$T/out" "clean --dry-run names no empty group of a live agent"
    check "mlaunch clean beside a live agent succeeds" clean_apart 1abc123-abcdef
    check "mlaunch clean does not remove the empty group of a live agent" test -d "$young"
    exec 9<&-
    keep clean_apart --dry-run 1abc123-abcdef
    check_match "cgroup $young would be removed" "$T/out" \
        "clean --dry-run names the empty group without its agent"
    check "mlaunch clean without the agent succeeds" clean_apart 1abc123-abcdef
    check_status 1 "mlaunch clean removes the empty group without its agent" test -d "$young"

    cgroup_job
    keep clean_apart --dry-run "$ID"
    check_no_match "cgroup" "$T/out" "clean --dry-run elsewhere names no group of a live job"
    check_status 1 \
        "the group of a live job is locked by its agent" flock -n -x "$(groups "$ID")" true
    must kill -TERM "$mlaunch"
    wait "$mlaunch"
    nothing_left "a live job leaves nothing after clean elsewhere was asked about it"
else
    skip "mlaunch clean in another /tmp succeeds" "no namespaces here: $(head -n 1 "$T/why")"
fi

done_testing
