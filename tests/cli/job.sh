# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# job.sh: for tests that run whole jobs. However a job ends, nothing may be left: no process and no
# job directory. `job` is mlaunch with a mark in its ranks' environment and its events in $T/events;
# in the background use "${JOB[@]}", so that $! is mlaunch.
MARK=$(new_mark job)
EVENTS=$T/events
JOB=("$MLAUNCH" --events "$EVENTS" -x "$MARK")
job() { "${JOB[@]}" "$@"; }

# The directories of the jobs in $EVENTS that are still there. (The entry of an mlaunch that was
# killed, run.ID, is left to mlaunch clean.)
job_directories() {
    local id
    for id in $(sed -n 's/.*"job":"\([^"]\{1,\}\)".*/\1/p' "$EVENTS" 2> /dev/null | sort -u); do
        find /tmp -maxdepth 2 -path "/tmp/mlaunch-*/$id.*" 2> /dev/null \
            # not what may not be looked into
    done
}

# The id of the first job in $EVENTS.
job_id() { sed -n 's/.*"job":"\([^"]\{1,\}\)".*/\1/p' "$EVENTS" | head -n 1; }

# left_nothing: silent and true if so.
left_nothing() {
    if wait_for '[ -z "$(survivors "$MARK")" ] && [ -z "$(job_directories)" ]'; then
        return 0
    fi
    diag "left behind: $(survivors "$MARK") $(job_directories)"
    return 1
}

# job_status N NAME ARGUMENT…: the job ends with status N and leaves nothing.
job_status() {
    local expected=$1 name=$2
    shift 2
    run job "$@"
    job_judge "$expected" "$name" "mlaunch $*"
}
# shellcheck disable=SC2154 # status: test.sh's
# job_judge N NAME COMMAND: the same for a job that a `run` has just run.
job_judge() {
    if [ "$status" -ne "$1" ]; then
        fail "$2" "expected status $1"
        diag_run "$3"
    elif left_nothing; then
        pass "$2"
    else
        fail "$2"
    fi
}

# job_says N REGEX NAME ARGUMENT…: as job_status, and stderr has a line that matches.
job_says() {
    local expected=$1 regex=$2 name=$3
    shift 3
    run job "$@"
    if [ "$status" -eq "$expected" ] && ! grep -Eq -- "$regex" "$ERR"; then
        fail "$name" "nothing on stderr matches: $regex"
        diag_run "mlaunch $*"
    else
        job_judge "$expected" "$name" "mlaunch $*"
    fi
}

# job_prints TEXT NAME ARGUMENT…: status 0, nothing left, and stdout, sorted, is TEXT.
job_prints() {
    local expected=$1 name=$2
    shift 2
    run job "$@"
    if [ "$(sort "$OUT")" != "$expected" ]; then
        fail "$name" "expected on stdout: $expected"
        diag_run "mlaunch $*"
    else
        job_judge 0 "$name" "mlaunch $*"
    fi
}

# keep COMMAND…: runs it and keeps what it printed in $T/out and $T/err, where later checks don't
# overwrite it.
keep() {
    run "$@"
    cp "$OUT" "$T/out"
    cp "$ERR" "$T/err"
}
