#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""contents.py INSTALLED SOURCE: prints what is wrong with the packages' list of files.

INSTALLED holds a line for each file of `make install`, below its prefix. By packaging/files each of
them is in exactly one package, and each pattern finds something; debian/ and the RPM's spec have
those packages and take their files from there.
"""
import fnmatch
import pathlib
import re
import sys

RPM = {"mlaunch": "", "mlaunch-hosts": "hosts", "libmlaunch0": "libs", "libmlaunch-dev": "devel",
       "mlaunch-llm": "llm", "python3-mlaunch": "-n python3-%{name}"}


def fits(name, pattern):
    return fnmatch.fnmatchcase(name, pattern) or name.startswith(pattern + "/")


def lists_judge(names, patterns):
    used = set()
    for name in names:
        found = {(package, pattern) for package, pattern in patterns if fits(name, pattern)}
        used |= found
        packages = sorted({package for package, _ in found})
        if len(packages) != 1:
            print(f"{name} is in", " and ".join(packages) or "no package")
    for package, pattern in patterns:
        if (package, pattern) not in used:
            print(f"nothing is installed that fits {pattern} of {package}")


def debian_judge(debian, packages, patterns):
    for path in debian.glob("*.install"):
        if path.stem not in packages:
            print(f"packaging/files has no {path.stem}")
    for package in packages:
        path = debian / f"{package}.install"
        said = path.read_text() if path.exists() else ""
        if not said.endswith(f"\nexec packaging/list_files debian {package}\n"):
            print(f"debian/{path.name} does not take packaging/files")
    # The units are moved to where dh_installsystemd takes them.
    moved = {(package, place) for place, package in re.findall(
        r"mv debian/tmp/usr/(\S+) debian/([^.]+)\.", (debian / "rules").read_text())}
    for unit in moved ^ {p for p in patterns if p[1].startswith("lib/systemd/")}:
        print("debian/rules and packaging/files differ in", *unit)


def spec_judge(spec, packages):
    for package in packages:
        words = f"%files {RPM[package]} -f files.{package}\n".replace("  ", " ")
        if words not in spec:
            print(f"mlaunch.spec: no {words.strip()}")


def main():
    names = pathlib.Path(sys.argv[1]).read_text().split()
    source = pathlib.Path(sys.argv[2])
    patterns = [tuple(line.split(" ", 1)) for line in
                (source / "packaging/files").read_text().splitlines() if line[0] != "#"]
    packages = sorted({package for package, _ in patterns})
    lists_judge(names, patterns)
    debian_judge(source / "debian", packages, patterns)
    spec_judge((source / "packaging/rpm/mlaunch.spec").read_text(), packages)


main()
