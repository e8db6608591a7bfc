#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The same programs over the stand-in's devices and over real verbs, which are Soft-RoCE's in three
# virtual machines (diagonal.sh): what they see is the same. Two differences are known: a device
# goes on while its process is stopped, and Soft-RoCE has one error for several.
TEST_TIER=full
TEST_LIMIT=600
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../standin/standin.sh"
. "${0%/*}/vms.sh"
vms_prepare

# saw FILE NAME: keeps what was seen there, and fails with what is not right.
saw() {
    check_output "" "$2" sed -n '/^not ok/,/^ok/p; /^Bail out/p' "$1.tap"
    check "$2, all of them" grep -q '^1\.\.' "$1.tap"
    sed -n 's/^# seen: //p' "$1.tap" | tr -d '\r' > "$1.all"
    grep -v 'while the other process is stopped' "$1.all" > "$1.seen"
}
# stopped WORDS FILE NAME: what is done while the process at the other end is stopped.
stopped() {
    check_output "RC, a process that is stopped, client: $1 while the other process is stopped" \
        "$3" grep 'while the other process is stopped' "$2.all"
}
# What the specification says (IBTA 10.10.2) where Soft-RoCE has an error of its own.
as_specified() {
    sed -e 's/^\(RC, a send with a key of no memory, client: request 1: \)local QP operation/\1local protection/' \
        -e 's/^\(RC, a receive that is too short, client: request 1: remote \)operation/\1invalid request/' \
        -e 's/^\(RC, a receive that is too short, server: request 1: local \)QP operation/\1length/' "$1"
}

STANDIN_RAIL=yes STANDIN_PRIVATE=/tmp
standin_up 3
on_host_0 "$SOURCE/tests/vm/diagonal.sh" > "$T/standin.tap" 2>&1
saw "$T/standin" "programs are right over the stand-in's devices"
check_output "$(printf 'rxe_p%d\n' 0 1)" "only the program that does so breaks rules of verbs" \
    eval 'rules_broken | sed "s,.*/\(rxe_p[0-9]\): .*,\1," | sort'
vms_run 3 diagonal.sh > "$T/guests.tap" 2>&1
saw "$T/guests" "programs are right over Soft-RoCE"
check "programs see many things" test "$(wc -l < "$T/standin.seen")" -gt 150
as_specified "$T/guests.seen" > "$T/guests.specified"
check "what programs see is the same" diff "$T/standin.seen" "$T/guests.specified"
stopped "something waits" "$T/standin" "the stand-in waits for a process that is stopped"
stopped "all is done" "$T/guests" "a device goes on while its process is stopped"
done_testing
