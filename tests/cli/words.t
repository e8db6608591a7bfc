#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# --words fills words in the program's arguments: on each host with what is true there.
# shellcheck disable=SC1083 # braces that mlaunch is to see
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../lib/hosts.sh"
. "${0%/*}/job.sh"

job_prints "[0] 0 0 2 0 1 localhost 127.0.0.1
[1] 1 1 2 0 1 localhost 127.0.0.1" "the words are filled in on this host" \
    -n 2 --words -- echo {rank} {local_rank} {size} {host_rank} {hosts} {host} {head}
job_prints "a0b0 {rank} {} }}|-" \
    "several words may be in one, with braces, and none in the program's name" \
    --words -- sh -c 'echo "$1 $2|$0"' - a{rank}b{rank} '{{rank} {{} }}'
job_prints "{rank} {what}" "all stays as it is without --words" -- echo {rank} {what}
job_prints "[0] one 0 of 3
[1] two 1 of 3
[2] two 2 of 3" "each of several programs has its words" \
    --words -n 1 -- echo one {rank} of {size} : -n 2 echo two {rank} of {size}
job_prints "[0] - 0
[1] w1 1" "--wrap has words, too" \
    -n 2 --words --wrap '1: env W=w{rank}' -- sh -c 'echo ${{W:--} {rank}'
printf 'import sys\nprint(sys.argv[1:])\n' > "$T/script.py"
job_prints "['x0']" "a Python script that is not executable has its words" \
    --words -- "$T/script.py" x{rank}
check_error 125 "--words: argument 2 of echo: '\{rnak\} b' begins with none of the words, \{rank\} .* \{port\}; write \{\{ for a brace" \
    "an unknown word is refused" "$MLAUNCH" --words -n 2 -- echo a '{{ {rnak} b'
check_error 125 "--words: argument 1 of true: '\{' begins with none" \
    "a brace alone is refused in any program" "$MLAUNCH" --words -n 1 -- echo {rank} : -n 1 true '{'
run "$MLAUNCH" --dry-run --words -n 1 -- echo '{{{rank}' : -n 1 echo plain
check_match '^    filled in for each rank: \{rank\} \{\{$' "$OUT" "--dry-run names the words"
check "--dry-run names the words of programs that have some" [ "$(grep -c 'filled in' "$OUT")" = 1 ]
check_error 125 "exec.* --words|--words.* exec" "exec with --words is refused" \
    "$MLAUNCH" exec --words -- true
run "$MLAUNCH" batch slurm --nodes 2 --words -- echo '{rank} x'
check_match " --words .*-- echo '\{rank\} x'$" "$OUT" "batch passes words on as they are"

# {port}: with --starting-port 20000 and two ranks, the first of them that is tried is 20018.
PORTS=(--starting-port 20000 --words -n 2)
job_prints "[0] 20018
[1] 20018" "{port} is the same for all ranks" "${PORTS[@]}" -- echo {port}
hosts_up 2
THERE=(--ssh-config "$NETNS_SSH_CONFIG" -H "$H1,$H2" "${PORTS[@]}")
job_prints "[0] 0 0 1 of 2 $H1 $A1:20018
[1] 1 0 1 of 2 $H2 $A1:20018" "the words are filled in on two hosts" "${THERE[@]}" --ppn 1 -- \
    echo {host_rank} {local_rank} 1 of {hosts} {host} {head}:{port}
job_prints "[0] $A1
[1] $A1" "{head} is filled in without the library" \
    "${THERE[@]}" --backend none --mpi none -- echo {head}

# Where this host has rank 0, the others are told its address, not that of their own loopback.
own=${A1%.*}.1
for hosts in "localhost,$H1" "localhost,$H1,$H2" "localhost:2,$H2"; do
    run "$MLAUNCH" --ssh-config "$NETNS_SSH_CONFIG" -H "$hosts" --backend none --mpi none --words \
        --output raw -- sh -c 'echo "$MASTER_ADDR $0"' {head}
    cp "$OUT" "$T/heads"
    check_output "$own $own" "{head} and MASTER_ADDR are this host's with -H $hosts" \
        sort -u "$T/heads"
done
run "$MLAUNCH" --ssh-config "$NETNS_SSH_CONFIG" -H "$H1,localhost" --backend none --mpi none --words \
    --output raw -- sh -c 'echo "$MASTER_ADDR $0"' {head}
cp "$OUT" "$T/heads"
check_output "$A1 $A1" "{head} and MASTER_ADDR are another host's if it has rank 0" \
    sort -u "$T/heads"

# Something listens on these ports of the second host, until `ports_free`.
ports_take() {
    coproc TAKEN { netns exec "$H2" python3 "$SOURCE/tests/cli/taken_ports.py" "$@"; }
    read -r _ <&"${TAKEN[0]}"
}
ports_free() {
    local pid=$TAKEN_PID fd=${TAKEN[1]}
    exec {fd}>&-
    wait "$pid"
}
ports_take 20018 20016
job_prints "[0] 20017
[1] 20017" "a port that the second host has taken is nobody's" "${THERE[@]}" -- echo {port}
job_prints "[0] 21
[1] 21" "a port that is taken matters to those alone who ask for one" "${THERE[@]}" -- echo {hosts}1
ports_free
# shellcheck disable=SC2046 # numbers
ports_take $(seq 20007 20018)
job_says 125 "$H2: \{port\}: each of the 12 ports that it may be is taken there or on a host before it; start the job again, .*--starting-port" \
    "a job is refused if no port is left" "${THERE[@]}" -- echo {port}
ports_free
done_testing
