#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The answers to PMI-1, command by command; and whatever a rank writes instead ends in a sentence
# that names it.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
needs python3
speak() { "$MLAUNCH" --output raw "$@"; }
ranks() { speak -n "$1" --mpi pmi1 python3 "$SOURCE/tests/mpi/pmi_speak.py" "${@:2}"; }
get="cmd=get kvsname=NAME key="

check_output "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0
cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024
cmd=appnum appnum=0
cmd=universe_size size=1
cmd=finalize_ack" \
    "answers that do not depend on the job are right" ranks 1 init cmd=get_maxes cmd=get_appnum \
    cmd=get_universe_size cmd=finalize
check "the mapping of ranks to hosts is answered" ranks 3 init cmd=get_my_kvsname \
    "${get}PMI_process_mapping" cmd=finalize
check_match 'rc=0 msg=success value=\(vector,\(0,1,3\)\)$' "$OUT" \
    "the mapping of ranks to hosts is that of the plan"
check "put, barrier and get are answered" ranks 2 init cmd=get_my_kvsname \
    "0:cmd=put kvsname=NAME key=a value=x=y" cmd=barrier_in "${get}a" "${get}b" cmd=finalize
check_match 'cmd=put_result rc=0 msg=success' "$OUT" "a pair is put"
cp "$OUT" "$T/pairs"
check_match 'cmd=get_result rc=-1 msg=key_not_found value=unknown' "$OUT" \
    "a key that nobody put is not found"
check_output 2 "both ranks find the pair" \
    grep -c 'cmd=get_result rc=0 msg=success value=x=y' "$T/pairs"
check "a question for another space is answered" ranks 1 init "cmd=get kvsname=other key=a" \
    cmd=finalize
check_match 'rc=-1 msg=kvs_not_found' "$OUT" "another space is unknown"
long=$(printf '%01000d' 0)
check "a long value is answered" ranks 1 init cmd=get_my_kvsname \
    "cmd=put kvsname=NAME key=a value=${long:0:962}" cmd=finalize
check_match 'cmd=put_result rc=-1' "$OUT" "a long value is refused"
check_error 0 'rank 0 speaks another version of PMI' "another version of PMI is named" \
    ranks 1 'cmd=init pmi_version=2 pmi_subversion=0'
check_match 'cmd=response_to_init .* rc=-1' "$OUT" "another version of PMI is refused"
check_error 0 'rank 0 called MPI_Comm_spawn, which fails' \
    "a spawn is named" ranks 1 init '>mcmd=spawn' \
    '>totspawns=2' '>spawnssofar=1' '>arg1=a b=c  d' '>endcmd' '>mcmd=spawn' '>totspawns=2' \
    '>spawnssofar=2' endcmd cmd=finalize
check_match 'cmd=spawn_result rc=-1' "$OUT" "a spawn is refused once for all its blocks"
check "three spawns are answered" ranks 1 init '>mcmd=spawn' endcmd '>mcmd=spawn' endcmd \
    '>mcmd=spawn' endcmd cmd=finalize
cp "$ERR" "$T/spawns"
check_output 1 "three spawns warn once" grep -c 'called MPI_Comm_spawn' "$T/spawns"
check "questions of names are answered" ranks 1 init 'cmd=publish_name service=s port=p#1' \
    'cmd=lookup_name service=s' \
    'cmd=publish_name service=s port=q' 'cmd=unpublish_name service=s' 'cmd=lookup_name service=s' \
    'cmd=unpublish_name service=s' cmd=publish_name cmd=finalize
cp "$OUT" "$T/names"
check_output "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0
cmd=publish_result info=ok rc=0 msg=success
cmd=lookup_result port=p#1 info=ok rc=0 msg=success
cmd=publish_result info=failed rc=1 msg=key_already_present
cmd=unpublish_result info=ok rc=0 msg=success
cmd=lookup_result info=failed rc=1 msg=service_not_found
cmd=unpublish_result info=failed rc=1 msg=service_not_found
cmd=publish_result info=failed rc=1 msg=key_already_present
cmd=finalize_ack" "names are published, found and withdrawn" cat "$T/names"
check_error 255 'rank 0 .* aborted the job: MPI_Abort with code -1' \
    "a negative code of an abort is named" ranks 2 '0:>cmd=abort exitcode=-1' sleep
check_error 1 'rank 0 .* aborted the job: MPI_Abort with code 256' \
    "a code of an abort that is 0 in a status is named" ranks 2 '0:>cmd=abort exitcode=256' sleep

# bad SENTENCE STEP…: rank 1 of 2 does that, while rank 0 waits in a barrier.
bad() {
    check_error 1 "rank 1 on host .* \(pid [0-9]+\) $1" "a rank that $1 is named" \
        ranks 2 "${@:2}" 0:init 0:cmd=barrier_in sleep
}
bad 'sent a PMI command that mlaunch does not know: .foo.' '1:>cmd=foo'
bad 'sent a PMI command that mlaunch does not know: ..' '1:>a=b'
bad 'sent an invalid PMI command: it has a field that is not KEY=VALUE' '1:>hello'
bad 'sent an invalid PMI command: it has a field twice' '1:>cmd=init cmd=init'
bad 'sent an invalid PMI command: it has more than 16 fields' \
    '1:>a=1 b=1 c=1 d=1 e=1 f=1 g=1 h=1 i=1 j=1 k=1 l=1 m=1 n=1 o=1 p=1 q=1'
bad 'sent an invalid PMI command: it holds a control character' '1:>cmd=\x1b[2J'
bad 'sent a PMI command with a zero byte' '1:=cmd=init\0\n'
bad 'sent a PMI command of more than 1024 bytes' '1:2000*=x'
bad 'sent the PMI command get before init' '1:>cmd=get'
check_error 1 'rank 1 .* sent the PMI command get before the answer to the last one' \
    "a rank that does not wait for an answer is named" ranks 2 1:init '1:>cmd=barrier_in' \
    '1:>cmd=get' sleep
bad 'put more than 1048576 bytes for other ranks' 1:init 1:cmd=get_my_kvsname \
    "1:1200*cmd=put kvsname=NAME key=a value=${long:0:900}"
bad 'does not read the answers to its PMI commands' 1:init '1:100000*>cmd=get_maxes'
bad 'closed its PMI socket \(PMI_FD\) without calling MPI_Finalize' 1:init 1:close
check_error 1 'rank 1 on host .* exited with status 0 without calling MPI_Finalize' \
    "a rank that exits with half a line is named" ranks 2 1:init '1:=cmd=barr' 0:init \
    0:cmd=barrier_in
check "a rank that writes nothing is left alone" ranks 2
check "a rank that writes half a line and ends is left alone" ranks 2 '=cmd='

check_error 1 'rank 1 on host .* runs an MPI program, which cannot go on without one of its ranks' \
    "--elastic is refused for MPI programs" "$MLAUNCH" -n 2 --elastic 1 --output raw \
    python3 "$SOURCE/tests/mpi/pmi_speak.py" 1:init sleep

# The descriptor ends with the job's own processes, and is in no job within it.
check_output "" "a job within a rank has no descriptor of the outer one" \
    "$MLAUNCH" -- "$MLAUNCH" --mpi none --output raw -- sh -c \
    'env | grep ^PMI_; for fd in /proc/self/fd/*; do readlink "$fd"; done | grep socket; true'
check_output "PMI_RANK=0 PMI_SIZE=1" "a user's variables of PMI give way" "$MLAUNCH" -x PMI_RANK=7 \
    -x PMI_SIZE=9 -- sh -c 'echo "PMI_RANK=$PMI_RANK PMI_SIZE=$PMI_SIZE"'
check_output "PMI_RANK=7" \
    "a user's variables of PMI stay with --mpi none" "$MLAUNCH" --mpi none -x PMI_RANK=7 -- \
    sh -c 'echo "PMI_RANK=$PMI_RANK"'
done_testing
