#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""make_wheel.py TREE SSH-MODULE VERSION DIRECTORY: writes a wheel of an installation there.

TREE is what `make install-strip` has put below its prefix. The Python package becomes the wheel's,
all else lies below the environment's prefix, where mlaunch finds its parts by where it lies itself.
SSH-MODULE is linked so that it finds libssh, libcrypto and what they need beside it, as mlaunch-llm
finds libpcre2 beside libmlaunch; libraries that talk to drivers (libibverbs) or to a system's own
servers (libpmix) are never in a wheel. The tag says which C library the files need.
"""
import base64
import hashlib
import pathlib
import platform
import re
import subprocess
import sys
import zipfile

# What each system of manylinux has.
SYSTEM = re.compile(r"(lib(c|dl|m|pthread|resolv|rt|util|z|gcc_s)\.so|ld-linux)")


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def bundled(module):
    """What the loader takes for it from this machine, but for a system's libraries and ours."""
    for name, path in re.findall(r"(\S+) => (/\S+)", output("ldd", str(module))):
        if not SYSTEM.match(name) and not name.startswith("libmlaunch"):
            yield name, pathlib.Path(path).read_bytes()


def contents(tree, module):
    """Yields name, bytes, whether it is a program."""
    data = f"mlaunch-{VERSION}.data/data/"
    python = tree / "share/mlaunch/python"
    for path in sorted(p for p in tree.rglob("*") if p.is_file()):
        name, body = path.relative_to(tree).as_posix(), path.read_bytes()
        if name.startswith(("lib/systemd/", "lib/tmpfiles.d/")) or "__pycache__" in name:
            continue
        if path.name == "mlaunch-ssh.so":
            body = module.read_bytes()
        if path.name == "mlaunch.pc":
            body = re.sub(rb"(?m)^prefix=.*", b"prefix=${pcfiledir}/../..", body)
        yield data + name, body, path.stat().st_mode & 0o100
        if path.is_relative_to(python) and path.suffix in (".py", ".typed"):
            yield path.relative_to(python).as_posix(), body, False
    for user, place in (module, "lib/mlaunch/"), (tree / "bin/mlaunch-llm", "lib/"):
        for name, body in bundled(user) if user.exists() else ():
            yield data + place + name, body, False


def glibc(tree, module):
    """The newest version that a file needs, as 2, 36."""
    newest = (2, 17)
    files = [p for p in tree.rglob("*") if p.is_file() and p.read_bytes()[:4] == b"\x7fELF"]
    for path in [*files, module]:
        for version in re.findall(r"Name: GLIBC_([\d.]+)", output("readelf", "-VW", str(path))):
            newest = max(newest, tuple(int(n) for n in version.split(".")[:2]))
    return newest


def main():
    tree, module = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    major, minor = glibc(tree, module)
    tag = f"py3-none-manylinux_{major}_{minor}_{platform.machine()}"
    info = f"mlaunch-{VERSION}.dist-info/"
    files = list(contents(tree, module))
    files.append((info + "METADATA", f"""Metadata-Version: 2.1
Name: mlaunch
Version: {VERSION}
Summary: Start a program as many ranks, here and on other hosts
License: MIT
Requires-Python: >=3.8
""".encode(), False))
    files.append((info + "WHEEL", f"""Wheel-Version: 1.0
Generator: mlaunch
Root-Is-Purelib: false
Tag: {tag}
""".encode(), False))
    files.append((info + "entry_points.txt",
                  b"[torch.backends]\nmlaunch = mlaunch_autoload:register\n", False))
    record = ""
    wheel = pathlib.Path(sys.argv[4]) / f"mlaunch-{VERSION}-{tag}.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, body, is_program in files:
            digest = base64.urlsafe_b64encode(hashlib.sha256(body).digest()).rstrip(b"=").decode()
            record += f"{name},sha256={digest},{len(body)}\n"
            write(archive, name, body, is_program)
        write(archive, info + "RECORD", (record + info + "RECORD,,\n").encode(), False)
    print(wheel)


def write(archive, name, body, is_program):
    entry = zipfile.ZipInfo(name)  # dated 1980: the same files make the same wheel
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = (0o100755 if is_program else 0o100644) << 16
    archive.writestr(entry, body)


VERSION = sys.argv[3]
main()
