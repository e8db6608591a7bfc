# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# cases.sh: what is the same in each container, after fault.sh and image.sh. $CONTAINER is the value
# of --container with which ranks see $IMAGE, $KILLED how a rank's end by SIGKILL is reported.
# shellcheck disable=SC2016,SC2153,SC2154 # words for the ranks' shell; variables of other files

in_container() { job --container "$CONTAINER" "$@"; }

# What a program finds in a container, and that its words arrive.
check_start() {
    check_output "the image's" "one rank sees the image" in_container -- cat /etc/whose
    check_output "the image's
the image's" "each of two ranks sees the image" in_container -n 2 --output raw -- cat /etc/whose
    check_output "$PWD" "a rank starts in the same directory" in_container -- sh -c 'pwd -P'
    local words=("a b" "" "it's" '"$HOME"' '$(id)' '{rank}' '*' -n --rm $'\t')
    check_output "$(printf '<%s>' "${words[@]}")" "a rank's words arrive as they are" \
        in_container -- sh -c 'printf "<%s>" "$@"' sh "${words[@]}"
    # But for what differs from job to job; _ is the shell's, and PATH may be the image's.
    local differs='^(MLAUNCH_(JOB|JOB_DIR|COORDINATOR|STDOUT|MPI_FD)|PMI_FD|_|SHLVL|PATH|LD_PRELOAD'
    differs+='|ASAN_OPTIONS|PYTHONPATH|container|CH_RUNNING|UCX_[A-Z_]*|HOSTNAME|USER|MASTER_PORT|OMPI_MCA_orte_[a-z_]*|TORCHELASTIC_[A-Z_]*'
    differs+='|[A-Z_]*COORDINATOR[A-Z_]*|[A-Z]*_(IBV_DEVICES|HOSTFILE)|JACCL_RING|MLX_[A-Z_]*'
    differs+='|TORCH_NCCL_DEBUG_INFO_PIPE_FILE|NCCL_[A-Z_]*|OLDPWD|TERM|NSS_WRAPPER_[A-Z]*)='
    A='a b' must job --output raw -x A -x "B=c=d" -- env | grep -Ev "$differs" | sort > "$T/without"
    A='a b' must in_container --output raw -x A -x "B=c=d" -- env | grep -Ev "$differs" | sort > "$T/with"
    check_match '^MLAUNCH_SIZE=1$' "$T/without" "a job without a container shows its environment"
    check "the environment is as without a container" diff "$T/without" "$T/with"
    check_output "/there" "-x PATH is for inside, too" in_container --output raw -x PATH=/there \
        -- /bin/sh -c 'echo $PATH'
    check_output "1 one
2" "a rank's input arrives" in_container --output raw --stdin 0 -n 1 -- sh -c \
    'read -r a; echo "1 $a"; cat' <<< $'one\n2'
    run in_container -n 2 --output raw --stdin none -- sh -c 'echo out; echo err >&2; exit 7'
    check_match '^out$' "$OUT" "a rank's output comes on stdout"
    check_match '^err$' "$ERR" "a rank's errors come on stderr"
    check_output 7 "a rank's status is the job's" echo "$status"
    check_output "here" \
        "--wrap runs inside the container" in_container --output raw --wrap '0: env WRAPPED=here' \
        -- sh -c 'echo $WRAPPED'
    job_prints "[0] 0 of 2
[1] 1 of 2" "a Python program finds the package" --container "$CONTAINER" -n 2 -- /usr/bin/python3 -c \
        'import mlaunch; mlaunch.init(); print("%d of %d" % (mlaunch.rank(), mlaunch.size()))'
}

# What is above a process, or its control group, says that it belongs to a job.
check_cut_off() {
    printf '#include <mlaunch.h>\n#include <stdio.h>\n%s\n' 'int main(void) { ml_group *world;
        int rc = ml_init(&world); fprintf(stderr, "%d %s\n", rc, rc ? ml_error() : "");
        return rc ? 9 : 0; }' > "$T/joins.c"
    must "$CC" -o "$T/joins" -I "$SOURCE/common" "$T/joins.c" -L"$BUILD/runtime" -lmlaunch \
        -Wl,-rpath,"$BUILD/runtime"
    job_says 9 '-2 this process belongs to a job \(.*\), but cannot know its rank: its environment is empty' \
        "a rank whose environment is emptied fails in ml_init, in words" \
        --container "$CONTAINER" -n 2 --oversubscribe -- env -i "$T/joins"
}

# The library and both MPIs, among containers on one host.
check_programs() {
    job_status 0 "three ranks make all collective calls over shared memory" \
        --container "$CONTAINER" -n 3 --oversubscribe \
        --output raw -- "$BUILD/tests/runtime/collectives" --program --diagonal
    job_status 0 "two ranks make all collective calls over TCP" --container "$CONTAINER" -n 2 \
        --oversubscribe --backend tcp \
        --output raw -- "$BUILD/tests/runtime/collectives" --program --diagonal
    if [ "$SANITIZE" = no ]; then check_cut_off; fi
    local kind compiler
    for kind in mpich openmpi; do
        compiler=mpicc.$kind
        if ! is_here "$compiler"; then
            skip "a program of $kind is one job" "$LACKS"
            continue
        fi
        must "$compiler" -o "$T/mpi_$kind" "$SOURCE/tests/mpi/mpi_program.c"
        run in_container -n 3 --oversubscribe -- "$T/mpi_$kind"
        all_right 3 "a program of $kind is one job"
        job_says 7 'rank 2 on host .* aborted the job: MPI_Abort with code 7' \
            "$kind: MPI_Abort gives the status" \
            --container "$CONTAINER" -n 3 --oversubscribe -- "$T/mpi_$kind" abort 7
        job_says 1 'rank [01] on .* runs an MPI program apart from the job: process [0-9]+ \(mpi_' \
            "$kind: a rank that has lost its environment is named" --container "$CONTAINER" -n 2 \
            --oversubscribe --timeout "$HANG_SECONDS" -- env -i "PATH=$PATH" "$T/mpi_$kind" stay
    done
    must "$CC" -static -DINNER=MPID_Init -o "$T/linked" "$SOURCE/tests/mpi/linked_program.c"
    job_says 1 'rank [01] on .* runs an MPI program apart from the job: process [0-9]+ \(linked\) has MPICH' \
        "a rank that has MPICH linked into it and has lost its environment is named" \
        --container "$CONTAINER" -n 2 --oversubscribe --timeout "$HANG_SECONDS" -- \
        env -i "PATH=$PATH" "$T/linked"
}

# started N: the job in the background has N ranks that have said "up".
started() { wait_for "[ \"\$(grep -c up '$T/out')\" -ge $1 ] || ! kill -0 $mlaunch 2> /dev/null"; }
# begin: starts two ranks that end by SIGKILL alone.
begin() {
    job_start --container "$CONTAINER" -n 2 --oversubscribe --grace 1 -- \
        sh -c 'trap "" TERM INT HUP; echo up $$; while :; do sleep 100; done'
    started 2
}
# ended N NAME
ended() {
    local got
    wait "$mlaunch" 2> /dev/null
    got=$?
    if [ "$got" -ne "$1" ]; then
        fail "$2" "status $got, expected $1"
        diag_file "$T/err"
    elif left_nothing && nothing_contained; then
        pass "$2"
    else
        fail "$2"
    fi
}
# Nothing of a container is left; files for programs that keep containers have another one.
nothing_contained() { :; }

# How a rank and a job end.
check_deaths() {
    begin
    local pid
    pid=$(sed -n 's/.*\[0\] up //p' "$T/out")
    must kill -KILL "$pid"
    ended 137 "a rank is killed: its status is the job's"
    check_match "rank 0 on host .*$KILLED" \
        "$T/err" "a rank that is killed is named"
    begin
    must kill -INT "$mlaunch"
    ended 130 "Ctrl-C ends the job"
    begin
    must kill -KILL "$mlaunch"
    ended 137 "mlaunch is killed: nothing is left"
    begin
    must agent_kill localhost worker
    ended 125 "the agent's worker is killed: nothing is left"
    begin
    must agent_kill localhost guard
    ended 125 "the agent's guard is killed: nothing is left"
    job_start --container "$CONTAINER" -n 2 --oversubscribe -- \
        sh -c 'trap "echo once; exit 5" TERM; echo up; while :; do sleep 0.1; done'
    started 2
    must kill -TERM "$mlaunch"
    ended 143 "SIGTERM ends the job"
    check_output 2 "SIGTERM reaches each rank once" grep -c once "$T/out"
}

# patched NAME WHAT VALUE: true(1) as $T/NAME, patched (patch_elf.py).
patched() {
    must "$SOURCE/tests/container/patch_elf.py" "$(type -P true)" "$T/$1" "$2" "$3"
    must chmod +x "$T/$1"
}

# Sentences about images: each names the host and the image.
check_faults() {
    local says="rank 0 on host localhost could not be started: the image $IMAGE"
    job_says 127 "$says has no program no-such-program" \
        "a program that is not in the image's PATH is named" \
        --container "$CONTAINER" -n 1 -- no-such-program
    job_says 127 "$says has no program /no/such" \
        "a program that is not at its path in the image is named" \
        --container "$CONTAINER" -n 1 -- /no/such
    patched foreign machine 258 # LoongArch
    job_says 126 "$says is for another processor: $T/foreign is no program for this host's, $(uname -m)" \
        "an image of another processor is named" --container "$CONTAINER" -n 1 -- "$T/foreign"
    patched unloaded loader /etc/ld-none.so
    job_says 126 "$says lacks /etc/ld-none.so, without which $T/unloaded cannot start" \
        "an image without the program's loader is named" --container "$CONTAINER" -n 1 -- \
        "$T/unloaded"
    patched musl loader /etc/ld-musl.so.1
    touch "$IMAGE/etc/ld-musl.so.1"
    job_says 126 "$says has no glibc, which mlaunch's library needs: $T/musl is started by /etc/ld-musl" \
        "an image without glibc is named" --container "$CONTAINER" -n 1 -- "$T/musl"
    printf '#!%s\n' "$T/musl" > "$T/script"
    chmod +x "$T/script"
    job_says 126 "$says has no glibc" "an image without glibc is named behind a script" \
        --container "$CONTAINER" -n 1 -- "$T/script"
    job_says 126 "$says: cannot execute $T: " \
        "a directory is no program" --container "$CONTAINER" -n 1 -- "$T"
    echo 'print("python")' > "$T/script.py"
    check_output python "a Python script need not be executable" in_container --output raw \
        -- "$T/script.py"
}
