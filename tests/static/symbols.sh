# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# symbols.sh: the symbols of the objects in the build folder.

# symbols FOLDER…: prints "runtime/a T name" for each symbol of each source in these folders, with
# nm's letter for its kind. An object is called as its source, behind its library's name where that
# has flags of its own. Objects of an older build are left out: those whose sources are gone, and
# those that the build makes no more since a library has come.
symbols() {
    {
        (cd "$SOURCE" && find "$@" -name '*.c')
        (cd "$BUILD" && find "$@" -name '*.o' | sort |
            comm -12 - <(grep -v '^#' Makefile | grep -oE '[^[:space:]=]+\.\$\(OBJEXT\)( |$)' |
                sed 's/\$(OBJEXT).*/o/' | sort -u) | xargs nm -A --)
    } | awk '
        NF == 1 { is_source[$1] = 1; next }
        {
            file = $1
            sub(/:.*/, "", file)
            sub(/[^\/]*-/, "", file)
            sub(/o$/, "c", file)
        }
        file in is_source { sub(/\.c$/, "", file); print file, $(NF - 1), $NF }'
}
