#!/bin/sh
# SPDX-License-Identifier: MIT
# Finds the agent on a host that is reached over SSH, and becomes it: runs each candidate that is
# there with --build until one is of this build. If none is, it prints "none", the last status or
# why there was none, the uid, the machine's architecture, its C library (glibc-2.31) and $HOME. The
# loader of glibc ends what needs a newer one with status 1, as an agent may end.
#
# remote_agent.c fills the gaps and puts the script between single quotes, so that every login shell
# (sh, bash, zsh, csh, fish) passes it to /bin/sh unchanged. The Makefile joins its lines with
# spaces, because csh takes no newline there; so a line that does not end in a word of the shell
# ends in a semicolon. There must be no single quote, backslash or exclamation mark, and no brace
# with a name in it that is not a gap.
#
# shellcheck disable=SC1083,SC2046,SC2086 # gaps; words that are lists
echo {marker};
c="$HOME/.cache/mlaunch/{copy}";
only={only};
none={none};
t=missing;
# The user's copy is as mlaunch has made it: nobody else can have written to it, and each file has
# its size and its checksum. With a file that was cut off, all ranks would die of SIGBUS. A host
# without cksum is content with the size. {files}: sum, size and name of each, as cksum prints them.
whole() {
    names=;
    set -- {files};
    while [ $# -gt 0 ]; do names="$names $3"; shift 3; done;
    u=$(id -u);
    own=$(cd "$c" && LC_ALL=C ls -lnd . .. $names 2> /dev/null | while read -r m l o g z n; do
        case $m,$o in
            (d????-??-*,$u) printf " %s" "${n##* }";;
            (-????-??-*,$u) printf " %s %s" "$z" "${n##* }";;
        esac;
    done);
    case "$own " in (*" . "*) ;; (*) return 1;; esac;
    case "$own " in (*" .. "*) ;; (*) return 1;; esac;
    set -- {files};
    while [ $# -gt 0 ]; do
        case "$own " in (*" $2 $3 "*) shift 3;; (*) return 1;; esac;
    done;
    set -- $(cd "$c" && cksum $names 2> /dev/null);
    case "$*" in (""|"{files}") ;; (*) return 1;; esac;
};
set -- {candidate};
[ "$only" ] || set -- "$@" "$(command -v mlaunch-agent)" "$c/mlaunch-agent";
for a in "$@"; do
    [ -x "$a" ] || continue;
    case $only$a in ("$c"/*) whole || { t=changed; continue; };; esac;
    "$a" --build {build};
    t=$?;
    case $t in
        ({others}) ;;
        (1) case $("$a" --version 2>&1) in (*GLIBC_*) ;; (*) exit 1;; esac;;
        (*) exit $t;;
    esac;
done;
l=$(getconf GNU_LIBC_VERSION 2> /dev/null);
for m in /lib/ld-musl-*.so.1; do
    [ "$l" ] || [ ! -e "$m" ] || l="musl $("$m" 2>&1 | sed -n "s/^Version //p")";
done;
[ "$l" ] || l=$(ldd --version 2>&1 | sed -n "1s/.* /glibc /p");
set -- $l;
echo none $t $(id -u) "$(uname -m)" "${1:-unknown}-${2:-}" "$HOME";
exit $none;
