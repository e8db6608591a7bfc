#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""contents.py INSTALLED SOURCE: prints what is wrong with the packages' lists of files.

INSTALLED holds a line for each file of `make install`, below its prefix. By debian/*.install (and
debian/rules, for the units) and by %files of the RPM's spec each of them is in exactly one package,
in both the same, and each pattern finds something.
"""
import collections
import fnmatch
import pathlib
import re
import sys

RPM = {"": "mlaunch", "libs": "libmlaunch0", "devel": "libmlaunch-dev", "llm": "mlaunch-llm",
       "-n python3-%{name}": "python3-mlaunch"}


def debian_patterns(debian):
    """Yields package, pattern."""
    for path in sorted(debian.glob("*.install")):
        for line in path.read_text().split("\n"):
            if line:
                yield path.stem, line
    # The units are moved to where dh_installsystemd takes them.
    for pattern, package in re.findall(r"mv debian/tmp/(\S+) debian/([^.]+)\.",
                                       (debian / "rules").read_text()):
        yield package, pattern


def rpm_patterns(spec):
    macros = {"%{_bindir}": "usr/bin", "%{_libdir}": "usr/lib/*", "%{_datadir}": "usr/share",
              "%{_libexecdir}": "usr/libexec", "%{_includedir}": "usr/include",
              "%{_mandir}": "usr/share/man", "%{_unitdir}": "usr/lib/systemd/system"}
    package = None
    for line in spec.split("\n"):
        if line.startswith("%files"):
            package = RPM[line[len("%files"):].strip()]
        elif line.startswith("%changelog"):
            package = None
        elif package and line.startswith("%{") and "python3_sitelib" not in line:
            for macro, place in macros.items():
                line = line.replace(macro, place)
            # Pages are compressed when the package is made.
            yield package, re.sub(r"(/man/.*\.\d)\*$", r"\1", line)


def fits(name, pattern):
    return fnmatch.fnmatchcase(name, pattern.rstrip("/")) or \
        name.startswith(pattern.rstrip("/") + "/")


def packages(names, patterns, kind):
    """The package of each name; prints what is in none or several, and patterns without a file."""
    found, used = collections.defaultdict(set), set()
    for package, pattern in patterns:
        for name in names:
            if fits(name, pattern):
                found[name].add(package)
                used.add(pattern)
    for package, pattern in patterns:
        if pattern not in used:
            print(f"{kind}: nothing is installed that fits {pattern} of {package}")
    for name in names:
        if len(found[name]) != 1:
            print(f"{kind}: {name} is in", " and ".join(sorted(found[name])) or "no package")
    return found


def main():
    names = []
    for line in pathlib.Path(sys.argv[1]).read_text().split():
        if line.startswith("lib/") and not line.startswith("lib/systemd/"):
            line = "lib/any/" + line[len("lib/"):]
        names.append("usr/" + line)
    source = pathlib.Path(sys.argv[2])
    deb = packages(names, list(debian_patterns(source / "debian")), "debian/")
    spec = (source / "packaging/rpm/mlaunch.spec").read_text()
    rpm = packages(names, list(rpm_patterns(spec)), "mlaunch.spec")
    for name in names:
        if deb[name] != rpm[name]:
            print(f"{name} is in", *sorted(deb[name]), "of Debian and", *sorted(rpm[name]))


main()
