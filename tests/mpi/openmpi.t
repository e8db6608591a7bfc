#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Programs of Open MPI start unmodified on one host, as one job, and end as other programs do.
TEST_TIER=full
. "${0%/*}/../lib/test.sh"
. "$SOURCE/tests/mpi/openmpi.sh"

for n in 1 2 4 16; do
    check "$n ranks of Open MPI end well" "$MLAUNCH" -n "$n" "$MPI"
    all_right "$n" "all $n ranks are one job"
done
check "ranks with --bind-to core, --backend none and --output raw end well" \
    "$MLAUNCH" -n 2 --bind-to core --backend none --output raw "$MPI"
all_right 2 "both ranks with these options are one job"
check_output "" "Open MPI has nothing to say of these options" cat "$ERR"
check "two programs end well" "$MLAUNCH" -n 2 "$MPI" : -n 1 "$MPI"
all_right 3 "two programs are one job"
check_match 'rank 1 of 3 program 0' "$OUT" "the first program is number 0"
check_match 'rank 2 of 3 program 1' "$OUT" "the second program is number 1"
check "a shell script with --mpi pmix ends well" "$MLAUNCH" -n 2 --mpi pmix sh -c "$MPI; true"
all_right 2 "ranks in a shell script are one job"
check "a shell script with MLAUNCH_OPT_MPI ends well" env MLAUNCH_OPT_MPI=pmix "$MLAUNCH" -n 2 sh \
    -c "$MPI; true"
all_right 2 "ranks with MLAUNCH_OPT_MPI are one job"

check_error 125 'a program of Open MPI cannot go on without one of its ranks: leave --elastic out' \
    "--elastic is refused for an MPI program" "$MLAUNCH" -n 2 --elastic 1 "$MPI"
check_error 1 'rank [01] .* runs a program of Open MPI, which cannot be served: .*leave --elastic' \
    "--elastic is refused for an MPI program in a script" "$MLAUNCH" -n 2 --elastic 1 sh -c \
    "$MPI; true"

check "ranks with two names of this machine end well" "$MLAUNCH" \
    --agent-command "env HOST={host} sh -c" -H a,b -n 4 "$MPI"
all_right 4 "two names of this machine are two hosts of one job"
# Behind a script, a shell's line, make or a wrapper, on one host or on several, the program itself
# is seen to need PMIx, before its main().
printf '#!/bin/bash\nexport OMP_NUM_THREADS=1\n%s\necho done\n' "$MPI" > "$T/run.sh"
chmod +x "$T/run.sh"
printf 'run:\n\t%s\n' "$MPI" > "$T/Makefile"
by_demand() { # NAME COMMAND…
    check "$1 starts ranks that end well" "$MLAUNCH" -n 2 "${@:2}"
    all_right 2 "$1 starts ranks that are one job"
}
by_demand "a script" "$T/run.sh"
by_demand "a shell's line" sh -c "cd / && $MPI; true"
by_demand "exec" bash -c "exec $MPI"
by_demand "make" make -s -f "$T/Makefile" run
by_demand "the default, written" --mpi auto "$T/run.sh"
by_demand "two hosts, one of which is late" --agent-command "env HOST={host} sh -c" -H a,b \
    sh -c "[ \$MLAUNCH_RANK = 0 ] || sleep 1; $MPI"
check_no_match 'mlaunch-pmix' <("$MLAUNCH" -n 2 sh -c \
    'for p in $(cat /proc/$PPID/task/$PPID/children); do cat /proc/$p/comm; done') \
    "a script without MPI starts no server"
check_status 1 "a second program in a script fails" "$MLAUNCH" -n 2 sh -c "$MPI; $MPI"
check_match 'warning: .*rank 0 starts a second MPI program, and can be only one' "$ERR" \
    "a second program in a script is named"
check_error 1 'rank [01] on .* has run an MPI program that was not served, and a job of its own' \
    "ranks that --mpi pmi1 does not serve fail" "$MLAUNCH" -n 2 --mpi pmi1 "$MPI"
check_match 'warning: mpi_program, .* is a program of Open MPI, but .*, because of --mpi pmi1, so' \
    "$ERR" "--mpi pmi1 says that it does not serve this program"
check_apart pmi1
check_match '^MPI programs: PMI-1, and PMIx for' <("$MLAUNCH" --dry-run -n 2 "$T/run.sh") \
    "--dry-run says what is served"
check "ranks with -v end well" "$MLAUNCH" -v -n 2 "$MPI"
check_match 'MPI programs: PMIx, for a program of Open MPI' "$ERR" \
    "a line of -v says what is served"
echo 'from mpi4py import MPI
world = MPI.COMM_WORLD
print("sum", world.allreduce(world.rank + 1), "of", world.size)' > "$T/sum.py"
if [ -e /usr/lib/python3/dist-packages/mpi4py ]; then
    check "ranks of mpi4py end well" "$MLAUNCH" -n 3 /usr/bin/python3 "$T/sum.py"
    cp "$OUT" "$T/sums"
    check_output 3 "ranks of mpi4py are one job" grep -c 'sum 6 of 3$' "$T/sums"
    check "ranks of mpi4py behind a script end well" "$MLAUNCH" -n 3 sh -c \
        "/usr/bin/python3 $T/sum.py; true"
    cp "$OUT" "$T/sums"
    check_output 3 "ranks of mpi4py behind a script are one job" grep -c 'sum 6 of 3$' "$T/sums"
else
    skip "ranks of mpi4py end well" "not here (python3-mpi4py)"
fi
if is_here NPopenmpi; then
    check "NetPIPE ends well" "$MLAUNCH" -n 2 NPopenmpi -o "$T/netpipe" -n 10 -u 4096
    check_match '4096' "$T/netpipe" "NetPIPE has measured what it was told to"
else
    skip "NetPIPE ends well" "$LACKS"
fi

if is_here hpcc; then
    cp "$SOURCE/tests/mpi/hpccinf.txt" "$T"
    check "HPC Challenge ends well" "$MLAUNCH" -n 2 --cwd "$T" hpcc
    check_match '^Success=1$' "$T/hpccoutf.txt" "HPC Challenge has run its programs"
    check_match '^CommWorldProcs=2$' "$T/hpccoutf.txt" "the ranks of HPC Challenge are one job"
    check_no_match 'FAILED|^ *[1-9].* failed residual|ErrorsFraction=.*[1-9]' "$T/hpccoutf.txt" \
        "all checks of HPC Challenge have passed"
else
    skip "HPC Challenge ends well" "$LACKS"
fi

mark=$(new_mark openmpi)
check_ends "$mark"

check "names are published" "$MLAUNCH" -n 2 "$MPI" names
check_match 'name: port-of-rank-0' "$OUT" "published names are found"
check_match 'unknown name: not found' "$OUT" "names that nobody published are not found"
# shellcheck disable=SC2046 # words
gcc -o "$T/pmix_names" "$SOURCE/tests/mpi/pmix_names.c" $(pkg-config --cflags --libs pmix)
check_output "awaited in vain: NOT-FOUND
published once: SUCCESS
first look: value
second look: NOT-FOUND
published: SUCCESS
again: EXISTS
found: value
withdrawn: SUCCESS
twice: NOT-FOUND" \
    "names of PMIx are published, found and withdrawn" "$MLAUNCH" --output raw "$T/pmix_names"
check "a rank connects to another's port" "$MLAUNCH" -n 3 "$MPI" connect
check_match 'connected: right' "$OUT" "ranks that are connected by a port talk"
check "ranks that call MPI_Comm_spawn go on" "$MLAUNCH" -n 2 "$MPI" spawn
check_match 'spawn: refused' "$OUT" "MPI_Comm_spawn is refused"
check_match 'warning: .*rank 0 called MPI_Comm_spawn, which fails' "$ERR" \
    "a warning says why MPI_Comm_spawn fails"
check "started again after a failure" \
    "$MLAUNCH" -n 2 --restarts 1 -x "$mark" "$MPI" first 1
check_match 'rank 1 of 2 .*right' "$OUT" "the ranks of the second run are one job"
nothing_left "a job that was started again" "$mark"

check "ranks with --mpi none end well" "$MLAUNCH" -n 2 --mpi none "$MPI"
check_match 'rank 0 of 1' "$OUT" "--mpi none makes each rank a job of its own"
check "a job within a rank ends well" "$MLAUNCH" -n 2 "$MLAUNCH" -q -n 2 --output raw "$MPI"
check_match 'rank 1 of 2' "$OUT" "a job within a rank is one of its own"

# Whoever writes to the server's port what is no PMIx does not trouble it.
cat > "$T/junk.py" << 'END'
import os, re, socket, sys
host, port = re.search(r"tcp4?://([\d.]+):(\d+)", os.environ["PMIX_SERVER_URI41"]).groups()
all_bytes = bytes(range(256))
for junk in (b"", b"\0", b"\xff" * 100, all_bytes * 20, b"\x7f\xff\xff\xff" * 10, b"GET /\n"):
    with socket.create_connection((host, int(port))) as s:
        s.sendall(junk)
os.execv(sys.argv[1], sys.argv[1:])
END
check "ranks that write junk to the server end well" "$MLAUNCH" -n 2 --mpi pmix \
    python3 "$T/junk.py" "$MPI"
all_right 2 "ranks that write junk to the server are one job"

# The server of a job whose ranks sleep.
cat > "$T/server" << 'END'
for pid in $(pgrep -x mlaunch-pmix); do
    if tr '\0' '\n' < "/proc/$pid/environ" | grep -qx "MLAUNCH_JOB_DIR=$MLAUNCH_JOB_DIR"; then
        kill -"$1" "$pid"
    fi
done
exec sleep 60
END
check_error 125 'mlaunch-pmix, which serves ranks 0-1 by PMIx, was killed by signal 9' \
    "a server that is killed ends the job" \
    "$MLAUNCH" -n 2 --mpi pmix -x "$mark" sh "$T/server" KILL
nothing_left "a server that is killed" "$mark"
# Who kills it fails as well, and may be seen first.
for i in 1 2 3; do
    check_error 125 'mlaunch-pmix, which serves ranks 0-1 by PMIx, was killed by signal 9' \
        "the end of a server whose killer fails is named ($i)" \
        "$MLAUNCH" -n 2 --mpi pmix -x "$mark" sh -c \
        'sed "s/exec.*//" "$0" > "$0.$$"; [ "$MLAUNCH_RANK" = 1 ] || { sh "$0.$$" KILL; exit 1; }; exec sleep 60' \
        "$T/server"
done
check_error 3 'rank 0 .*exited with status 3' "a rank that stops the server and fails is told of" \
    "$MLAUNCH" -n 2 --mpi pmix -x "$mark" sh -c \
    'sed "s/exec.*//" "$0" > "$0.$$"; [ "$MLAUNCH_RANK" = 1 ] || { sh "$0.$$" STOP; exit 3; }; exec sleep 60' \
    "$T/server"
nothing_left "a rank that stops the server" "$mark"
check "ranks of a server that is stopped for a while end well" "$MLAUNCH" -n 1 --mpi pmix -x \
    "$mark" sh -c \
    'sed "s/exec.*//" "$0" > "$0.$$"; sh "$0.$$" STOP; until grep -q "for 10 s" "$1"; do sleep 0.1; done
    sh "$0.$$" CONT; until grep -q "answers again" "$1"; do sleep 0.1; done' "$T/server" "$ERR"
check_match 'warning: .*mlaunch-pmix .pid [0-9]+., which serves rank 0 by PMIx, has not answered for 10 s: MPI_Init' \
    "$ERR" "a server that is stopped for a while is told of"
check "ranks of a server that does not end go well" "$MLAUNCH" -n 2 --mpi pmix -x "$mark" sh -c \
    'sed "s/exec.*//" "$0" > "$0.$$"; sh "$0.$$" STOP; true' "$T/server"
nothing_left "a server that does not end" "$mark"

# What a killed agent leaves of Open MPI's segments belongs to the job.
"$MLAUNCH" --name "stay.$$" -n 2 -x "$mark" "$MPI" stay > "$OUT" 2> "$ERR" &
job=$!
wait_for 'grep -q "rank 1 of 2" "$OUT"'
guard=$(pgrep -P "$job" -x mlaunch-agent)
worker=$(pgrep -P "$guard" -x mlaunch-agent)
must kill -9 "$job" "$guard" "$worker"
wait "$job" 2> "$T/wait"
no_survivors "mlaunch and its agent were killed: no process is left" "$mark"
check "mlaunch clean of the killed job succeeds" "$MLAUNCH" clean "stay.$$"
check_output "$SEGMENTS" "mlaunch clean removes the segments" segments

# munge proves whose a rank is: with it a rank that only says so is refused.
if [ -n "${OPENMPI_IS_ALONE:-}" ] && is_here munged; then
    security() { check_output "$1" "$2" "$MLAUNCH" --mpi pmix sh -c 'echo $PMIX_SECURITY_MODE'; }
    must "$TEST_LIB/cover" /run mode=755
    must mkdir -m 755 /run/munge
    chmod 711 "$T"
    head -c 1024 /dev/urandom > "$T/munge.key"
    chmod 600 "$T/munge.key"
    security native "without munge ranks say whose they are"
    munged --foreground --force --key-file="$T/munge.key" --socket=/run/munge/munge.socket.2 \
        --pid-file="$T/munged.pid" --log-file="$T/munged.log" --seed-file="$T/munged.seed" \
        > "$T/munged.out" 2>&1 &
    munged=$!
    wait_for '[ -S /run/munge/munge.socket.2 ]'
    security munge "where munged runs ranks prove whose they are"
    check "ranks with munge end well" "$MLAUNCH" -n 2 "$MPI"
    all_right 2 "ranks with munge are one job"
    check_status 1 "a rank that does not prove whose it is fails" "$MLAUNCH" -n 2 --mpi pmix sh -c \
        'PMIX_SECURITY_MODE=native PMIX_MCA_psec=native exec "$0"' "$MPI"
    check_match 'Unreachable' "$ERR" "a rank that does not prove whose it is is refused"
    check "ranks with the user's choice of security end well" "$MLAUNCH" -n 2 -x \
        PMIX_MCA_psec=native "$MPI"
    all_right 2 "the user's choice of security is obeyed"
    must kill "$munged"
    wait "$munged"
    security native "a munged that has ended is not asked"
    must umount -l /run
else
    skip "where munged runs ranks prove whose they are" "needs root and munged"
fi

if [ -n "${OPENMPI_IS_ALONE:-}" ]; then
    library=$(ldd "$BUILD/launcher/pmix/mlaunch-pmix" | awk '$1 == "libpmix.so.2" { print $3 }')
    must mount --bind /dev/null "$(realpath "$library")"
    check_error 125 'loading shared libraries: .*libpmix.so.2: .*Debian.s package is libpmix2' \
        "a host without libpmix is refused" "$MLAUNCH" -n 2 "$MPI"
    must umount "$(realpath "$library")"
fi
done_testing
