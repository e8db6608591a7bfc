#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# mlaunch sync --check, --dry-run, --checksum, --delete, --exclude and --git: what they find, name,
# change and leave alone.
TEST_TIER=quick
. "${0%/*}/trees.sh"
sync_hosts_up 2

S=$D/src
mkdir -p "$S/sub"
for f in a b c sub/d; do echo "$f" > "$S/$f"; done
check_status 1 "--check of what is not there has status 1" sync --check -H "$ALL" "$S"
check_match "^host $H1: $S/sub/d: missing$" "$OUT" "--check names each file that is missing"
check_output "" "--check makes nothing on the host" on "$H1" ls "$D"
check "--dry-run has status 0" sync --dry-run -H "$ALL" "$S"
check_match "^host $H2: $S/a: missing$" "$OUT" "--dry-run names each file that is missing"
check "the files come" sync -H "$ALL" "$S"
check_output "2 hosts are equal" \
    "--check of equal hosts says that they are equal" sync --check -H "$ALL" "$S"

on "$H1" sh -c "cd $S && echo longer >> a && touch -d 2001-01-01 b && chmod 600 sub/d && rm c"
on "$H2" sh -c "cd $S && cp -p a keep && printf X | dd of=a bs=1 conv=notrunc status=none &&
    touch -r keep a && rm keep"
check_status 1 "--check of hosts that differ has status 1" sync --check -H "$ALL" "$S"
check_output "host $H1: $S/a: other size, other time
host $H1: $S/b: other time
host $H1: $S/c: missing
host $H1: $S/sub/d: other mode" "--check names what differs" cat "$SAID"
check_status 1 \
    "--check --checksum of hosts that differ has status 1" sync --check --checksum -H "$H2" "$S"
check_output "host $H2: $S/a: other contents" \
    "--check --checksum finds other contents of the same size and time" cat "$SAID"
check_status 1 "--check --json of hosts that differ has status 1" sync --check --json -H "$ALL" "$S"
check_output "differs equal a size time" \
    "--check --json names what differs" json_show '(lambda h: (h[0]["state"], h[1]["state"],
    h[0]["differences"][0]["path"].rsplit("/")[-1], *h[0]["differences"][0]["what"]))(j["hosts"])' "$SAID"
check "--checksum copies other contents" sync --checksum -H "$ALL" "$S"
same_tree "all is the same after --checksum" "$S" "$S" "$H1" "$H2"

on "$H1" sh -c "mkdir -p $S/old/deep $S/cache && touch $S/old/deep/x $S/new $S/cache/y $S/z.o"
check "a copy without --delete succeeds" sync -H "$ALL" "$S"
check_output "a b c cache new old sub z.o" \
    "a copy without --delete leaves all that the host has" on "$H1" sh -c "echo \$(ls $S)"
check "--delete --dry-run has status 0" sync --delete --dry-run --exclude cache --exclude '*.o' \
    -H "$ALL" "$S"
check_output "host $H1: $S/new: not here
host $H1: $S/old: not here" "--delete --dry-run says what it would delete" sort "$SAID"
check "--delete with --exclude succeeds" sync --delete --exclude cache --exclude '*.o' -H "$ALL" \
    "$S"
check_output "a b c cache sub z.o" "--delete removes all but what is excluded" on "$H1" \
    sh -c "echo \$(ls $S)"

mkdir -p "$D/x/keep" "$D/x/build/keep" "$D/x/keep/build"
touch "$D/x/a.c" "$D/x/a.o" "$D/x/keep/b.o" "$D/x/keep/log" "$D/x/log"
check "a copy with --exclude succeeds" sync --exclude '*.o' --exclude /log --exclude 'bui*/' \
    -H "$H2" "$D/x"
check_output ". ./a.c ./keep ./keep/log" "--exclude leaves out names, paths, directories" on "$H2" \
    sh -c "cd $D/x && echo \$(find . | sort)"

# Some file systems do not say what kind of file a name is (NFS, ext4 and XFS without that feature).
if [ "$SANITIZE" = no ]; then
    printf '%s\n' '#define _GNU_SOURCE' '#include <dirent.h>' '#include <dlfcn.h>' \
        'struct dirent64 *readdir64(DIR *d)' \
        '{ struct dirent64 *e = ((struct dirent64 *(*)(DIR *))dlsym(RTLD_NEXT, "readdir64"))(d);' \
        '  if (e) e->d_type = DT_UNKNOWN; return e; }' \
        'struct dirent *readdir(DIR *d) { return (struct dirent *)readdir64(d); }' > "$T/kinds.c"
    must "$CC" -w -shared -fPIC -o "$T/kinds.so" "$T/kinds.c" -ldl
    printf '%s\n' '#!/bin/sh' "export LD_PRELOAD=$T/kinds.so" "exec $AGENT \"\$@\"" > "$T/kinds-agent"
    chmod 755 "$T/kinds-agent"
    on "$H1" mkdir -p "$S/build/results" "$S/old/build" "$S/old/other"
    check "--delete succeeds where kinds are not known" sync --delete --exclude cache \
        --exclude '*.o' --exclude build/ --agent "$T/kinds-agent" -H "$H1" "$S"
    check_output "build build/results old old/build" \
        "--exclude leaves directories alone where kinds are not known" on "$H1" \
        sh -c "cd $S && echo \$(find build old | sort)"
    on "$H1" rm -r "$S/build" "$S/old"
fi

# A directory never gives way to a file, nor a file to a directory, unless --delete is given.
on "$H1" sh -c "cd $S && rm -r a sub && mkdir a && touch a/precious && echo file > sub"
check_error 1 "host $H1: cannot replace $S/a: a directory there, a file here" \
    "a directory in the way of a file is an error" sync -H "$ALL" "$S"
check_match "host $H1: cannot replace $S/sub: a file there, a directory here" "$ERR" \
    "a file in the way of a directory is an error"
check_output "precious" "a directory and a file in the way stay" on "$H1" ls "$S/a"
check "--delete succeeds with a directory and a file in the way" sync --delete -H "$ALL" "$S"
same_tree "--delete replaces a directory and a file in the way" "$S" "$S" "$H1" "$H2"

# Two files with one inode number, in two file systems.
mkdir -p "$D/names/sub"
echo one > "$D/names/a"
ln "$D/names/a" "$D/names/sub/b"
touch -d 2001-01-01 "$D/names/a"
must on "$H1" sh -c "mkdir -p $D/names && mount -t tmpfs -o mode=755 t $D/names && cd $D/names &&
    echo one > a && mkdir sub && mount -t tmpfs -o mode=755 t sub && echo two > sub/b &&
    touch -d 2001-01-01 a sub/b"
if [ "$(on "$H1" stat -c %i "$D/names/a")" = "$(on "$H1" stat -c %i "$D/names/sub/b")" ]; then
    check_status 1 "--check of another file in place of a second name has status 1" \
        sync --check -H "$H1" "$D/names"
    check_output "host $H1: $D/names/sub/b: other contents" \
        "--check sees another file in place of a second name" cat "$SAID"
else
    skip "--check of another file in place of a second name has status 1" \
        "no two have one inode number"
fi

# git
is_here git || { skip "--git compares commits" "$LACKS"; done_testing; }
G="$D/tree"
git_in() { git -C "$G" -c user.name=t -c user.email=t@example.com "$@"; }
git init -q "$G"
echo 1 > "$G/f"
git_in add f && git_in commit -qm one && first=$(git_in rev-parse HEAD)
check "a git tree is copied" sync -H "$ALL" "$G"
check_output "$G: commit ${first:0:12}, clean, on all hosts" \
    "--git says that all are at one commit" sync --git -H "$ALL" "$G"
on "$H1" sh -c "echo 2 > $G/f"
check_status 1 "--git: a change on a host has status 1" sync --git -H "$ALL" "$G"
check_output "host $H1: $G: 1 file differs from the commit: M f" \
    "--git: a change on a host is named" cat "$SAID"
check "a change in a git tree is mended" sync -H "$ALL" "$G"
echo 3 > "$G/f"
git_in commit -qam two && second=$(git_in rev-parse HEAD)
check_status 1 "--git: another commit has status 1" sync --git -H "$ALL" "$G"
check_match "^host $H2: $G: is at commit ${first:0:12}, not ${second:0:12}$" "$OUT" \
    "--git: another commit is named"
check_error 1 "$S: fatal: not a git repository" \
    "--git: a directory without git is an error" sync --git -H "$H1" "$S"
must mkdir "$T/no_git"
must ln -s "$(command -v ssh)" "$T/no_git/ssh" # which says what its configuration is
check_error 1 "$S: there is no git in PATH here, which knows the commit: apt-get install git" \
    "a missing git is named, with its package" env PATH="$T/no_git" "$MLAUNCH" sync \
    --ssh-config "$NETNS_SSH_CONFIG" --git -H "$H1" "$S"
check_status 1 "--git --json: another commit has status 1" sync --git --json -H "$ALL" "$G"
check_output "False False" "--git --json: another commit is said of each host" json_show \
    '(*[h["same"] for h in j["hosts"]],)' "$SAID"
done_testing
