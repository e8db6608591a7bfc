#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Whatever links a host has in a tree, mlaunch sync writes and deletes nothing outside of it. What
# cannot be written (read-only, no room) is a sentence with host and path, and hurts no other host.
TEST_TIER=quick
. "${0%/*}/trees.sh"
sync_hosts_up 2

S=$D/src
mkdir -p "$S/sub/deep"
echo evil > "$S/sub/file"
echo evil > "$S/sub/deep/file"
echo good > "$S/top"
# shellcheck disable=SC2016
victim='mkdir -p "$1" && cd "$1" && echo precious > file && echo precious > top && chmod 600 file'
untouched() {
    check_output "file 600 top 644
precious
precious" "$1" on "$H1" sh -c "cd $D/victim && echo \$(stat -c '%n %a' *) && cat file top"
}

on "$H1" sh -c "$victim" sh "$D/victim"
on "$H1" sh -c "mkdir -p $S && ln -s $D/victim $S/sub"
check_error 1 "host $H1: cannot replace $S/sub: a symbolic link there, a directory here" \
    "a link in place of a directory" sync -H "$H1,$H2" "$S"
untouched "… is not followed"
check_output good "… and all else comes" on "$H1" cat "$S/top"
same_tree "… and the other host has all" "$S" "$S" "$H2"
check "with --delete" sync --delete -H "$H1,$H2" "$S"
untouched "… the link is deleted, not what it leads to"
same_tree "… and the directory comes" "$S" "$S" "$H1"

on "$H1" sh -c "cd $S && rm -r sub top && ln -s $D/victim/top top && mkdir sub &&
    ln -s $D/victim/file sub/$(temporary_of file) && ln -s $D/victim sub/deep"
check_status 1 "links in place of a file, a temporary file and a directory" sync -H "$H1,$H2" "$S"
untouched "… are not followed"
check_output "good evil regular file" "… but replaced where that is no loss" on "$H1" \
    sh -c "echo \$(cat $S/top $S/sub/file) \$(stat -c %F $S/top)"
on "$H1" sh -c "cd $S && rm -r sub && mkdir -p sub/extra sub/deep && ln -s $D/victim sub/extra/out"
check "links in what is deleted" sync --delete -H "$H1,$H2" "$S"
untouched "… are not followed"
on "$H1" sh -c "cd $S && rm sub/file && mkfifo sub/$(temporary_of file)"
check "a pipe in place of a temporary file" sync -H "$H1,$H2" "$S"
same_tree "… is replaced" "$S" "$S" "$H1" "$H2"
# A temporary file that is another name of a file of value.
on "$H1" sh -c "cd $S && rm sub/file && ln $D/victim/file sub/$(temporary_of file)"
check "a second name in place of a temporary file" sync -H "$H1,$H2" "$S"
untouched "… is not written to"

head -c 3000000 /dev/urandom > "$S/big"
must on "$H1" sh -c "mkdir -p $D/small && mount -t tmpfs -o size=1m tmpfs $D/small"
on "$H2" mkdir "$D/small"
check_error 1 "host $H1: cannot write $D/small/src/big: No space left on device" "a full disk" \
    sync -H "$H1,$H2" --to "$D/small" "$S"
check_output "sub top" "… all else has come, and nothing is left of the file" on "$H1" \
    sh -c "echo \$(ls -A $D/small/src)"
same_tree "… and the other host has all" "$S" "$D/small/src" "$H2"
must on "$H1" mount -o remount,ro "$D/small"
touch "$S/top"
check_error 1 "host $H1: cannot write $D/small/src/top: Read-only file system" \
    "a read-only target" sync -H "$H1,$H2" --to "$D/small" "$S"
check_error 1 "host $H1: cannot make the directory $D/small/other: Read-only" \
    "a directory that cannot be made" sync -H "$H1,$H2" --to "$D/small/other" "$S"
check_output "src" "… and the other host has all" on "$H2" ls "$D/small/other"
# A name with a newline does not begin a line that looks like one of mlaunch's.
forged=$'x\nmlaunch: error: host nowhere: forged'
must on "$H2" touch "$S/$forged"
check_status 1 "a name that is two lines" sync -H "$H2" --check --delete "$S"
check_match 'x.mlaunch: error: host nowhere: forged: not here' "$OUT" "… is one line"
touch "$S/$forged"
check_status 1 "… also where it cannot be written" sync -H "$H1" --to "$D/small" "$S"
check_no_match '^mlaunch: error: host nowhere' <(cat "$OUT" "$ERR") "… in what the host says"
rm "$S/$forged"
check_error 125 "host $H1: cannot use the directory /proc/version: Not a dir" "no directory" \
    sync -H "$H1" --to /proc/version "$S"
done_testing
