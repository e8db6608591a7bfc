#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# `make wheel`: pip installs it without an index into a fresh environment, in which mlaunch, Python
# and the ranks of both work, also when the environment is moved, and on hosts over SSH. Each file
# is what a wheel of its tag may have: libraries of manylinux, beside it, or of drivers; no newer
# glibc; no directory of this machine.
TEST_TIER=full
TEST_LIMIT=900
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../lib/hosts.sh"
. "${0%/*}/../pages/page.sh"
[ "$SANITIZE" = no ] || skip_all "wheels are built without sanitizers"
[ -e "$BUILD/launcher/mlaunch-ssh.so" ] || skip_all "built without SSH"
python3 -c 'import ensurepip, venv' 2> /dev/null || skip_all "python3 has no venv with pip here"

# README's reader is in the folder of the source, and pip is that of the environment; no index is
# asked.
check "an environment of Python is made" python3 -m venv "$T/venv"
mkdir "$T/reader"
cd "$T/reader" || exit 1
ln -s "$BUILD" build
while IFS=$'\t' read -r page command; do
    check_typed "$page" "$command" env PATH="$T/venv/bin:$PATH" PIP_NO_INDEX=1 \
        PIP_DISABLE_PIP_VERSION_CHECK=1
done < <(page_commands)
wheel=$(echo "$BUILD"/packaging/wheel/*.whl)
check "the wheel's tag names a C library" test "${wheel/-py3-none-manylinux_2_/}" != "$wheel"
mkdir "$T/unpacked"
check "the wheel is an archive" python3 -m zipfile -e "$wheel" "$T/unpacked"
cat > "$T/audit.py" << 'PY'
import pathlib, re, subprocess, sys
tree, tag = pathlib.Path(sys.argv[1]), sys.argv[2]
limit = tuple(int(n) for n in re.search(r"manylinux_(\d+)_(\d+)_", tag).groups())
system = r"(lib(c|dl|m|pthread|resolv|rt|util|z|gcc_s)\.so|ld-linux|lib(ibverbs|pmix)\.so)"
files = [p for p in tree.rglob("*") if p.is_file()]
names, elf = {p.name for p in files}, 0
for path in files:
    of_musl = "-musl/" in str(path)
    body = path.read_bytes()
    for place in sys.argv[3:]:
        if place.encode() in body:
            print(f"{path.name} has {place}")
    if body[:4] != b"\x7fELF":
        continue
    elf += 1
    said = subprocess.run(["readelf", "-dVW", path], capture_output=True, text=True).stdout
    for name in re.findall(r"NEEDED.*\[(.*)\]", said):
        if not re.match("libc.so$" if of_musl else system, name) and name not in names:
            print(f"{path.name} needs {name}")
    for paths in re.findall(r"R(?:UN)?PATH.*\[(.*)\]", said):
        if not all(p.startswith("$ORIGIN") for p in paths.split(":")) and \
                path.name != "mlaunch-pmix":
            print(f"{path.name} searches {paths}")
    for version in re.findall(r"Name: GLIBC_([\d.]+)", said):
        if tuple(int(n) for n in version.split(".")) > (*limit, 99):
            print(f"{path.name} needs glibc {version}")
print(elf > 10)
PY
check_output "True" "the wheel's files need and name nothing else" \
    python3 "$T/audit.py" "$T/unpacked" "$wheel" "$BUILD" "$SOURCE" /source/
check "libssh is in the wheel" test -e "$(find "$T/unpacked" -name 'libssh.so.4')"
check "libcrypto is in the wheel" sh -c 'find "$1" -name "libcrypto.so*" | grep -q .' sh \
    "$T/unpacked"
check_output "" \
    "libraries of drivers are not in the wheel" find "$T/unpacked" -name 'lib*verbs*.so*'

two='import mlaunch, sys; sys.stdout.write("%d\n" % mlaunch.init().size)'
# works_in DIRECTORY NAME: without anything of the build.
works_in() {
    check_output "2
2" "$2: two ranks of Python work together" env -u BUILD PATH="$1/bin:$PATH" mlaunch -n 2 \
        --output raw -- python3 -c "$two"
    check_output "1" "$2: Python works without mlaunch" "$1/bin/python3" -c "$two"
    check "$2: bench checks its results" env -u BUILD "$1/bin/mlaunch" bench -n 2 --sizes 8 --check
}
works_in "$T/venv" "installed"
check "the environment is moved" mv "$T/venv" "$T/moved"
works_in "$T/moved" "moved"
reason=$(netns usable 2>&1) || { skip "two ranks work over SSH" "$reason"; done_testing; }
hosts_up 1
check_output "2" "two ranks work over SSH" sh -c '"$@" | grep -c "^2$"' sh env -u BUILD \
    PATH="$T/moved/bin:$PATH" mlaunch --ssh-config "$NETNS_SSH_CONFIG" -H "$H1:2" -n 2 \
    --output raw -- python3 -c "$two"
done_testing
