#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# --stage-libs: with the program its shared libraries, found by the rules of the dynamic loader, go
# to the hosts that lack them, and only there; parts of glibc never do.
# shellcheck disable=SC2154 # here: of stage.sh
TEST_TIER=quick
. "${0%/*}/stage.sh"
unset LD_LIBRARY_PATH # it is what this file is about
sizes() { cat "$@" | wc -c; }

# program needs libouter, that needs libinner, and both say where they were loaded from. liblocal
# stands for what every host has.
cat > inner.c << 'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
void inner(void)
{
    Dl_info info;

    dladdr(inner, &info);
    printf("inner %s\n", info.dli_fname);
}
C
cat > outer.c << 'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
void inner(void);
void outer(void)
{
    Dl_info info;

    dladdr(outer, &info);
    printf("outer %s\n", info.dli_fname);
    inner();
}
C
cat > program.c << 'C'
#include <stdio.h>
#include <stdlib.h>
void outer(void);
int main(void)
{
    const char *path = getenv("LD_LIBRARY_PATH");

    printf("path %s\n", path ? path : "none");
    outer();
    return 0;
}
C
mkdir lib only
library() { # NAME SOURCE FLAG…
    "$CC" -shared -fPIC -o "$1" -Wl,-soname,"${1##*/}" "${@:2}"
}
# shellcheck disable=SC2016 # the loader replaces $ORIGIN
origin='$ORIGIN'
library lib/libinner.so.1 inner.c -lm -Wl,--no-as-needed &&
    library lib/libouter.so.1 outer.c -Llib -l:libinner.so.1 -Wl,-rpath,"$origin" &&
    "$CC" -o program program.c -Llib -l:libouter.so.1 -Wl,-rpath-link,lib \
        -Wl,-rpath,"$origin/lib:$here/lib" -lm -ldl || skip_all "$CC cannot make a library"
path="/tmp/mlaunch-$(id -u)/[^/]*/files/0"

check_error 127 "libouter.so.1: cannot open shared object file" "--stage copies no library" \
    job --stage -H "$H1" -n 1 -- ./program
check "a program starts with --stage-libs" \
    job --stage-libs -v -H "$H1" -n 1 --output raw -- ./program
check_match "^outer $path/libouter.so.1\$" "$OUT" "a library from beside the program is copied"
check_match "^inner $path/libinner.so.1\$" "$OUT" "a library that another library needs is copied"
check_match "^path $path\$" "$OUT" "LD_LIBRARY_PATH names the copies"
check_match "its copy of $(sizes program lib/*) bytes in" "$ERR" \
    "nothing but the program and its libraries is copied"
check_no_match warning "$ERR" "a program with all its libraries gives no warning"
check "nothing is left of the copies" left_nothing
check "a program starts with the user's LD_LIBRARY_PATH" \
    job --stage-libs -H "$H1" -n 1 --output raw -x LD_LIBRARY_PATH=/user -- ./program
check_match "^path /user:$path\$" "$OUT" "the user's LD_LIBRARY_PATH comes first"

# A host that has one of them.
netns exec "$H2" mkdir -p "$here/lib"
netns exec "$H2" tee "$here/lib/libouter.so.1" < lib/libouter.so.1 > /dev/null
check "a program starts on a host that has one library" \
    job --stage-libs -v -H "$H2" -n 1 --output raw -- ./program
check_match "^outer $here/lib/libouter.so.1\$" "$OUT" "a host that has one library uses its own"
check_match "^inner $path/libinner.so.1\$" "$OUT" "a host that has one library gets the other"
check_match "its copy of $(sizes program lib/libinner.so.1) bytes in" "$ERR" \
    "the library that the host has is not copied"
check "a program starts on both hosts and this machine" \
    job --stage-libs -H "localhost,$H1,$H2" -n 3 --output raw -- ./program
check_match "^outer $here/(./)?lib/libouter.so.1\$" "$OUT" \
    "hosts and this machine use the libraries that they have"
if [ "$(grep -c "^inner $path" "$OUT")" = 2 ]; then
    pass "two of three ranks have a copy of a library"
else
    fail "two of three ranks have a copy of a library"
fi
check_match "^path none\$" "$OUT" "this machine's ranks have no LD_LIBRARY_PATH"

# Other ways by which the loader finds libraries.
library only/libouter.so.1 outer.c -Llib -l:libinner.so.1
"$CC" -o rpath program.c -Lonly -l:libouter.so.1 -Wl,-rpath-link,lib -Wl,--disable-new-dtags \
    -Wl,-rpath,"$here/only:\${ORIGIN}/lib"
check "a program with DT_RPATH starts" job --stage-libs -H "$H1" -n 1 --output raw -- ./rpath
check_match "^inner $path/libinner.so.1\$" "$OUT" "DT_RPATH holds for libraries of libraries"
"$CC" -o runpath program.c -Lonly -l:libouter.so.1 -Wl,-rpath-link,lib -Wl,--enable-new-dtags \
    -Wl,-rpath,"$here/only:$here/lib"
check_error 127 "^mlaunch: warning: --stage-libs: libinner.so.1, which libouter.so.1 needs, is not found" \
    "DT_RUNPATH does not hold for libraries of libraries, and one that nothing finds is named" \
    job --stage-libs -H "$H1" -n 1 -- ./runpath
check_match "libinner.so.1: cannot open shared object file" "$ERR" \
    "the loader names the library that was not found"
LD_LIBRARY_PATH=$here/lib check "a program starts with the caller's LD_LIBRARY_PATH" \
    job --stage-libs -H "$H1" -n 1 --output raw -- ./runpath
check_match "^inner $path/libinner.so.1\$" "$OUT" "the caller's LD_LIBRARY_PATH leads to libraries"
check "a program starts with LD_LIBRARY_PATH of -x" \
    job --stage-libs -H "$H1" -n 1 --output raw -x "LD_LIBRARY_PATH=$here/lib" -- ./runpath
check_match "^inner $path/libinner.so.1\$" "$OUT" "LD_LIBRARY_PATH of -x leads to libraries"
cp program second
check "two programs with libraries start" \
    job --stage-libs -v -H "$H1" -n 1 --output raw -- ./program : -n 1 ./second
check_match "^inner /tmp/mlaunch-.*/files/0/libinner.so.1" "$OUT" \
    "the first of two programs has its libraries"
check_match "^inner /tmp/mlaunch-.*/files/[1-9][0-9]*/libinner.so.1" "$OUT" \
    "the second of two programs has its libraries"
check_match "its copy of $(sizes program lib/*) bytes in" "$ERR" \
    "the libraries of two programs are copied once"
check "nothing is left of the copies of two programs" left_nothing

# What cannot be helped.
echo 'int fresh(void) { return 1; }' > fresh.c
echo 'int fresh(void); int newer(void) { return fresh(); }' > newer.c
echo 'GLIBC_9.9 { global: fresh; };' > fresh.map
echo 'int newer(void); int main(void) { return newer(); }' > main.c
mkdir fake
if library fake/libc.so.6 fresh.c -nostdlib -Wl,--version-script=fresh.map &&
    library lib/libnewer.so.1 newer.c fake/libc.so.6 -nostdlib &&
    "$CC" -o newer main.c -Llib -l:libnewer.so.1 -Wl,--allow-shlib-undefined -Wl,-rpath,"$origin/lib"; then
    check_error 125 "^mlaunch: host $H1: --stage-libs: libnewer.so.1 needs glibc 9.9, and glibc is never copied: this host has [0-9.]*; build" \
        "a library of a newer system is refused" job --stage-libs -H "$H1" -n 1 -- ./newer
else
    fail "a library of a newer system can be made"
fi

# Programs without libraries.
cat > static.c << 'C'
#include <unistd.h>
int main(void) { return write(1, "static\n", 7) != 7; }
C
"$CC" -static -o static static.c 2> /dev/null &&
    check_output static "a static program starts" \
        job --stage-libs -H "$H1" -n 1 --output raw -- ./static
printf '#!/bin/sh\necho script\n' > script
chmod +x script
check_output script "a script starts with --stage-libs" \
    job --stage-libs -H "$H1" -n 1 --output raw -- ./script

check "a plan with --stage-libs is made" job --stage-libs --dry-run -H "$H1" -n 1 -- ./program
check_match "^    copied from ./program \($(sizes program) bytes\)" "$OUT" \
    "the plan tells what would be copied"
check_match "^    with .*/lib/libouter.so.1 \($(sizes lib/libouter.so.1) bytes\) to each of them that lacks libouter.so.1" \
    "$OUT" "the plan tells which libraries would be copied"
check_no_match "libc\.so|libm\.so|ld-linux" "$OUT" "the plan has no library of glibc's"
done_testing
