# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# soak.sh: short jobs, one after another, that compute, fail or are killed, beside one job that runs
# all the time (10 s here, 30 minutes in check-long, 2 in a turn of it). Nothing may grow: neither the hosts' processes,
# descriptors, segments and (in virtual machines) queue pairs, nor the memory and descriptors of the
# long job's mlaunch and agents. Behind test.sh and fault.sh:
#
#     SOAK_SSH=(ssh -F FILE)                  # how a command is run on a host
#     soak "HOST1 HOST2" OPTION…              # options with which mlaunch runs on these hosts
#
# shellcheck disable=SC2154 # mlaunch, status: of fault.sh and test.sh
COLLECTIVES=$BUILD/tests/runtime/collectives
soak_seconds=10
! is_long || soak_seconds=${MLAUNCH_TEST_SECONDS:-1800}
CHILDREN=30

# A host's resources, one a line. The shell counts by itself, since a process that it starts would
# count too. The kernel's own threads, which have no exe, come and go.
# shellcheck disable=SC2016 # for the host's shell
SOAK_LOOK='
count() { [ -e "$1" ] || shift; echo "$what $#"; }
n=0; for p in /proc/[0-9]*/exe; do [ ! -e "$p" ] || n=$((n + 1)); done; echo "processes $n"
what=descriptors; count /proc/[0-9]*/fd/*
what=segments; count /dev/shm/mlaunch-*
'
host_look() {
    local host
    for host in $SOAK_HOSTS; do
        "${SOAK_SSH[@]}" "$host" "$SOAK_LOOK" | sed "s/^/$host: /"
    done
}
# The long job's mlaunch and agents: their proportional memory in kB, and their descriptors.
long_look() {
    local pid memory descriptors
    for pid in $long "${LONG_AGENTS[@]}"; do
        memory=$(sed -n 's/^Pss: *\([0-9]*\).*/\1/p' "/proc/$pid/smaps_rollup") || memory=0
        descriptors=("/proc/$pid/fd"/*)
        echo "$pid $memory ${#descriptors[@]}"
    done
}
# This machine's processes of the agents in a job's events.
long_agents() {
    local host pid
    LONG_AGENTS=()
    for host in $SOAK_HOSTS; do
        pid=$("$SOURCE/tests/fault/look.py" agent "$T/long.events" "$host" both \
            ${NETNS_DIR:+"$(init_of "$host")"} 2> /dev/null) || continue
        # shellcheck disable=SC2206 # pids
        LONG_AGENTS+=($pid)
    done
}

# The allocator may take half as much again and 1 MB; a leak of 30 minutes is more. A sanitizer
# keeps what is freed, so that memory says nothing there. A connection that is open for a moment is
# no leak: the caller looks again.
long_has_not_grown() {
    awk -v sanitize="$SANITIZE" '
        NR == FNR { kb[$1] = $2; open[$1] = $3; next }
        (sanitize == "no" && $2 > kb[$1] * 1.5 + 1024) || $3 > open[$1] { bad = 1 }
        END { exit bad || NR < 2 }' "$T/long.before" "$T/long.after"
}

# soak_job KIND: one short job. Fails unless it ends with its status, and leaves nothing here.
soak_job() {
    local expected=$1 kind=$2 number=
    case $kind in
    true) set -- true ;;
    compute) set -- "$COLLECTIVES" --random $RANDOM 10 ;;
    exit:* | kill:* | abort) set -- "$FAULTY" call 1 "$kind" ;;
    INT | TERM | KILL | worker) set -- "$FAULTY" zoo "$CHILDREN" && number=4 ;;
    esac
    job_start "${WHERE[@]}" -n 4 --oversubscribe --grace 1 -- "$@"
    if [ -n "$number" ]; then
        has_said ready "$number"
        case $kind in
        worker) must agent_kill "${SOAK_HOSTS%% *}" worker ;;
        *) must kill -"$kind" "$mlaunch" ;;
        esac
    fi
    wait "$mlaunch" 2> /dev/null
    status=$?
    if [ "$status" -ne "$expected" ]; then
        diag "$kind: status $status, not $expected: $(head -n 3 "$T/err")"
        return 1
    fi
    left_nothing # look.py would find the long job's agents
}

# same NAME BEFORE AFTER: the two files, printed side by side, are equal.
same() {
    paste "$2" "$3" | sed 's/^/# /'
    check "$1" diff "$2" "$3"
}

soak() {
    local kinds rounds=0 bad=0 end
    SOAK_HOSTS=$1
    shift
    WHERE=("$@")
    kinds=("0 true" "0 compute" "7 exit:7" "137 kill:9" "9 abort" "130 INT" "143 TERM" "137 KILL")
    [ -z "${NETNS_DIR:-}" ] || kinds+=("125 worker") # its pid is seen only from here
    soak_job 0 compute # copies of the agent, directories that stay
    # What the last job's end has started, such as the end of its sshd, takes its time.
    wait_for 'mv "$T/hosts.before" "$T/hosts.earlier" 2> /dev/null; host_look > "$T/hosts.before"
        cmp -s "$T/hosts.earlier" "$T/hosts.before"'

    # A shell, so that its ranks meet in ever new generations.
    # shellcheck disable=SC2016
    "$MLAUNCH" --events "$T/long.events" "${WHERE[@]}" -n 4 --oversubscribe --grace 1 -- sh -c \
        'i=0; while "$0" --random $i 40; do i=$((i + 1)); done' "$COLLECTIVES" > "$T/long" \
        2> "$T/long.err" &
    long=$!
    end=$((SECONDS + soak_seconds))
    while [ $SECONDS -lt $end ] || [ $rounds -lt ${#kinds[@]} ]; do
        # shellcheck disable=SC2086 # a status and a word
        soak_job ${kinds[rounds % ${#kinds[@]}]} || bad=$((bad + 1))
        rounds=$((rounds + 1))
        if [ $rounds -eq ${#kinds[@]} ]; then
            wait_for 'grep -qs failures "$T/long"'
            long_agents
            long_look > "$T/long.before"
        fi
    done
    if [ $bad -eq 0 ]; then pass "$rounds short jobs ended as they should"; else
        fail "$rounds short jobs ended as they should" "$bad did not"
    fi
    wait_for 'long_look > "$T/long.after"; long_has_not_grown'
    must kill -TERM $long
    wait $long 2> /dev/null
    status=$?
    [ $status = 143 ] && pass "the long job ran until SIGTERM, $(grep -c failures "$T/long") times"
    [ $status = 143 ] || fail "the long job ran until SIGTERM" \
        "status $status: $(head -n 5 "$T/long.err")"
    wait_for 'host_look > "$T/hosts.after"; cmp -s "$T/hosts.before" "$T/hosts.after"'
    same "the hosts have what they had" "$T/hosts.before" "$T/hosts.after"
    echo "# the long job's mlaunch and agents: pid, kB, descriptors; at first and at last"
    paste "$T/long.before" "$T/long.after" | sed 's/^/# /'
    check "the long job's mlaunch and agents have not grown" long_has_not_grown
}
