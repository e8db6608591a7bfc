#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# examples/llm is a program on top of what is installed: a copy of its folder is built elsewhere, by
# its own Makefile and the installed mlaunch.pc, and runs under the installed mlaunch.
TEST_TIER=quick
TEST_LIMIT=300
. "${0%/*}/../lib/test.sh"
[ "$SANITIZE" = no ] || skip_all "a sanitized library"

check "make install succeeds" make -C "$BUILD" -s install DESTDIR="$T/dest"
root=$T/dest$(sed -n 's/^prefix = //p' "$BUILD/Makefile")
must cp -R "$SOURCE/examples/llm" "$T/llm"
chmod -R u+w "$T/llm" # as that of an unpacked release may not be
rm -rf "$T/llm/build"
export PKG_CONFIG_PATH=$root/lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$T/dest

# Not as a part of the make that runs this test.
unset MAKEFLAGS MFLAGS MAKELEVEL
make=(make -s -j2 -C "$T/llm" O="$T/objects" CC="$CC" CFLAGS=-O0)
check "a copy of the folder is built" "${make[@]}"

check "a model is made for both builds" python3 "$SOURCE/tests/llm/tiny_model.py" "$T/tiny.gguf"
words=(generate --model "$T/tiny.gguf" --temperature 0 --tokens 4 --prompt-tokens '1,2,3')
check "mlaunch's own build continues a text" \
    "$MLAUNCH" -n 2 --output raw -- "$BUILD/examples/llm/llm" "${words[@]}"
check_output "$(cat "$OUT")" "the copy continues it alike under the installed mlaunch" \
    env -u BUILD "$root/bin/mlaunch" -n 2 --output raw -- "$T/objects/llm" "${words[@]}"
check "make clean succeeds" "${make[@]}" clean
check_output "" "make clean leaves nothing" find "$T/objects" -type f
done_testing
