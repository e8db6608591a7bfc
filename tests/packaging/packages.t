#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Debian's packages, in check-long: they are built twice, in two directories, with the same result;
# lintian finds nothing; a fresh Debian installs them and what they need, an ordinary user there
# runs jobs and builds programs, and a purge leaves nothing. The fresh Debian is a directory, in
# namespaces of its own; no service is started in it.
TEST_TIER=full
TEST_PARTS=2
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../lib/debian.sh"
is_long || skip_all "only in check-long: it builds the packages and fetches a Debian"
[ "$SANITIZE" = no ] || skip_all "packages are built without sanitizers"
needs dpkg-buildpackage dpkg-checkbuilddeps dpkg-parsechangelog dh lintian pybuild
missing=$(cd "$SOURCE" && dpkg-checkbuilddeps 2>&1) || skip_all "${missing##*error: }"
version=$(dpkg-parsechangelog -l "$SOURCE/debian/changelog" -S Version)

# build_in DIRECTORY OPTIONS: from what make dist would archive, with nothing of this build in the
# environment.
build_in() {
    mkdir "$T/$1"
    make -C "$BUILD" -s distdir distdir="$T/$1/mlaunch-$version" || return
    cd "$T/$1/mlaunch-$version" || return
    env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME="$T" LC_ALL=C.UTF-8 \
        MLAUNCH_TEST_MARK="$MLAUNCH_TEST_MARK" \
        DEB_BUILD_OPTIONS="parallel=$(nproc) $2" dpkg-buildpackage -us -uc
}
export -f build_in
export T version
begin=$SECONDS
options=
in_part 0 || options=nocheck
check "dpkg-buildpackage builds the packages" bash -c 'build_in a "$1"' bash "$options"
diag "after $((SECONDS - begin)) s"
mapfile -t debs < <(cd "$T/a" && find . -name "*.deb" ! -name "*-dbgsym_*" | sort)
check_output "libmlaunch-dev libmlaunch0 mlaunch mlaunch-llm python3-mlaunch" \
    "there are the five packages" \
    sh -c 'printf "%s\n" "$@" | cut -d _ -f 1 | cut -c 3- | sort | xargs' sh "${debs[@]}"
[ "${#debs[@]}" = 5 ] || done_testing
if in_part 0; then
    check_output "" "lintian finds nothing" lintian --allow-root --tag-display-limit 0 \
        --fail-on error,warning "$T"/a/*.changes
    check "the packages are built once more, elsewhere" bash -c 'build_in elsewhere nocheck'
    (cd "$T/a" && sha256sum ./*.deb) > "$T/sums"
    check "the packages are the same, bit for bit" \
        sh -c 'cd "$1" && sha256sum -c "$2"' sh "$T/elsewhere" "$T/sums"
fi

for deb in "${debs[@]}"; do dpkg-deb -x "$T/a/$deb" "$T/unpacked"; done
find "$T/unpacked" -type f -exec sh -c 'objdump -p "$1" 2> /dev/null |
    grep -E "RPATH|RUNPATH" && echo "$1"' sh {} \; > "$T/paths"
check_output "" "no program names a directory of libraries" cat "$T/paths"
check_output "-lmlaunch" "pkg-config names no directory of libraries" sh -c \
    'PKG_CONFIG_LIBDIR=$(dirname "$(find "$1" -name mlaunch.pc)") pkg-config --libs mlaunch | xargs' \
    sh "$T/unpacked"

in_part 1 || done_testing
root=$DEBIAN
# as_user SCRIPT: in the home directory of an ordinary user.
as_user() {
    inside env HOME=/home/user setpriv --reuid user --regid user --init-groups sh -c "cd && $1"
}

begin=$SECONDS
debian_up "the packages install in a fresh Debian"
check "a compiler and man are installed" debian_install gcc libc6-dev pkg-config man-db
mkdir "$root/debs" && cp "${debs[@]/#/$T/a/}" "$root/debs"
check "apt installs the packages" inside sh -c \
    'apt-get install -q -y --no-install-recommends /debs/*.deb'
diag "after $((SECONDS - begin)) s"
check "no service is enabled" sh -c '! ls "$1"/etc/systemd/system/*/mlaunch*' sh "$root"
check "the units of services are there" sh -c 'ls "$1"/*/systemd/system/mlaunch-metrics.service \
    "$1"/*/systemd/system/mlaunch-llm.service' sh "$root/usr"

check "an ordinary user is added" inside useradd -m user
check "mlaunch --version succeeds for the user" as_user 'mlaunch --version'
check_match "^mlaunch $version" "$OUT" "mlaunch --version is that of the package"
check_output "4" "a job of 4 ranks runs for the user" as_user \
    'mlaunch -n 4 --output raw -- hostname | grep -c .'
check_output "0 1" "each rank has its number" as_user \
    'mlaunch -n 2 --output raw -- sh -c "echo \$MLAUNCH_RANK" | sort | xargs'
check "mlaunch bench runs without libibverbs and libpmix" as_user \
    'mlaunch bench -n 2 --sizes 8 --check'
check "a program is built against the library" as_user \
    'cc -Wall -Werror -o sum /usr/share/doc/libmlaunch-dev/examples/kmeans.c \
        $(pkg-config --cflags --libs mlaunch)'
check "the user's program runs as three ranks" as_user \
    'mlaunch -n 3 --output raw -- ./sum /usr/share/doc/libmlaunch-dev/examples/iris.csv > three'
check "the user's program alone has the same result" as_user \
    './sum /usr/share/doc/libmlaunch-dev/examples/iris.csv > one && cmp one three && test -s one'
check "a program is built against the archive" as_user \
    'cc -o static /usr/share/doc/libmlaunch-dev/examples/hello.c \
        $(pkg-config --cflags mlaunch) -l:libmlaunch.a -ldl -lpthread && ./static'
check_output "1" "import mlaunch works without mlaunch" as_user \
    'python3 -c "import mlaunch; print(mlaunch.init().size)"'
check_output "2" "import mlaunch works in ranks" as_user \
    'mlaunch -n 2 --output raw -- python3 -c "import mlaunch; w = mlaunch.init(); w.rank or print(w.size)"'
check_output "mlaunch_autoload:register" "torch finds the backend" as_user \
    'python3 -c "from importlib.metadata import entry_points as e; print(*[p.value for p in e(group=\"torch.backends\")])"'
for page in mlaunch mlaunch-sync hostfile mlaunch-agent ml_send mlaunch-python \
    mlaunch-llm-server; do
    check "man shows the page $page" as_user "man $page > page && test \$(wc -l < page) -gt 20"
done
check "a model is made for mlaunch-llm" python3 "$SOURCE/tests/llm/tiny_model.py" \
    "$root/home/user/tiny.gguf"
check "mlaunch-llm and its server's script run" as_user \
    'mlaunch -n 2 -- mlaunch-llm generate --model tiny.gguf \
    --prompt "once upon" --tokens 8 && mlaunch-llm-server --help'
check "Python keeps bytecode for ranks of root" inside sh -c \
    'mlaunch -n 1 -- python3 -c "import mlaunch" && ls /usr/share/mlaunch/python/mlaunch/__pycache__'

check "apt purges the packages" inside apt-get purge -q -y mlaunch mlaunch-llm libmlaunch0 \
    libmlaunch-dev python3-mlaunch
check_output "" "a purge leaves nothing" find "$root/etc" "$root/opt" "$root/srv" "$root/tmp" \
    "$root/usr" "$root/var" -name '*mlaunch*' -not -path '*/var/log/*' -not -path '*/var/cache/man/*'
done_testing
