#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Every header compiles alone; the public one also as strict C11 and as C++.
. "${0%/*}/../lib/test.sh"
cd "$SOURCE" || exit 1

# Not as a part of `make -jN check`: then make would talk of its job server and its directories.
read -ra flags < <(env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -s --no-print-directory -C "$BUILD" print-flags)
# needs_verbs HEADER: libibverbs's, itself or by one of ours.
needs_verbs() {
    local other
    grep -q '^#include <infiniband/' "$1" && return
    while IFS= read -r other; do
        needs_verbs "$other" && return
    done < <(sed -n 's/^#include "\(rdma\/.*\)"$/\1/p' "$1")
    return 1
}
while IFS= read -r header; do
    if ! grep -q '^#define HAVE_RDMA' "$BUILD/config.h" && needs_verbs "$header"; then
        skip "$header compiles alone" "built without RDMA"
        continue
    fi
    echo "#include \"$header\"" > "$T/alone.c"
    check "$header compiles alone" "$CC" -fsyntax-only -Wall -Wextra -Werror -I"$SOURCE" -I"$BUILD" \
        -D_GNU_SOURCE -std=gnu11 "${flags[@]}" "$T/alone.c"
done < <(find common coordinator launcher runtime rdma -name '*.h' | sort)
echo '#include <mlaunch.h>' > "$T/alone.c"
check "mlaunch.h is strict C11" "$CC" -fsyntax-only -Wall -Wextra -Werror -pedantic -std=c11 -Icommon "$T/alone.c"
if command -v c++ > /dev/null; then
    check "mlaunch.h is C++11" c++ -x c++ -fsyntax-only -Wall -Wextra -Werror -pedantic -std=c++11 -Icommon "$T/alone.c"
else
    skip "mlaunch.h is C++11" "no c++ here"
fi
done_testing
