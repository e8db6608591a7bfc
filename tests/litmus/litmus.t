#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The lock-free parts as litmus tests (doc/notes/memory-order.md): herd7 tries all executions that
# C11 (the model RC11) or AArch64 allows. Each file says what must never happen (~exists), or what
# can (exists) and is the reason for a stronger access. A data race would be a flag of the model's.
TEST_TIER=full
. "${0%/*}/../lib/test.sh"
needs herd7

for file in "$SOURCE"/tests/litmus/*.litmus; do
    model=()
    ! head -n 1 "$file" | grep -q '^C ' || model=(-model rc11.cat)
    run herd7 "${model[@]}" "$file"
    if [ "${status:-1}" -eq 0 ] && grep -qx Ok "$OUT" && ! grep -q '^Flag' "$OUT"; then
        pass "${file##*/} has the executions that it says"
    else
        fail "${file##*/} has the executions that it says" "see above what it must say"
        diag_run herd7 "${model[@]}" "$file"
    fi
done
done_testing
