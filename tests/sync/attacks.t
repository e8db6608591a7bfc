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
    "a link in place of a directory is an error" sync -H "$H1,$H2" "$S"
untouched "a link in place of a directory is not followed"
check_output good "all else comes beside a link in place of a directory" on "$H1" cat "$S/top"
same_tree "the other host has all beside a link" "$S" "$S" "$H2"
check "--delete succeeds with a link in place of a directory" sync --delete -H "$H1,$H2" "$S"
untouched "--delete removes the link, not what it leads to"
same_tree "--delete brings the directory" "$S" "$S" "$H1"

on "$H1" sh -c "cd $S && rm -r sub top && ln -s $D/victim/top top && mkdir sub &&
    ln -s $D/victim/file sub/$(temporary_of file) && ln -s $D/victim sub/deep"
check_status 1 \
    "links in place of a file, a temporary file and a directory are an error" sync -H "$H1,$H2" "$S"
untouched "links in place of files are not followed"
check_output "good evil regular file" \
    "links in place of files are replaced where that is no loss" on "$H1" \
    sh -c "echo \$(cat $S/top $S/sub/file) \$(stat -c %F $S/top)"
on "$H1" sh -c "cd $S && rm -r sub && mkdir -p sub/extra sub/deep && ln -s $D/victim sub/extra/out"
check "--delete succeeds with links in what is deleted" sync --delete -H "$H1,$H2" "$S"
untouched "links in what is deleted are not followed"
on "$H1" sh -c "cd $S && rm sub/file && mkfifo sub/$(temporary_of file)"
check "a pipe in place of a temporary file is no error" sync -H "$H1,$H2" "$S"
same_tree "a pipe in place of a temporary file is replaced" "$S" "$S" "$H1" "$H2"
# A temporary file that others can read, and so may have open when private contents come.
on "$H1" sh -c "cd $S && rm sub/file && echo old > sub/$(temporary_of file) &&
    chmod 644 sub/$(temporary_of file)"
READABLE=$(on "$H1" stat -c %i "$S/sub/$(temporary_of file)")
check "a readable file in place of a temporary file is no error" sync -H "$H1,$H2" "$S"
check_status 1 "a readable file in place of a temporary file is not written to" test "$READABLE" = \
    "$(on "$H1" stat -c %i "$S/sub/file")"
same_tree "a readable file in place of a temporary file is replaced" "$S" "$S" "$H1" "$H2"
# A temporary file that is another name of a file of value.
on "$H1" sh -c "cd $S && rm sub/file && ln $D/victim/file sub/$(temporary_of file)"
check "a second name in place of a temporary file is no error" sync -H "$H1,$H2" "$S"
untouched "a second name in place of a temporary file is not written to"

head -c 3000000 /dev/urandom > "$S/big"
must on "$H1" sh -c "mkdir -p $D/small && mount -t tmpfs -o size=1m tmpfs $D/small"
on "$H2" mkdir "$D/small"
check_error 1 "host $H1: cannot write $D/small/src/big: No space left on device" \
    "a full disk is an error" sync -H "$H1,$H2" --to "$D/small" "$S"
check_output "sub top" "all else comes to a full disk, and nothing is left of the file" on "$H1" \
    sh -c "echo \$(ls -A $D/small/src)"
same_tree "the other host has all beside a full disk" "$S" "$D/small/src" "$H2"
must on "$H1" mount -o remount,ro "$D/small"
touch "$S/top"
check_error 1 "host $H1: cannot write $D/small/src/top: Read-only file system" \
    "a read-only target is an error" sync -H "$H1,$H2" --to "$D/small" "$S"
check_error 1 "host $H1: cannot make the directory $D/small/other: Read-only" \
    "a directory that cannot be made is an error" sync -H "$H1,$H2" --to "$D/small/other" "$S"
check_output "src" \
    "the other host has the directory that cannot be made on one" on "$H2" ls "$D/small/other"
# A name with a newline does not begin a line that looks like one of mlaunch's.
forged=$'x\nmlaunch: error: host nowhere: forged'
must on "$H2" touch "$S/$forged"
check_status 1 "a name that is two lines differs" sync -H "$H2" --check --delete "$S"
check_match 'x.mlaunch: error: host nowhere: forged: not here' "$OUT" \
    "a name that is two lines is shown as one"
touch "$S/$forged"
check_status 1 "a name that is two lines cannot be written" sync -H "$H1" --to "$D/small" "$S"
check_no_match '^mlaunch: error: host nowhere' <(cat "$OUT" "$ERR") \
    "a name that is two lines is one in what the host says"
rm "$S/$forged"
check_error 125 "host $H1: cannot use the directory /proc/version: Not a dir" \
    "a target that is no directory is an error" sync -H "$H1" --to /proc/version "$S"
done_testing
