#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# ./bootstrap configures its build folder once: again only when another --prefix is asked for, and
# not because a later command names none. The tools are stand-ins.
. "${0%/*}/../lib/test.sh"

mkdir "$T/tree" "$T/bin"
cp "$SOURCE/bootstrap" "$T/tree/"
cd "$T/tree" || exit 1
printf '#!/bin/sh\necho "$@" >> ../configured\n: > Makefile\n' > configure
printf '#!/bin/sh\necho "$@" >> "%s"\n' "$T/made" > "$T/bin/make"
for tool in cc autoconf automake libtoolize pkg-config; do
    printf '#!/bin/sh\n' > "$T/bin/$tool"
done
chmod +x configure "$T"/bin/*
PATH=$T/bin:$PATH

check "a first build" ./bootstrap build
check_output "-q" "is configured" cat configured
check "with a prefix" ./bootstrap --prefix "$T/one"
check_output "-q --prefix=$T/one" "it is configured again" tail -n +2 configured
check_match ' install$' "$T/made" "and installed"
: > "$T/made"
check "a later build without one" ./bootstrap
check_output "-q --prefix=$T/one" "keeps the prefix" tail -n +2 configured
check_no_match ' clean$| install$' "$T/made" "compiles nothing anew and installs nothing"
check "another prefix" ./bootstrap --prefix="$T/two" build
check_output "-q --prefix=$T/two" "is configured" tail -n +3 configured
done_testing
