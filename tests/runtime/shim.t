#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The preloaded shim: it does not disturb programs that never call it, says which file it misses,
# and connects the ranks before main() only with --eager. A /dev/shm that is too small gives a
# sentence, not a SIGBUS.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"

shim=$BUILD/runtime/libmlaunch.so.0
cat > "$T/prog.c" << 'C'
#include <mlaunch.h>
#include <stdio.h>
int main(void)
{
    ml_group *w;
    int v = 1, rc = ml_init(&w);

    if (rc)
        return fprintf(stderr, "%d %s\n", rc, ml_error()), 9;
    rc = ml_all_reduce(w, &v, &v, 1, ML_INT32, ML_SUM);
    printf("%d\n", v);
    return rc || ml_finalize();
}
C
check "a program compiles" "$CC" -o "$T/prog" -I "$SOURCE/common" "$T/prog.c" -L"${shim%/*}" \
    -lmlaunch

check "a program that needs no variable compiles" "$CC" -o "$T/linked" -I "$SOURCE/common" \
    "$T/prog.c" -L"${shim%/*}" -lmlaunch -Wl,-rpath,"${shim%/*}"

archive=$BUILD/runtime/libmlaunch.a
check "a program compiles with the static library" "$CC" -o "$T/static" -I "$SOURCE/common" \
    "$T/prog.c" "$archive" -ldl -lpthread
check_no_match 'libmlaunch' <(readelf -d "$T/static") \
    "a program with the static library needs no shared one"
check_no_match ' [A-Z] ($|[^m]|m[^l]|ml[^_])' <(nm -g --defined-only "$archive") \
    "the static library defines the names of mlaunch.h alone"

if [ "$SANITIZE" = no ] && "$CC" -static -o "$T/whole" -I "$SOURCE/common" "$T/prog.c" "$archive" \
    -ldl -lpthread 2> "$T/static.err"; then
    check_status 9 "a program linked with -static fails" "$T/whole"
    check_match "this program is linked with -static, which cannot use the library; link libmlaunch.a without" \
        "$ERR" "a program linked with -static says what to do"
else
    skip "a program linked with -static fails" \
        "it cannot be made here: $(head -c 200 "$T/static.err" 2> /dev/null)"
fi

mkdir "$T/lone"
cp -L "$shim" "$T/lone/libmlaunch.so.0"
check_status 9 "without the runtime module ml_init fails" env LD_LIBRARY_PATH="$T/lone" "$T/prog"
check_match "^-10 cannot open the runtime: no mlaunch-runtime.so in $T/lone/" "$ERR" \
    "the sentence about the missing module says where it looked"
echo damaged > "$T/lone/mlaunch-runtime.so"
run env LD_LIBRARY_PATH="$T/lone" "$T/prog"
check_match '^-10 cannot open the runtime: .*mlaunch-runtime.so: file too short' "$ERR" \
    "a damaged module is named in a sentence"
check_status 9 "another process's --eager is none of its business" env LD_LIBRARY_PATH="$T/lone" \
    MLAUNCH_EAGER=1 "$T/prog"

if [ "$SANITIZE" = no ]; then
    check_output 1 "a process that was not launched is a group of one" env \
        LD_LIBRARY_PATH="${shim%/*}" "$T/prog"
    # What is above a process stays when its environment is gone, so that no rank of a job becomes a
    # group of one without a word.
    lost='^-2 this process belongs to a job \(.*\), but cannot know its rank: '
    check_error 9 "^.0. ${lost#^}its environment is empty" \
        "a rank whose environment is emptied fails in words" \
        "$MLAUNCH" -n 2 -- env -i "$T/linked"
    check_error 9 "${lost#^}MLAUNCH_RANK is not set" \
        "a rank that has lost its variables alone says so" \
        "$MLAUNCH" -n 1 -- env -u MLAUNCH_RANK "$T/prog"
    check_output "1 1" "MLAUNCH_ALONE=1 makes a group of one of a process that has lost its job" \
        sh -c '"$@" | xargs' sh "$MLAUNCH" -n 2 --output raw -- env -i MLAUNCH_ALONE=1 "$T/linked"
    check_output "1 1" "MLAUNCH_ALONE=1 makes a group of one of a rank" \
        sh -c '"$@" | xargs' sh "$MLAUNCH" -n 2 --output raw -- env MLAUNCH_ALONE=1 "$T/prog"
    check_output "2 2" "an MLAUNCH_ALONE of the caller's shell is not for the ranks" \
        sh -c '"$@" | xargs' sh env MLAUNCH_ALONE=1 "$MLAUNCH" -n 2 --output raw -- "$T/prog"
    check "a prolog may be a group of one" "$MLAUNCH" -n 1 --prolog "env -u MLAUNCH_JOB_DIR $T/linked" \
        -- true
    check_output "" "who asks for a group of one is not warned of mpiexec" sh -c \
        '"$@" 2>&1 > /dev/null' sh env LD_LIBRARY_PATH="${shim%/*}" MLAUNCH_ALONE=1 PMI_SIZE=3 \
        PMI_RANK=0 "$T/prog"
    if unshare -Urpf --mount-proc true 2> /dev/null && grep -q '^0::/mlaunch-' \
        <("$MLAUNCH" -n 1 -- cat /proc/self/cgroup); then
        check_error 9 "${lost#^}its environment is empty" \
            "a rank in a pid namespace of its own is known by its control group" \
            "$MLAUNCH" -n 1 -- unshare -Urpf --mount-proc env -i "$T/linked"
    else
        skip "a rank in a pid namespace of its own is known by its control group" \
            "no namespaces, or no control groups here"
    fi
    check_error 0 '^mlaunch: warning: mpiexec has started 3 of this program, and each is a group of one' \
        "a process of mpiexec says that it is a group of one" env LD_LIBRARY_PATH="${shim%/*}" \
        PMI_SIZE=3 PMI_RANK=0 "$T/prog"
    check_output "" "the processes of mpiexec say it once for all of them" sh -c \
        '"$@" 2>&1 > /dev/null' sh env LD_LIBRARY_PATH="${shim%/*}" PMI_SIZE=3 PMI_RANK=1 "$T/prog"
    check_output "" "a rank of mlaunch says nothing of mpiexec" sh -c '"$@" 2>&1 > /dev/null' sh \
        "$MLAUNCH" -n 2 -- env PMI_SIZE=3 PMI_RANK=0 "$T/prog"
    # shellcheck disable=SC2016
    check_output 0 "who makes no call does not load the runtime" env LD_PRELOAD="$shim" \
        sh -c 'grep -c mlaunch-runtime /proc/self/maps; :'
    # shellcheck disable=SC2016
    check_output 4 "--eager: the mesh is there before main" sh -c \
        '"$1" -n 4 --eager --output raw -- "$2" | sort -u' sh "$MLAUNCH" "$T/prog"
    check_output "3 3 3" "ranks that have the static library work together" sh -c \
        '"$1" -n 3 --output raw -- "$2" | xargs' sh "$MLAUNCH" "$T/static"
    check "--eager works with the static library" "$MLAUNCH" -n 2 --eager -- "$T/static"
    check "--eager works with a program that makes no call" "$MLAUNCH" -n 4 --eager -- true
    if unshare -rm true 2> /dev/null; then
        # Not even rank 0's part fits; rank 0's does, rank 1's doesn't.
        for small in "0 256k" "1 1536k"; do
            # shellcheck disable=SC2016
            run unshare -rm sh -c \
                '"$1" /dev/shm size="$2" && shift 2 && "$@"; echo "left: $(ls /dev/shm)"' \
                sh "$TEST_LIB/cover" "${small#* }" "$MLAUNCH" -n 2 --backend shm -- "$T/prog"
            check_match "rank ${small% *} on host .*: /dev/shm has no room for the [0-9]+ KiB" \
                "$ERR" \
                "a small /dev/shm is told by rank ${small% *}"
            check_no_match 'rank [0-9] .*signal' "$ERR" \
                "a small /dev/shm of rank ${small% *} kills nobody"
            check_match '^left: $' "$OUT" "a small /dev/shm of rank ${small% *} has nothing left"
        done
    else
        skip "a small /dev/shm is told by rank 0" "no user namespaces"
    fi
fi
done_testing
