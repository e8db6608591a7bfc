#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What describes Debian's packages and the RPM's fits what there is: versions, files, symbols, and
# the archive of `make dist`. Building and installing them is packages.t's and rpm.t's.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
debian=$SOURCE/debian
spec=$SOURCE/packaging/rpm/mlaunch.spec

version=$(sed -n 's/^AC_INIT(\[mlaunch\], \[\([0-9.]*\)\].*/\1/p' "$SOURCE/configure.ac")
check "configure.ac has a version" test -n "$version"
check_output "mlaunch ($version)" "debian/changelog has the version of configure.ac" \
    sh -c 'head -n 1 "$1" | cut -d " " -f 1-2' sh "$debian/changelog"
check_output "$version" \
    "mlaunch.spec has the version of configure.ac" sed -n 's/^Version: *//p' "$spec"

cat > "$T/control.py" << 'PY'
import re, sys
paragraphs = open(sys.argv[1]).read().rstrip("\n").split("\n\n")
for paragraph in paragraphs:
    for line in paragraph.split("\n"):
        assert re.fullmatch(r"[A-Z][A-Za-z-]*:( .*)?| \S.*| \.", line), line
    assert re.search(r"^Description: \S", paragraph, re.M) or paragraph.startswith("Source: ")
print(*re.findall(r"^Package: (.*)", "\n".join(paragraphs), re.M))
PY
check_output "mlaunch libmlaunch0 libmlaunch-dev python3-mlaunch mlaunch-llm mlaunch-hosts" \
    "debian/control has six packages" python3 "$T/control.py" "$debian/control"
if is_here dpkg-parsechangelog; then
    check_output "" "dpkg understands debian/changelog" sh -c \
        'cd "$1" && dpkg-parsechangelog --all 2>&1 > "$2"' sh "$SOURCE" "$T/changelog"
else
    skip "dpkg understands debian/changelog" "there is no dpkg-parsechangelog here"
fi

for file in "$debian"/*.docs "$debian"/*.examples; do
    while IFS= read -r pattern; do
        compgen -G "$SOURCE/$pattern" > "$T/glob" || echo "${file##*/}: $pattern"
    done < "$file"
done > "$T/missing"
check_output "" "all documents and examples of packages are there" cat "$T/missing"
# shown_by README DOCUMENTS…: the pictures that it shows and that those lists lack.
shown_by() {
    local picture readme=$1
    shift
    for picture in $(grep -oE '\]\([^)]*doc/[^)]*\.(svg|png)\)' "$readme" | sed 's/.*doc/doc/; s/)//'); do
        for list in "$@"; do
            tr ' ' '\n' < "$list" | grep -v '^$' | while IFS= read -r pattern; do
                # shellcheck disable=SC2254 # they are patterns
                case $picture in $pattern) echo shown ;; esac
            done | grep -q . || echo "$picture of $readme is not in $list"
        done
    done
}
check "README.md shows pictures" grep -q '\](doc/.*\.svg)' "$SOURCE/README.md"
check_output "" "pictures are in the packages of what shows them" sh -c 'cat "$1"' sh <(
    shown_by "$SOURCE/README.md" "$debian/mlaunch.docs" "$spec"
    shown_by "$SOURCE/examples/llm/README.md" "$debian/mlaunch-llm.docs" "$spec"
)
if [ -e "$SOURCE/.git" ] && is_here git && git -C "$SOURCE" ls-files debian packaging > "$T/files"; then
    while IFS= read -r file; do
        [ "$file" = packaging/Makefile.inc ] || grep -qE "^ *(%reldir%/|)${file#packaging/}( |\$)" "$SOURCE/packaging/Makefile.inc" ||
            echo "$file"
    done < "$T/files" > "$T/missing"
    check "git has files of packages" test "$(wc -l < "$T/files")" -gt 10
    check_output "" "make dist takes all files of packages" cat "$T/missing"
fi

{
    echo "libmlaunch.so.0 libmlaunch0 #MINVER#"
    nm -D --defined-only "$BUILD/runtime/libmlaunch.so.0" | awk '$2 == "A" { print $3 }' |
        sort -V | sed -E 's/^MLAUNCH_(.*)/ (symver)& \1.0/'
} > "$T/symbols"
check_output "" "debian/libmlaunch0.symbols has each node of the library, as old as its release" \
    diff "$debian/libmlaunch0.symbols" "$T/symbols"

for part in rdma/mlaunch-rdma.so launcher/pmix/mlaunch-pmix examples/llm/mlaunch-llm; do
    [ -e "$BUILD/$part" ] || {
        skip "each installed file is in one package" "this build has no ${part##*/}"
        done_testing
    }
done
check "make install succeeds" make -C "$BUILD" -s install DESTDIR="$T/dest"
prefix=$T/dest$(sed -n 's/^prefix = //p' "$BUILD/Makefile")
(cd "$prefix" && find . ! -type d | sed 's|^\./||' | LC_ALL=C sort) > "$T/installed"
check "much is installed" test "$(wc -l < "$T/installed")" -gt 80
echo "libexec/mlaunch/hosts/$(uname -m)-musl/mlaunch-agent" >> "$T/installed" # by make host-sets
check_output "" "each installed file is in one package" \
    python3 "$SOURCE/tests/packaging/contents.py" "$T/installed" "$SOURCE"
# What the Containerfile does with what is installed, without a tool for images.
mkdir "$T/image"
check "the image gets its files" sh -c 'cd "$1" && cp -R --parents $("$2" plain mlaunch libmlaunch0) \
    "$3"' sh "$prefix" "$SOURCE/packaging/list_files" "$T/image"
check "the image has the command" test -x "$T/image/bin/mlaunch"
check "the image has the agent and the library" test -x "$T/image/libexec/mlaunch/mlaunch-agent" \
    -a -e "$T/image/lib/libmlaunch.so.0"
check "the image has no header" test ! -e "$T/image/include"
needs=$(sed -n '/^needs_demo=/,/^needs_compile=/p' "$SOURCE/bootstrap" | grep -o '=[a-z0-9+-]*' |
    tr -d = | grep -vE '^$|autoconf|automake|libpcre2|systemtap|libcmocka|^gcc$|^make$|^libc6-dev$')
for package in $needs; do
    grep -qw -- "$package" "$SOURCE/packaging/Containerfile" || echo "$package"
done > "$T/missing"
check_output "" "the image is built with what bootstrap names" cat "$T/missing"
# The comparison sees what it should.
printf 'bin/new\nlib/libmlaunch.so.0\n' > "$T/odd"
python3 "$SOURCE/tests/packaging/contents.py" "$T/odd" "$SOURCE" > "$T/found"
check_match '^bin/new is in no package$' "$T/found" "a new file would be missed"
check_match '^nothing is installed that fits bin/mlaunch ' "$T/found" \
    "a lost file would be missed"
done_testing
