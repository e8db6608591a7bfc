# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# fault.sh: for tests that start a job of ranks that are hard to end (faulty.c), do it some harm,
# and then look everywhere for what is left (look.py), here and on namespace hosts, whether
# processes, agents, job directories or shared memory.
#
#     zoo_start 4                   in the background, on "${WHERE[@]}"; returns once all ranks are up
#     agent_kill "$H1" worker
#     zoo_end 125 NAME              mlaunch ends with this status, and nothing is left
. "${BASH_SOURCE[0]%/*}/../cli/job.sh"
FAULTY=$BUILD/tests/fault/faulty
CHILDREN=100
is_long && CHILDREN=1000
WHERE=(-H localhost) # where the ranks run
# Also in mlaunch's own environment, because local agents inherit it.
JOB=(env "$MARK" "${JOB[@]}")

# Until N lines of the ranks have TEXT, or mlaunch has ended.
has_said() {
    wait_for "[ \"\$(grep -c '$1' '$T/out')\" -ge $2 ] || ! kill -0 $mlaunch 2> /dev/null"
    [ "$(grep -c "$1" "$T/out")" -ge "$2" ]
}

# rank_pid RANK: of the process that was started last, as its host numbers it.
rank_pid() {
    sed -nE 's/.*"event":"started".*"rank":'"$1"',.*"pid":([0-9]+).*/\1/p' "$EVENTS" | tail -n 1
}

# job_start ARGUMENT…: in the background, with the signals of a job in the foreground; sets
# $mlaunch.
job_start() {
    : > "$EVENTS"
    : > "$T/out"
    : > "$T/err" # here: nobody shall see what the job before has said
    set -m
    "${JOB[@]}" "$@" > "$T/out" 2> "$T/err" &
    mlaunch=$!
    set +m
}

# zoo_start RANKS [OPTION…]
zoo_start() {
    local ranks=$1
    shift
    job_start "${WHERE[@]}" -n "$ranks" --oversubscribe "$@" -- "$FAULTY" zoo "$CHILDREN"
    has_said ready "$ranks" || diag "not all ranks are up: $(cat "$T/err")"
    # If this look found nothing, a later one would prove nothing.
    ! left_behind > "$T/left" || fail "ranks and agents are found while they run"
}

# Process 1 of a namespace host, as this namespace counts.
init_of() {
    local p
    read -r p < "$NETNS_DIR/$1.pid"
    read -r p _ < "/proc/$p/task/$p/children" # without a newline: its status says nothing
    echo "$p"
}
inits() { local h; for h in ${NETNS_HOSTS:-}; do init_of "$h"; done; }

# agent_kill HOST worker|guard|sshd|both|all: SIGKILL to that process of the agent there, or to
# those; fails if there is none.
# shellcheck disable=SC2086 # pids
agent_kill() {
    local pid init=()
    [ "$1" = localhost ] || init=("$(init_of "$1")")
    pid=$("$SOURCE/tests/fault/look.py" agent "$EVENTS" "$1" "$2" "${init[@]}") &&
        [ -n "$pid" ] && kill -KILL $pid 2> /dev/null
}

# Both of the agent's processes on localhost: stopped first and then killed, so that neither can
# clean up after the other.
both_kill() {
    local pids
    pids=$("$SOURCE/tests/fault/look.py" agent "$EVENTS" localhost worker) &&
        pids+=" $("$SOURCE/tests/fault/look.py" agent "$EVENTS" localhost guard)" || return 1
    # shellcheck disable=SC2086
    kill -STOP $pids && kill -KILL $pids
}

# shellcheck disable=SC2046 # a list of pids
left_behind() { "$SOURCE/tests/fault/look.py" left "$EVENTS" "$MARK" $(inits); }

# nothing_left NAME [0]: with 0 nothing may be left now. Without it a hang fails, because the ranks
# do not end by themselves.
nothing_left() {
    if wait_for 'left_behind > "$T/left"' "${2:-}"; then
        pass "$1"
    else
        fail "$1" "left: $(cat "$T/left")"
    fi
}

# zoo_end STATUS NAME: waits for nothing to be left, then for mlaunch.
zoo_end() {
    nothing_left "$2: nothing is left"
    wait "$mlaunch" 2> /dev/null
    status=$?
    cp "$T/out" "$OUT"
    cp "$T/err" "$ERR"
    if [ "$status" -eq "$1" ]; then
        pass "$2: status $1"
    else
        fail "$2: status $1" "status $status"
        diag_run "$2"
    fi
}
