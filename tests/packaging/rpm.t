#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The RPM's spec, in check-long: rpmbuild makes the five packages of what make dist makes. On Debian
# RPM knows nothing of what is installed, so that what the spec requires cannot be tried here.
TEST_TIER=full
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../pages/page.sh"
spec=$SOURCE/packaging/rpm/mlaunch.spec
is_long || skip_all "only in check-long: it builds the packages"
[ "$SANITIZE" = no ] || skip_all "packages are built without sanitizers"
needs rpmbuild rpm rpm2cpio cpio
version=$(sed -n 's/^Version: *//p' "$spec")

if is_here rpmlint; then
    # Debian's rpmlint has Mageia's rules (%mklibname), of which other systems know nothing, and our
    # source has no home on the web.
    rpmlint "$spec" | grep -E ': [EW]: ' |
        grep -vE 'lib-package-without-%mklibname|no-buildroot-tag|invalid-url Source0' > "$T/lint"
    check_output "" "rpmlint finds nothing in the spec" cat "$T/lint"
else
    skip "rpmlint finds nothing in the spec" "$LACKS"
fi
# README's reader is in the folder of the source. rpmbuild gets a folder of the test's, and is not to
# ask Debian's RPM, which knows nothing of what is installed.
mkdir "$T/reader" "$T/bin"
cd "$T/reader" || exit 1
ln -s "$BUILD" build
cat > "$T/bin/rpmbuild" << 'SH'
#!/bin/sh
exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME="$T" LC_ALL=C.UTF-8 \
    MLAUNCH_TEST_MARK="$MLAUNCH_TEST_MARK" rpmbuild --define "_topdir $T/rpm" --nodeps "$@"
SH
chmod +x "$T/bin/rpmbuild"
while IFS=$'\t' read -r page command; do
    check_typed "$page" "$command" env T="$T" PATH="$T/bin:$PATH"
done < <(page_commands)
check_output "mlaunch mlaunch-devel mlaunch-libs mlaunch-llm python3-mlaunch" \
    "rpmbuild makes the five packages" sh -c \
    'find "$1/RPMS" -name "*.rpm" -exec rpm -qp --qf "%{NAME}\n" {} \; | grep -v debug | sort | xargs' \
    sh "$T/rpm"
check "rpmbuild makes the source package" test -e "$T/rpm/SRPMS/mlaunch-$version-1.src.rpm"
requires() { rpm -qp --requires "$T"/rpm/RPMS/*/"$1-$version"-*.rpm; }
check "mlaunch-devel says what it requires" requires mlaunch-devel
check_match "^mlaunch-libs.* = $version-1" "$OUT" \
    "mlaunch-devel requires its library, of the same version"
check "mlaunch-llm says what it requires" requires mlaunch-llm
check_match "^libmlaunch\.so\.0" "$OUT" "mlaunch-llm requires the library that it links"
mkdir "$T/unpacked"
for package in "$T"/rpm/RPMS/*/*.rpm; do
    (cd "$T/unpacked" && rpm2cpio "$package" | cpio -id --quiet)
done
check "the packages have the command mlaunch" test -x "$T/unpacked/usr/bin/mlaunch"
check "mlaunch runs from the unpacked packages" env -u BUILD "$T/unpacked/usr/bin/mlaunch" --version
done_testing
