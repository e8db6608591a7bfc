#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# mlaunch sync and trees as deep as a path can be: they are copied, compared and deleted, whatever
# the soft limits of descriptors and of the stack are. A deeper one is refused by a sentence, and
# --exclude leaves it out; one on a host hurts nothing else.
TEST_TIER=full
. "${0%/*}/trees.sh"
needs python3

S=$D/src
mkdir -p "$S" "$D/there"
printf '#!/bin/sh\nshift # the host\nexec "$@"\n' > "$T/start"
chmod +x "$T/start"
sync() { "$MLAUNCH" sync --agent-command "$T/start {host}" -H x --to "$D/there" "$@"; }
# deep_make DIR LEVELS: that many directories "d", one in the other, and a file in the last.
deep_make() {
    python3 "$SOURCE/tests/sync/deep_make.py" "$@"
}
# deep_count DIR: how many directories "d" are below one another, and what the file in the last says.
deep_count() {
    python3 "$SOURCE/tests/sync/deep_count.py" "$1"
}
# The path of the last file has 3 + 2 * 1990 + 2 bytes, of 4000.
LEVELS=1990

deep_make "$S" 3000
echo good > "$S/top"
refused="^mlaunch: error: $S has a path of more than 4000 bytes in it: leave it out by --exclude"
for options in "" --dry-run --delete --check --checksum "--check --checksum --delete" --json; do
    # shellcheck disable=SC2086
    check_error 125 "$refused" \
        "a tree of 3000 levels is refused${options:+ with $options}" sync $options "$S"
done
check "a tree of 3000 levels is left out by --exclude" sync --exclude d/ "$S"
check_output "top" "all else comes beside 3000 levels that are left out" ls "$D/there/src"
rm -r "$S/d"

deep_make "$S" $LEVELS
check_status 1 "--check of $LEVELS levels has status 1" sync --check "$S"
check "--dry-run of $LEVELS levels has status 0" sync --dry-run "$S"
check "a tree of $LEVELS levels is copied" bash -c "ulimit -Sn 200 && ulimit -Ss 1024 && \"\$@\"" \
    sh "$MLAUNCH" sync --agent-command "$T/start {host}" -H x --to "$D/there" --checksum "$S"
check_output "$LEVELS at the end f" "a tree of $LEVELS levels is there" deep_count "$D/there/src"
check_output "1 host is equal" \
    "a tree of $LEVELS levels is equal" sync --check --checksum --delete "$S"
check_error 125 "^mlaunch: error: cannot read $S/d/d/.*: Too many open files$" \
    "a hard limit of descriptors is a sentence" bash -c "ulimit -n 200 && \"\$@\"" sh "$MLAUNCH" \
    sync --agent-command "$T/start {host}" -H x --to "$D/there" "$S"

rm -r "$S/d"
check "--delete of $LEVELS levels has status 0" bash -c "ulimit -Sn 200 && ulimit -Ss 1024 &&
    \"\$@\"" sh "$MLAUNCH" sync --agent-command "$T/start {host}" -H x --to "$D/there" --delete "$S"
check_output "top" "--delete removes $LEVELS levels" ls "$D/there/src"

deep_make "$D/there/src" 3000
mkdir "$D/there/src/e"
echo better > "$S/top"
check "a tree of 3000 levels on the host is no error" sync "$S"
check_output "3000 at the end f" "a tree of 3000 levels on the host stays" deep_count "$D/there/src"
touch "$S/top"
for exclude in nothing f; do
    check_error 1 "host x: cannot delete $D/there/src/d: it has a path of more than 4000 bytes in it" \
        "a tree of 3000 levels on the host is not deleted with --exclude $exclude" sync --delete \
        --exclude $exclude "$S"
    cp "$ERR" "$T/err"
    check_output 1 \
        "there is one sentence about 3000 levels with --exclude $exclude" grep -c error "$T/err"
done
check_output "d top better" \
    "all else is done beside 3000 levels on the host" sh -c 'echo $(ls "$1") $(cat "$1/top")' sh \
    "$D/there/src"
done_testing
