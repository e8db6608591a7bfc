#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What mlaunch grow refuses, and in which sentences. Expected: nothing of the job changes.
# shellcheck disable=SC2154 # mlaunch: of fault.sh
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../fault/fault.sh"
SURVIVOR=$BUILD/tests/fault/survivor

refused() { check_error "$1" "$2" "$3" "$MLAUNCH" grow "${@:4}"; }

refused 125 'mlaunch grow: which job' "grow without a job is refused" -H localhost
refused 125 'mlaunch grow: where' "grow without a host is refused" nowhere
refused 1 'no mlaunch of yours on this machine has a job nowhere;' \
    "a job that is not there cannot grow" nowhere -H localhost
check "--help prints how grow is used" \
    sh -c '"$1" grow --help | grep -q "^usage: mlaunch grow JOB -H"' sh "$MLAUNCH"

# job OPTION…: two ranks that have met.
job_met() {
    rm -f "$T/stop"
    job_start -n 2 --oversubscribe --elastic 1 "$@" -- "$SURVIVOR" "$T/stop"
    wait_for '[ "$(grep -rh "membership 0" "$T/out" "$T/files" 2> /dev/null | wc -l)" = 2 ]'
    id=$(job_id)
}
job_over() {
    touch "$T/stop"
    wait "$mlaunch"
    check_output 0 "$1: the job ends well" echo $?
}
job_met --output raw
wait_for '"$MLAUNCH" shrink "$id" all 2>&1 | grep -q "would be left"' # mlaunch knows that they have met
refused 1 "job $id: host far cannot join: the job has one host, localhost, and its ranks listen" \
    "a host that the job's ranks do not listen to is refused" "$id" -H far
refused 1 "job $id: host far cannot join" "such a host is refused beside one of the job's" \
    "$id" -H localhost:2,far
refused 1 "job $id: there is room for 256 more ranks" \
    "more ranks than there is room for are refused" "$id" -H localhost:257
refused 1 "job $id: .*far away" "a word that is no host is refused" "$id" -H 'far away'
check_no_match 'the job gets' "$T/err" "a refused grow adds no rank"
job_over "two ranks"
job_met --output "$T/files"
wait_for '"$MLAUNCH" shrink "$id" all 2>&1 | grep -q "would be left"'
refused 1 "job $id: --output DIR is for the ranks that the job began with" \
    "a job with --output DIR cannot grow" "$id" -H localhost
job_over "files"
done_testing
