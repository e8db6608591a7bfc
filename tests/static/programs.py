#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""programs.py: compares tests/lib/programs.list with what installs programs and what calls them.

programs.py list ROOT                  bootstrap, debian/control, mlaunch.spec and the list agree
programs.py calls ROOT SCRIPT…         each script asks for the programs that it calls

What is wrong is printed, a line each. A script may call what the base system has, which dpkg says;
a test also what bootstrap check installs, and what of packaging and bootstrap itself builds mlaunch
also what bootstrap build installs. It has to ask for all others: by `command -v`, or by needs or
is_here of tests/lib. The files that it reads count as part of it.
"""
import ast
import functools
import os
import re
import subprocess
import sys

import shell_commands

LIST = "tests/lib/programs.list"
STEPS = {"build": "needs_build", "check": "needs_check", "all": "needs_check_all"}
NAME = re.compile(r"[A-Za-z][\w.+-]*$")


def rows():
    """The list: program, package, step, and where mlaunch calls it."""
    with open(LIST, encoding="utf-8") as f:
        lines = [line.split() for line in f if not line.startswith("#")]
    for line in lines:
        if not 3 <= len(line) <= 4 or line[2] not in [*STEPS, "bench", "none"]:
            print(f"{LIST}: not understood: {' '.join(line)}")
    return [(*line, "") if len(line) == 3 else tuple(line[:4]) for line in lines if len(line) > 2]


# --- the list -----------------------------------------------------------------------------------


def bootstrap_needs():
    """For each list of bootstrap, the packages in it, and the programs, each with its package."""
    with open("bootstrap", encoding="utf-8") as f:
        text = f.read()
    lists = {}
    for name, value in re.findall(r"^(needs_\w+)=[\"']([^\"']*)[\"']", text, re.M):
        packages, programs = set(), {}
        for word in value.split():
            if word.startswith("$"):
                packages |= lists[word[1:]][0]
                programs |= lists[word[1:]][1]
            else:
                probe, package = word.split("=")
                packages.add(package)
                if probe.startswith("c:"):
                    programs[probe[2:]] = package
        lists[name] = packages, programs
    return lists


def bootstrap_compare():
    lists, listed = bootstrap_needs(), rows()
    packages_of = {program: package for program, package, _, _ in listed}
    for name, (_, programs) in lists.items():
        for program, package in programs.items():
            if packages_of.get(program) != package:
                print(f"bootstrap: {name} has {program}={package}, which {LIST} does not say")
    steps = [*STEPS, "none"]
    for program, package, step, _ in listed:
        if step == "bench":
            first = "bench" if package in lists["needs_bench"][0] else "none"
        else:
            first = next((s for s in STEPS if package in lists[STEPS[s]][0]), "none")
        if first != step and (step == "bench" or steps.index(first) <= steps.index("none")):
            print(f"{LIST}: {program}: {package} is of step {step}, but in bootstrap of {first}")


def control_fields():
    """What each package of debian/control depends on, recommends or suggests, but for our own
    packages, libraries and modules of Python."""
    with open("debian/control", encoding="utf-8") as f:
        blocks = f.read().split("\n\n")
    names = {}
    for block in blocks:
        package = re.search(r"^Package: (.*)$", block, re.M)
        if package:
            names[package[1]] = re.findall(
                r"^(?:Depends|Recommends|Suggests):((?:\n .*)+)", block, re.M
            )
    out = set()
    for package, fields in names.items():
        for other in re.findall(r"^ ([a-z0-9.+-]+)", "\n".join(fields), re.M):
            if other not in names and not re.match("lib|python3-", other):
                out.add((package, other))
    return out


def spec_words():
    with open("packaging/rpm/mlaunch.spec", encoding="utf-8") as f:
        text = f.read()
    fields = r"^(?:Requires|Recommends|Suggests): +(?:/usr/bin/)?([\w.+-]+)"
    return set(re.findall(fields, text, re.M))


def packages_compare():
    control, spec, ours = control_fields(), spec_words(), set()
    for program, package, _, user in rows():
        if not user:
            continue
        ours |= {(user, package), (user, program)}
        if (user, package) not in control:
            print(f"debian/control: {user} does not name {package}, whose {program} it calls")
        if not spec & {program, package}:
            print(f"packaging/rpm/mlaunch.spec: no package names {program}, which mlaunch calls")
    for user, package in sorted(control - ours):
        print(f"debian/control: {user} names {package}, which {LIST} does not say")
    for word in sorted(spec - {name for _, name in ours}):
        if not re.match("lib|.*-libs$", word):
            print(f"packaging/rpm/mlaunch.spec: {word} is named, which {LIST} does not say")


def list_compare():
    names = [row[0] for row in rows()]
    for before, name in zip(names, names[1:]):
        if not before.lower() < name.lower():
            print(f"{LIST}: {name} is not in alphabetical order, or there twice")
    bootstrap_compare()
    packages_compare()


# --- what scripts call --------------------------------------------------------------------------


def base_programs():
    """The programs of Debian's essential and required packages."""
    said = subprocess.run(
        ["dpkg-query", "-W", "-f", "${binary:Package} ${Essential} ${Priority}\n"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    base = [line for line in said.splitlines() if re.search(" yes | required$", line)]
    packages = [line.split()[0] for line in base]
    files = subprocess.run(
        ["dpkg", "-L", *packages], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    paths = {path for path in files if re.match("(/usr)?/s?bin/", path)}
    names = {os.path.basename(path) for path in paths}
    # awk and the like are links to one of several programs, which these files list.
    for name in os.listdir("/var/lib/dpkg/alternatives"):
        with open(f"/var/lib/dpkg/alternatives/{name}", encoding="utf-8") as f:
            if paths & set(f.read().split()):
                names.add(name)
    return names


class PythonCalls(ast.NodeVisitor):
    """Finds subprocess.run(["PROGRAM", …]) and its relatives."""

    def __init__(self):
        self.found = shell_commands.Found()

    def visit_Call(self, node):
        self.generic_visit(node)
        module = getattr(getattr(node.func, "value", None), "id", "")
        first = node.args[0] if node.args else None
        name = getattr(first, "elts", [first])[0] if getattr(first, "elts", [first]) else None
        if not isinstance(name, ast.Constant) or not isinstance(name.value, str):
            return
        word = shell_commands.Word(name.value, node.lineno)
        if module == "shutil" and node.func.attr == "which":
            self.found.asked.append(word)
        elif module == "subprocess" or (module == "os" and node.func.attr.startswith("exec")):
            self.found.calls.append(word)


@functools.cache
def script_read(path):
    """What one file has; None: there is no such file."""
    try:
        with open(path, encoding="utf-8") as f:
            text = f.read()
    except OSError:
        return None
    if not re.match("#!.*python", text):
        return shell_commands.read(text)
    visitor = PythonCalls()
    visitor.visit(ast.parse(text))
    return visitor.found


def source_path(word, path):
    """The file that a script reads by `. WORD`."""
    text = re.sub(
        r"^(\$\{(0|BASH_SOURCE\[0\])%/\*\}|\$here|\$\(dirname [^)]*\))", os.path.dirname(path), word
    )
    text = re.sub(r"^(\$SOURCE|\$source)/", "", text.replace("$TEST_LIB", "tests/lib"))
    return os.path.normpath(text)


def closure(path):
    """The script and all files that it reads, and they read."""
    found, rest = {}, [path]
    while rest:
        at = rest.pop()
        script = script_read(at)
        if script and at not in found:
            found[at] = script
            rest += [source_path(word.text, at) for word in script.sources]
    return found


def steps_of(path):
    """The steps of bootstrap whose programs the script needs not ask for."""
    if path.startswith("tests/"):
        return {"build", "check"}
    return {"build"} if path.startswith(("packaging/", "bootstrap", "debian/")) else set()


def script_compare(path, base, listed, functions):
    """Prints which programs a script calls without asking."""
    parts = closure(path)
    known = set().union(*(part.functions for part in parts.values()))
    asked = {word.text for part in parts.values() for word in part.asked}
    names = {row[0] for row in listed}
    free = {program for program, _, step, _ in listed if step in steps_of(path)}
    # Scripts in Python are called by those that ask. tests/vm/prepare installs what it needs.
    if path.endswith(".py") or path.startswith("tests/vm/"):
        free = names
    for file, part in parts.items():
        local = known if file == path else known | functions
        passed = [w for w in part.others if w.text in names and path.startswith("tests/")]
        for word in part.calls + passed:
            name = re.sub("^(/usr)?/s?bin/", "", word.text)
            if (
                NAME.match(name)
                and name not in base | free | asked | local
                and name not in shell_commands.BUILTINS
                and not name.startswith("mlaunch")
            ):
                what = "does not ask for" if name in names else f"calls what {LIST} lacks:"
                yield f"{file}:{word.line}: {what} {name}"


def calls_compare(paths):
    base, listed = base_programs(), rows()
    functions = set().union(*(script_read(path).functions for path in paths if script_read(path)))
    found = {line for path in paths for line in script_compare(path, base, listed, functions)}
    print("\n".join(sorted(found)), end="\n" if found else "")


if __name__ == "__main__":
    os.chdir(sys.argv[2])
    if sys.argv[1] == "list":
        list_compare()
    else:
        calls_compare(sys.argv[3:])
