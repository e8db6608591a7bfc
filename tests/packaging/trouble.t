#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# ./bootstrap in a bare Debian in which something is wrong, in check-long: no network, no package
# manager that the user may use, a full disk, a disk that fills up, a clone without .git, and a
# build folder of an earlier commit. tests/cli/bootstrap.t has such cases with stand-ins.
TEST_TIER=full
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../lib/debian.sh"
is_long || skip_all "only in check-long: it builds in a Debian"
[ "$SANITIZE" = no ] || skip_all "it builds without sanitizers"
[ "$(id -u)" = 0 ] || skip_all "needs root"
needs git
[ -e "$SOURCE/.git" ] || skip_all "only in a clone"
debian_up "./bootstrap in a bare Debian"
clone=$DEBIAN/srv/mlaunch
mkdir "$clone"

# tree_take: the clone gets the files of this tree, without what git knows of it.
tree_take() {
    git -C "$SOURCE" ls-files -z --cached --others --exclude-standard |
        tar -C "$SOURCE" --ignore-failed-read --null -T - -cf - 2> /dev/null |
        tar -C "$clone" --no-same-owner -xf -
}
typed() { inside sh -c "cd /srv/mlaunch && $1"; }
# typed_with MB DIRECTORY COMMAND: with an empty tmpfs of MB on DIRECTORY.
typed_with() {
    inside sh -c "mkdir -p $2 && mount -t tmpfs -o size=$1m tmpfs $2 && cd /srv/mlaunch && $3"
}
# sentence_last REGEX NAME: the last thing that ./bootstrap has said.
sentence_last() {
    tail -n 1 "$ERR" > "$T/last"
    check_match "^bootstrap: $1" "$T/last" "$2"
}
tree_take
unlinked() { unshare --net "$SOURCE/packaging/host-sets/inside" "$DEBIAN" "$@"; }
check_status 1 "without a network the demo fails" \
    unlinked sh -c 'cd /srv/mlaunch && ./bootstrap demo'
sentence_last "apt-get reaches no mirror of its packages: look at the network .* missing: .*gcc" \
    "the last sentence says to look at the network"
chown -R 1000:1000 "$clone"
check_status 1 "without root and sudo the demo fails" \
    typed 'exec setpriv --reuid 1000 --regid 1000 --clear-groups ./bootstrap demo'
sentence_last "packages are missing; please run this as root: apt-get install .*gcc" \
    "the last sentence is the line to type without root"
chown -R 0:0 "$clone"
check_status 1 "with a full disk no package is installed" \
    typed_with 5 /var/cache/apt/archives './bootstrap demo'
sentence_last "apt-get could not install these packages, see above: .*gcc" \
    "the last sentence names the packages that found no room"
check "the demo passes without .git" typed './bootstrap demo'
check_match "^bootstrap: demo done: 4 ranks did the work" "$OUT" \
    "the demo without .git does its work"
check_status 1 "with a full disk no build begins" \
    typed_with 100 /srv/mlaunch/build './bootstrap demo'
sentence_last "nothing was begun: only 100 MB are free in build, and 450 are needed; free some" \
    "the last sentence says how much room is missing"
# The disk fills up behind the look at its room, when configure calls make.
mkdir "$DEBIAN/srv/bin"
printf '#!/bin/sh\ncat /dev/zero > /srv/mlaunch/build/hog 2> /dev/null\nexec /usr/bin/make "$@"\n' \
    > "$DEBIAN/srv/bin/make"
chmod +x "$DEBIAN/srv/bin/make"
check_status 1 "a disk that fills up ends the build" \
    typed_with 470 /srv/mlaunch/build 'PATH=/srv/bin:$PATH ./bootstrap demo'
sentence_last "configure failed; .*: only [0-9] MB are free in build, and 10 are needed; free some" \
    "the last sentence says that the disk is full"
rm -rf "$clone/build"

# An older commit's build folder, as after `git pull`.
old=$(git -C "$SOURCE" rev-list -n 1 --first-parent --skip=60 HEAD 2> /dev/null)
if [ -n "$old" ]; then
    rm -rf "$clone"
    must git clone -q --no-hardlinks "$SOURCE" "$clone"
    must git -C "$clone" checkout -q "$old"
    check "./bootstrap builds an earlier commit" typed ./bootstrap
    must git -C "$clone" checkout -q "$(git -C "$SOURCE" rev-parse HEAD)"
    check "./bootstrap builds this one over it" typed ./bootstrap
    check "the demo passes over the build of an earlier commit" typed './bootstrap demo'
else
    skip "./bootstrap builds over an earlier commit" "git has no earlier commit here"
fi
done_testing
