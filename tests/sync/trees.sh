# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# trees.sh: hosts for the tests of mlaunch sync, on which $D is a directory of their own.
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../lib/hosts.sh"

D=$T/d
sync_hosts_up() {
    mkdir -p "$D"
    NETNS_PRIVATE="$D" hosts_up "$1"
    ALL=${NETNS_HOSTS// /,}
}
# sync OPTION…: what it prints is also in $SAID.
SAID=$T/.said
sync() {
    "$MLAUNCH" sync --ssh-config "$NETNS_SSH_CONFIG" "$@" | tee "$SAID"
    return "${PIPESTATUS[0]}"
}
on() { netns exec "$@"; }

# tree_text DIR: all that sync keeps of a tree, and its contents.
# shellcheck disable=SC2016 # the inner shell expands it
TREE_TEXT='cd "$1" || exit
    find . -printf "%p %y %m %T@ %l %n\\n" | LC_ALL=C sort
    find . -type f -print0 | LC_ALL=C sort -z | xargs -0r sha256sum'
tree_text() { sh -c "$TREE_TEXT" sh "$1"; }
# same_tree NAME HERE THERE HOST…
same_tree() {
    local name=$1 here=$2 there=$3 h
    shift 3
    tree_text "$here" > "$T/.here"
    for h in "$@"; do
        on "$h" sh -c "$TREE_TEXT" sh "$there" > "$T/.there" 2>&1
        if cmp -s "$T/.here" "$T/.there"; then
            pass "$name: $h"
        else
            fail "$name: $h" "$(diff "$T/.here" "$T/.there" | head -20)"
        fi
    done
}
# The temporary file of NAME.
temporary_of() {
    python3 "$SOURCE/tests/sync/temporary_name.py" "$1"
}
# big_source HOSTS BYTES: HOSTS hosts, and the directory $S with a file `big`, whose temporary file
# is $PART. Needs tc, which `slow` uses.
big_source() {
    needs tc
    sync_hosts_up "$1"
    S=$D/src
    mkdir "$S"
    head -c "$2" /dev/urandom > "$S/big"
    PART=$S/$(temporary_of big)
}
# has_part HOST BYTES: BYTES of `big` have come.
has_part() { [ "$(on "$1" stat -c %s "$PART" 2> /dev/null || echo 0)" -ge "$2" ]; }
# slow MBIT HOST…: that is all that gets to each of them.
slow() {
    local rate=$1 h
    shift
    for h in "$@"; do
        tc qdisc replace dev "v-$h" root tbf rate "${rate}mbit" burst 64kb latency 50ms
    done
}
