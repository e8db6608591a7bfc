#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What is installed works from where it is installed: a job, an example built through pkg-config,
# and the layout that packagers see.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"

check "make install succeeds in a directory" make -C "$BUILD" -s install DESTDIR="$T/dest"
root=$T/dest$(sed -n 's/^prefix = //p' "$BUILD/Makefile")
for file in bin/mlaunch libexec/mlaunch/mlaunch-agent libexec/mlaunch/mlaunch-bench \
    libexec/mlaunch/mlaunch-bench-command libexec/mlaunch/mlaunch-copier \
    libexec/mlaunch/mlaunch-entry \
    libexec/mlaunch/mlaunch-metrics libexec/mlaunch/mlaunch-sync libexec/mlaunch/mlaunch-top \
    libexec/mlaunch/mlaunch-verify \
    lib/libmlaunch.so.0 lib/libmlaunch.a lib/mlaunch/mlaunch-runtime.so \
    share/mlaunch/python/mlaunch/__init__.py share/mlaunch/python/mlaunch/_argument.py \
    share/mlaunch/python/mlaunch/_buffer.py share/mlaunch/python/mlaunch/_call.py \
    share/mlaunch/python/mlaunch/_group.py share/mlaunch/python/mlaunch/_library.py \
    share/mlaunch/python/mlaunch/_operator.py share/mlaunch/python/mlaunch/_window.py \
    share/mlaunch/python/mlaunch/elastic.py share/mlaunch/python/mlaunch/gpu.py \
    share/mlaunch/python/mlaunch/torch.py share/mlaunch/python/mlaunch/transfer.py \
    share/mlaunch/python/mlaunch/py.typed \
    share/mlaunch/python/pyproject.toml share/mlaunch/python/mlaunch_autoload.py \
    include/mlaunch.h lib/pkgconfig/mlaunch.pc share/man/man1/mlaunch.1 \
    share/man/man8/mlaunch-agent.8 share/man/man3/mlaunch.h.3 \
    share/man/man3/mlaunch-python.3 share/man/man3/ml_send.3 share/man/man5/mlaunch-json.5 \
    share/man/man5/hostfile.5 share/bash-completion/completions/mlaunch \
    share/zsh/site-functions/_mlaunch share/fish/vendor_completions.d/mlaunch.fish \
    lib/tmpfiles.d/mlaunch.conf; do
    check "$file is installed" test -e "$root/$file"
done
check_match "^ExecStart=${root#"$T/dest"}/bin/mlaunch " \
    "$root/lib/systemd/system/mlaunch-metrics.service" "the unit for metrics starts what is installed"
if [ -x "$BUILD/examples/llm/mlaunch-llm" ]; then
    unit=$root/lib/systemd/system/mlaunch-llm.service
    check_match "${root#"$T/dest"}/bin/mlaunch-llm serve" "$unit" \
        "the unit for mlaunch-llm starts what is installed"
    check "mlaunch-llm-server is installed" "$root/bin/mlaunch-llm-server" --help
    check_match '^    mlaunch-llm-server start ' "$OUT" "mlaunch-llm-server knows its name"
    check "mlaunch-llm has no directory of the build" sh -c \
        '! objdump -p "$1" | grep "R.*PATH.*$2"' sh "$root/bin/mlaunch-llm" "$BUILD"
    check "mlaunch-llm is found and started" env -u BUILD "$root/bin/mlaunch" -n 1 -- \
        "$root/bin/mlaunch-llm" --help
    check_match '-- mlaunch-llm WORD' "$OUT" "mlaunch-llm says its name"
fi
if [ -x "$BUILD/launcher/pmix/mlaunch-pmix" ]; then
    check "mlaunch-pmix is installed" test -x "$root/libexec/mlaunch/mlaunch-pmix"
fi
check_output "" "the runtime module has no static archive" \
    find "$root/lib/mlaunch" -name '*.a'

check "the installed mlaunch runs a job" env -u BUILD "$root/bin/mlaunch" -n 2 -- true
check_output "$root/lib/pkgconfig $root/share/man: $root/share/mlaunch/python" \
    "mlaunch env names the places" env -u PKG_CONFIG_PATH -u MANPATH -u PYTHONPATH sh -c \
    'eval "$("$1" env)"; echo "$PKG_CONFIG_PATH $MANPATH $PYTHONPATH"' sh "$root/bin/mlaunch"
check_output "" \
    "mlaunch env adds nothing in a shell that has them" env -u PKG_CONFIG_PATH -u MANPATH \
    -u PYTHONPATH sh -c 'eval "$("$1" env)"; "$1" env' sh "$root/bin/mlaunch"
check_match '^Libs: .*-Wl,-rpath,\$\{libdir\}' "$root/lib/pkgconfig/mlaunch.pc" \
    "programs find the library where it is installed"
check "the installed bench checks its results" env -u BUILD "$root/bin/mlaunch" bench -n 2 \
    --sizes 8 --check
check "the installed mlaunch becomes mlaunch top" env -u BUILD "$root/bin/mlaunch" top --batch
if [ "$SANITIZE" != no ]; then
    skip "a program compiles through pkg-config" "a sanitized library"
    done_testing
fi
cat > "$T/sum.c" << 'C'
#include <mlaunch.h>
#include <stdio.h>
int main(void)
{
    ml_group *world;
    int one = 1, sum = 0;

    if (ml_init(&world) || ml_all_reduce(world, &one, &sum, 1, ML_INT32, ML_SUM)) {
        fprintf(stderr, "%s\n", ml_error());
        return 1;
    }
    if (ml_rank(world) == 0)
        printf("%d of %d\n", sum, ml_size(world));
    return ml_finalize();
}
C
export PKG_CONFIG_PATH=$root/lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$T/dest
read -ra flags < <("${PKG_CONFIG:-pkg-config}" --cflags --libs mlaunch)
check "a program compiles through pkg-config" "$CC" -o "$T/sum" "$T/sum.c" "${flags[@]}"
check_output "3 of 3" \
    "the program runs as three ranks" "$root/bin/mlaunch" -n 3 --output raw -- "$T/sum"
check_output "1 of 1" "the program runs alone" env LD_LIBRARY_PATH="$root/lib" "$T/sum"
check "a program compiles with the static library" "$CC" -o "$T/static" "$T/sum.c" \
    -I"$root/include" "$root/lib/libmlaunch.a" -ldl -lpthread
check_output "3 of 3" "the program with the static library runs as three ranks" \
    "$root/bin/mlaunch" -n 3 --output raw -- "$T/static"
check "make uninstall succeeds in the directory" make -C "$BUILD" -s uninstall DESTDIR="$T/dest"
check_output "" "make uninstall leaves nothing" find "$T/dest" -type f
done_testing
