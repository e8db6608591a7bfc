#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What mlaunch prints before it starts anything: help, version, refusals with status 125, and the
# plan.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
plan() { "$MLAUNCH" --dry-run "$@"; }
full_disk() { "$@" > /dev/full; }
closed() { "$@" >&-; }
stderr_of() { { "$@" > /dev/null; } 2>&1; }
# refused REGEX ARG…: status 125, that sentence, nothing on stdout, no second line.
refused() {
    local regex=$1
    shift
    check_error 125 "^mlaunch: error: .*$regex" "mlaunch $* is refused" "$MLAUNCH" "$@"
    if [ ! -s "$OUT" ] && [ "$(wc -l < "$ERR")" -eq 1 ]; then
        pass "the refusal of mlaunch $* is one line"
    else
        fail "the refusal of mlaunch $* is one line" "$(cat "$OUT" "$ERR")"
    fi
}

check "mlaunch --version works" "$MLAUNCH" --version
check_match '^features: [+-]rdma [+-]ssh [+-]pmix [+-]hwloc [+-]ncurses [+-]llm [+-]usdt$' "$OUT" \
    "--version prints what the build has"
check_match '^mlaunch [0-9]+\.[0-9]+\.[0-9]+ \(build [0-9a-f]{16}\)$' "$OUT" \
    "--version prints version and build id"
check "mlaunch --help works" "$MLAUNCH" --help
cp "$OUT" "$T/help"
check_match '--hostfile FILE' "$T/help" "--help lists options"
check_no_match '--mca' "$T/help" \
    "--help lists nothing that isn't there"
check_no_match '.{81}' "$T/help" "no line of --help is wider than 80"
for command in ps join kill clean hosts batch bench env exec info logs metrics status sync \
    verify; do
    check "mlaunch $command --help works" "$MLAUNCH" $command --help
    check_no_match '.{81}' "$OUT" "mlaunch $command --help has no line that is wider than 80"
done
check_output "-n -H --hostfile -x --backend --output --timeout --restarts --dry-run -v" \
    "the options that are needed most come first" sh -c \
    'sed -n "/^Most used/,/^\$/s/^ *\(-[^ ,]*\).*/\1/p" "$1" | paste -sd" "' sh "$T/help"
check_error 125 'cannot write to stdout: No space left' "a full disk is noticed" full_disk \
    "$MLAUNCH" --help
check_error 125 'cannot write to stdout: Bad file descriptor' "a closed stdout is noticed" closed \
    "$MLAUNCH" --help

refused 'no program given'
refused 'no program given' run
refused 'unknown option --hostfil; did you mean --hostfile\?' --hostfil x prog
refused "'pmi3' is not auto, pmi1, pmix or none" --mpi pmi3 prog
refused "--mca is Open MPI's: mlaunch has no such settings" --mca btl tcp prog
refused '-hostfil; did you mean -hostfile\?' -hostfil x prog
refused '--json goes with --detach' --json prog
refused 'is a list, but this option takes one variable: write -x FOO -x BAR=3' -x FOO,BAR=3 prog
refused "'x' is not a whole number" -n x prog
refused 'needs a value: --hosts LIST' --hosts
refused 'put it before the first program' a : --timeout 3 b
refused 'have 1 slot; --oversubscribe' -H a:1 -n 2 prog
refused 'have 4 slots; --oversubscribe' -H a:2,b:2 -n 5 prog
refused "ranks are 0 to 1" -n 2 --stdin 2 prog
refused 'set by mlaunch' -x MLAUNCH_RANK=3 prog
refused 'shm needs all ranks on one host' -H a,b --backend shm prog
refused 'data over RDMA is not encrypted' -H a,b --secure --backend rdma prog
refused 'backend none is without it' --secure --backend none prog
refused '/nonexistent: cannot be opened: No such file' --hostfile /nonexistent prog
printf '[{"ssh": "a"}, {"ssh": "b", "slots": 0}]' > "$T/hosts"
refused 'hosts: hosts\[1\] \(b\): slots: 0 is not from 1' --hostfile "$T/hosts" prog
printf '\nexport A=1\n' > "$T/env"
refused "--env-file: .*/env line 2: .* leave out 'export'" --env-file "$T/env" prog
printf 't1 slots=2\nt2 slots=2 max_slots=4\nt3 slots=2\n' > "$T/hosts.txt"
refused 'host t2 would get 5 ranks, but its max_slots is 4' --hostfile "$T/hosts.txt" -H t2 -n 5 \
    --oversubscribe prog
refused "host t5 is not in the hostfile .*/hosts.txt" --hostfile "$T/hosts.txt" -H t2,t5 prog
printf '[defaults]\nnp = 2\ntimout = 3\n' > "$T/bad.ini"
refused 'bad.ini line 3: unknown option timout; did you mean timeout\?' --config "$T/bad.ini" prog

# Configuration: ours, below $XDG_CONFIG_HOME, and never the current directory's.
mkdir -p "$XDG_CONFIG_HOME/mlaunch" "$T/here/.config/mlaunch" "$T/here/mlaunch"
printf '[defaults]\nnp = 3\n[profile wide]\nnp = 5\n' > "$XDG_CONFIG_HOME/mlaunch/mlaunch.ini"
for file in mlaunch.ini .mlaunch.ini .config/mlaunch/mlaunch.ini mlaunch/mlaunch.ini; do
    printf '[defaults]\nnp = 7\n' > "$T/here/$file"
done
size() { (cd "$T/here" && plan "$@") | sed -n 's/^job: \([0-9]*\) rank.*/\1/p'; }
check_output 3 "the user's file is read, the current directory's is not" size -- prog
check_output 5 "a profile is read from the user's file" size --profile wide -- prog
export MLAUNCH_OPT_NP=4
check_output 4 "the environment wins over files" size --profile wide -- prog
check_output 2 "the command line wins over all" size -n 2 -- prog
unset MLAUNCH_OPT_NP
rm "$XDG_CONFIG_HOME/mlaunch/mlaunch.ini"

# help.
check "mlaunch help works" sh -c '"$1" help > "$2"' sh "$MLAUNCH" "$T/help2"
check_output "" "mlaunch help is --help" diff "$T/help" "$T/help2"
check_output "$(cat "$T/help2")" "mlaunch help help is --help" "$MLAUNCH" help help
check_output "$(cat "$T/help2")" "mlaunch run --help is --help" "$MLAUNCH" run --help
check_match "^program 0: 1 rank: run$" <("$MLAUNCH" run --dry-run run) "a program may be called run"

# A command that is misspelt is a program; where there is none, the command is named.
check_error 127 "did you mean mlaunch verify\?" "a slip in a subcommand is told" \
    "$MLAUNCH" verfy -H x
check_error 127 "did you mean mlaunch kill\?" "another program's word for a subcommand is told" \
    "$MLAUNCH" stop 3
check_status 127 "a program that is there runs" "$MLAUNCH" sh -c 'exit 127'
check_no_match "did you mean" "$ERR" "a program that is there has not been meant otherwise"
check_status 127 "a word that is no slip is a program" "$MLAUNCH" no-such-program
check_no_match "did you mean" "$ERR" "a word that is no slip gets no guess"
check "mlaunch help ps works" "$MLAUNCH" help ps
check_match '^usage: mlaunch ps' "$OUT" "mlaunch help ps is that of ps"
refused 'there is no command prog' help prog

# Options of other launchers.
check_match '^job: 4 ranks on 2 hosts' <(plan -host a,b --ntasks-per-node=2 -wdir /d --label \
    --allow-run-as-root -genv A 1 prog) "words of mpirun and srun are understood"
check_match '^program 0: 2 ranks: p x$' <(plan -n=2 --nproc_per_node 2 p x) \
    "words of torchrun are understood"
check_match 'timeout: 90 s$' <(plan --timeout 1.5m prog) "a time may be in minutes"

# Hosts.
hosts_of() { plan "$@" | sed -n 's/^host [0-9]*: \([^ ]*\) .*: ranks \(.*\)/\1 \2/p' | paste -sd' ' -; }
check_output "t1 0-1 t2 2-3" "-H may be repeated" hosts_of -H t1:2 -H t2:2, prog
check_output "t1 0-1 t2 2-3 t3 4" "-H takes brackets for several hosts" \
    hosts_of -H 't[1-2]:2,t3' prog
check_output "t1 0-1 t3 2" "-H chooses among a hostfile's hosts" \
    hosts_of --hostfile "$T/hosts.txt" -H t3:1,t1 prog
check_error 0 "^mlaunch: warning: 'root@t1:22' means 22 slots; a port goes into ssh_config" \
    "slots that look like a port are warned of" plan -H root@t1:22 prog
check_error 0 '^mlaunch: warning: -x A=1,B=2 is one variable; if B is another' \
    "a list of variables is warned of" plan -x A=1,B=2 prog
check_output "" "a value with commas is not warned of" stderr_of plan -x 'A=a=1,b=2,--c=d' prog

# One mlaunch starts a job, and not each of several processes; a rank may start another.
check_error 125 'mlaunch is started once, not by mpiexec, which starts 3 of it: write mlaunch -n 3' \
    "mlaunch started by mpiexec is refused" env PMI_SIZE=3 PMI_RANK=1 "$MLAUNCH" hostname
check_error 125 'started once, not by mpirun' "mlaunch started by mpirun is refused" \
    env OMPI_COMM_WORLD_SIZE=2 "$MLAUNCH" hostname
check_error 125 'started once, not by srun' "mlaunch started by srun is refused" \
    env SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=2 SLURM_PROCID=1 "$MLAUNCH" hostname
check "mlaunch runs inside srun -n 1" env SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=1 "$MLAUNCH" true
check "mlaunch runs inside sbatch" env SLURM_NTASKS=4 SLURM_PROCID=0 "$MLAUNCH" true
check "mlaunch runs in the shell of srun -n 4 --pty" \
    env SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=4 SLURM_PROCID=0 SLURM_PTY_PORT=1 "$MLAUNCH" true
check_output $'x\nx' "mlaunch may be started by a rank" \
    "$MLAUNCH" -n 2 --output raw -- "$MLAUNCH" -- echo x

# The plan.
check "--dry-run works with two programs" \
    plan -H a:2,b:2 -x A=1 --cwd /d -n 3 ./prog 'x y' : -n 1 -- other
check_match '^job: 4 ranks on 2 hosts \(--hosts\)$' "$OUT" \
    "--dry-run tells how many ranks on how many hosts"
check_match '^backend: tcp' "$OUT" "--dry-run tells the backend"
check_match "^program 0: 3 ranks: ./prog 'x y'\$" "$OUT" "--dry-run tells the programs"
check_match '^    directory /d$' "$OUT" "--dry-run tells the directory"
check_match '^    environment A=1$' "$OUT" "--dry-run tells the environment"
check_match '^host 1: b \(SSH, 2 slots\): ranks 2-3$' "$OUT" "--dry-run tells the hosts"
check_match '^rank 3: host b, local rank 1, program 1$' "$OUT" "--dry-run tells the ranks"
check_error 0 '^mlaunch: warning: NOT_THERE is not set here' "an absent variable is a warning" plan \
    -x NOT_THERE prog
check_match '^backend: tcp, encrypted' <(plan -H a,b --secure prog) \
    "--dry-run tells that data is encrypted"
check_match '^backend: tcp, encrypted' <(MLAUNCH_OPT_SECURE=yes plan -H a,b prog) \
    "encryption may be asked for in the environment"
check_output "" "-q silences a warning" stderr_of plan -q -x NOT_THERE prog
check_error 0 '^mlaunch: backend shm: all ranks are on one host' "-v says why this backend" plan \
    -v prog
check_error 0 '^mlaunch: placement: 3 ranks on 2 of the 2 hosts \(--hosts\), dealt out host by host$' "-vv names the placement" \
    plan -vv -H a,b -n 3 --map-by host prog
check_match '^mlaunch: host a: its agent is started over SSH$' "$ERR" \
    "-vv names the way to each host"
check_error 0 '^mlaunch: backend tcp: chosen by --backend$' "-vvv names who chose the backend" \
    plan -vvv --backend tcp -H a,b -n 3 prog
check_match '^    environment MLAUNCH_ALGO=ring$' <(MLAUNCH_ALGO=ring plan prog) \
    "MLAUNCH_ALGO is passed on to the ranks"
printf '%s\n' '# ours' 'all_reduce:ring@8..64 hosts=2 ranks=4 backend=tcp # measured' '' \
    'broadcast:binomial ' 'reduce:direct ranks=5' > "$T/tuned"
check_match '^    environment MLAUNCH_ALGO=all_reduce:flat,all_reduce:ring@8..64,broadcast:binomial$' \
    <(MLAUNCH_ALGO=all_reduce:flat plan --tuning "$T/tuned" -H a,b -n 4 prog) \
    "--tuning adds the lines that are for the job"
check_match '^    environment MLAUNCH_ALGO=broadcast:binomial$' \
    <(plan --tuning "$T/tuned" -n 4 prog) "--tuning adds no lines for other jobs"
echo 'reduce:direct backend=rdma' > "$T/tuned"
check_error 0 "warning: --tuning: no line of $T/tuned is for 1 rank on 1 host over shm" \
    "a job that fits no line is named" plan --tuning "$T/tuned" prog
check_no_match MLAUNCH_ALGO "$OUT" "a job that fits no line gets none"
: > "$T/tuned"
check_output "" "a file without lines is no matter" stderr_of plan --tuning "$T/tuned" prog
echo > "$T/tuned"
for line in 'all_reduce' 'ring@8..' 'all_reduce:ring;x' ':ring' 'a:b=c' 'a,b:c'; do
    printf '\n%s\n' "$line" > "$T/tuned"
    check_error 125 "--tuning: $T/tuned:2: '$line' is not CALL:ALGORITHM" \
        "--tuning refuses the line $line" plan --tuning "$T/tuned" prog
done
for word in ranks=0 hosts= backend=none backend ports=3 =4; do
    echo "all_reduce:ring $word" > "$T/tuned"
    check_error 125 "--tuning: $T/tuned:1: '$word' is not ranks=N" \
        "--tuning refuses the word $word" plan --tuning "$T/tuned" prog
done
check_error 125 "--tuning: $T/none: cannot be opened: No such file" \
    "a missing file of --tuning is named" plan --tuning "$T/none" prog
check "names with control characters are shown harmlessly" plan $'a\e[2Jb'
check_no_match $'\e' "$OUT" "the plan shows names with control characters harmlessly"
check "a hostfile may be a pipe" plan --hostfile <(echo a) prog
check_match '^host 0: a ' "$OUT" "the hostfile from a pipe is read"
# What torchrun's documentation tells everyone to type.
check_output 2 "torchrun's --nnodes=1 with two processes starts two ranks" \
    sh -c '"$@" | wc -l' sh "$MLAUNCH" --standalone --nnodes=1 \
    --nproc_per_node=2 --rdzv_backend=c10d --rdzv_endpoint=localhost:0 -- echo
check_error 125 "the command line says one host, and --hosts names 2: name one with -H" \
    "--nnodes 1 with two hosts is refused" "$MLAUNCH" --nnodes 1 -H a,b -- true
# What users of other tools type.
hinted() { check_error "$1" "$2" "mlaunch ${*:3} is refused with what to type" \
    "$MLAUNCH" "${@:3}"; }
hinted 127 "a number of ranks is given with -n: mlaunch -n 2 PROGRAM" 2 hostname
hinted 125 "status has no -w: --watch 5 looks again every 5 s" status -w 1
hinted 125 "logs has no --tail: -n 5 prints the last 5 lines" logs --tail 5
hinted 125 "logs has no --since: .*-n 100 prints the last 100" logs --since 5m
hinted 125 "mlaunch kill takes one word, so not 'b' as well" kill a b
hinted 125 "sync has no --include: all that no --exclude names is copied" sync --include '*.c' .
hinted 125 "sync has no -avz: .*nothing is compressed" sync -avz .
hinted 125 "sync has no --exclude-from: --exclude PATTERN, once for each" sync --exclude-from f .
hinted 125 "there is no u1:/srv/h here; a host is named with -H u1, the place there with --to /srv/h" \
    sync "$SOURCE" u1:/srv/h
refused '--elastic 3: the job has only 2 ranks' -n 2 --elastic 3 -- true
refused '--elastic with --restarts and --pty exclude each other' --elastic 1 --restarts 1 --replace-wait 2 --pty -- true
check "--restarts inf is a number" "$MLAUNCH" --restarts inf -- true
done_testing
