#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The tests themselves, in other places: sources and build in the home directory, in a path that is
# not ASCII, and in a place below /tmp; beside a dead job of this user. Files of tests pass in both.
# In the long form they are more, and ./bootstrap builds in the home directory; otherwise both are
# copies of the build at hand.
# shellcheck disable=SC2154 # mlaunch: of fault.sh
TEST_TIER=full
TEST_PARTS=2
TEST_LIMIT=1500
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../fault/fault.sh"
[ "$SANITIZE" = no ] || skip_all "one build of each place is enough"

# Where the build is in a place. A copy's links to the sources are relative.
below_source=build
if ! is_long; then
    build=$(cd "$BUILD" && pwd -P)
    below_source=${build#"$(cd "$SOURCE" && pwd -P)"/}
    [ "$below_source" != "$build" ] || skip_all "the build is not below its sources"
fi

files=(cli/{options,metrics,detach,hooks,ssh,stage,python-script}.t
    fault/clean.t)
if is_long; then
    files+=(cli/{status,info,hosts,run,output,ps,top,job-name,exec,verify-links}.t
        fault/container.t runtime/shim.t)
    for at in "${!files[@]}"; do in_part "$at" || unset "files[at]"; done
fi

job_start -H localhost -n 1 -- sh -c 'echo ready; exec sleep 3000'
has_said ready 1
dead=$(echo /tmp/mlaunch-"$(id -u)"/"$(job_id)".*)
dead_end() {
    local pid
    for pid in $(survivors "$MARK" | cut -d ' ' -f 1); do kill -KILL "$pid"; done
    rm -rf "$dead"
}
at_exit dead_end
check "an agent is killed" both_kill
wait "$mlaunch" 2> /dev/null
check "the dead job's directory is left at first" test -e "$dead/job.json"

# place DIR: a checkout, with a build; in the long form it is built there.
place() (
    mkdir -p "$1" &&
        tar -C "$SOURCE" --exclude='./build*' --exclude=./configure --exclude=./.git -cf - . |
        tar -C "$1" -xf - && cd "$1" && unset MAKEFLAGS || exit
    if is_long; then
        CFLAGS=-O0 ./bootstrap && make -C build -s check-scripts-build
    else
        # Neither what the compiler needs nor what other tests have left.
        mkdir -p "$below_source" && tar -C "$BUILD" --exclude='*.o' --exclude='*.lo' --exclude='*.a' \
            --exclude='*.log' --exclude='*.trs' --exclude=./tests/unit --exclude='./mlaunch-*' \
            -cf - . | tar -C "$below_source" -xf -
    fi
)
# visit DIR: runs the files there, whose output is in DIR.results.
visit() {
    local file
    mkdir "$1.results"
    for file in "${files[@]}"; do
        env -u MLAUNCH_TEST_MARK -u TMPDIR BUILD="$1/$below_source" SOURCE="$1" bash "$1/tests/$file" \
            > "$1.results/${file//\//.}" 2>&1
    done
}
below=$T/checkout home=$(mktemp -d "${HOME:-/}/mlaunch-ü.XXXXXX" 2> /dev/null)
built=$home/checkout
visited=("$built" "$below")
if [ -n "$home" ]; then
    at_exit rm -rf "$home"
else
    skip "tests pass in the home directory" "${HOME:-/} cannot be written"
    built=$below visited=("$below")
fi
check "$built is built" place "$built"
[ -z "$home" ] || must cp -a "$built" "$below"
visits=()
for dir in "${visited[@]}"; do
    visit "$dir" &
    visits+=($!)
done
wait "${visits[@]}"
for dir in "${visited[@]}"; do
    for file in "${files[@]}"; do
        log=$dir.results/${file//\//.}
        if [ -e "$log" ] && ! grep -qE '^(not ok|Bail out)' "$log" && grep -q '^1\.\.' "$log"; then
            pass "$file passes in $dir"
        else
            fail "$file passes in $dir" "$(grep -A 20 -E '^(not ok|Bail out)' "$log" | tail -n 40)"
        fi
    done
done
check "the dead job's directory is still there" test -e "$dead/job.json"
done_testing
