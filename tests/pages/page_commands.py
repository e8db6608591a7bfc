#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What README.md, examples/README.md, "Build" of CONTRIBUTING.md and EXAMPLES of the man pages tell
a reader to type, and the texts beside it (hostfiles, programs). The file `commands` says which test
runs or uses each.

page_commands.py of TEST           the commands of this test, each a line: PAGE, tab, COMMAND
page_commands.py text PAGE BEGIN   the only text of the page that begins so
page_commands.py check             complaints: what no row of `commands` has, and rows that are
                                   wrong; all tests' names come by the standard input
page_commands.py all               all of it

A block is texts, or commands: then its lines begin with a prompt, and others are output, or with
a program of PROGRAM. A command is known by its words, without a comment, its lines joined.
"""
import fnmatch, glob, os, re, sys

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LIST = os.path.join(SOURCE, "tests/pages/commands")
REASONS = ("a device", "a cluster's software that Debian lacks", "a registry")
PROMPT = re.compile(r"[$#] ")
PROGRAM = re.compile(r"(mlaunch[a-z-]*|[.\w]*/\S+|sudo|eval|cc|cat|ls|jq|make|mkdir|pip|autoreconf|"
                     r"sbatch|salloc|kubectl)\b")


def read(path):
    with open(os.path.join(SOURCE, path), encoding="utf-8") as file:
        return file.read().split("\n")


def section(lines, heading):
    begin = lines.index(heading) + 1
    mark = heading.split()[0] + " "
    rest = lines[begin:]
    return rest[:next((i for i, line in enumerate(rest) if line.startswith(mark)), len(rest))]


def markdown_blocks(lines):
    """Lists of lines: what is indented by four, and what stands between fences."""
    block, is_fenced = [], False
    for line in [*lines, ""]:
        if line.startswith("```"):
            if block:
                yield block
            block, is_fenced = [], not is_fenced
        elif is_fenced:
            block.append(line)
        elif line.startswith("    "):
            block.append(line[4:])
        elif block:
            yield block
            block = []


def plain(text):
    """A line of mdoc as a reader sees it."""
    for roff, character in ((r"\(dq", '"'), (r"\&", ""), (r"\-", "-"), (r"\`", "`"), (r"\e", "\\")):
        text = text.replace(roff, character)
    return text


def mdoc_blocks(lines):
    block = None
    for line in section(lines, ".Sh EXAMPLES"):
        if line.startswith(".Dl "):
            yield [plain(line[4:])]
        elif line.startswith(".Bd -literal"):
            block = []
        elif line.startswith(".Ed"):
            yield block
            block = None
        elif block is not None:
            block.append(plain(line))


def commands_of(block):
    """The commands of a block, or None if it is a text."""
    lines = re.sub(r"\\\n\s*", "", "\n".join(block)).split("\n")
    if any(PROMPT.match(line) for line in lines):
        lines = [line[2:] for line in lines if PROMPT.match(line)]
    elif not all(PROGRAM.match(line) for line in lines):
        return None
    return [re.sub(r"\s+# .*", "", line) for line in lines]


def pages():
    yield "README.md", markdown_blocks(read("README.md"))
    yield "examples/README.md", markdown_blocks(read("examples/README.md"))
    yield "CONTRIBUTING.md", markdown_blocks(section(read("CONTRIBUTING.md"), "## Build"))
    for path in sorted(glob.glob("doc/*.[1-8]", root_dir=SOURCE)):
        lines = read(path)
        if ".Sh EXAMPLES" in lines:
            yield path, mdoc_blocks(lines)


def found():
    """(page, command or first line of a text, the text or None), in the pages' order."""
    for page, blocks in pages():
        for block in blocks:
            commands = commands_of(block)
            if commands is None:
                yield page, block[0], "\n".join(block) + "\n"
            else:
                yield from ((page, command, None) for command in commands)


def rows():
    """(pattern of pages, test or reason, pattern of commands)"""
    for line in read(LIST):
        if line and not line.startswith("#"):
            yield tuple(re.split(" {2,}", line, maxsplit=2))


def row_of(page, what):
    """The first row that has it."""
    return next((row for row in rows() if fnmatch.fnmatchcase(page, row[0]) and
                 fnmatch.fnmatchcase(what, row[2])), None)


def is_taken(page, what, text, source):
    """Whether the test's source asks for it, by page.sh or itself, or has it as it stands."""
    if text is None:
        return what in source or "page_commands" in source or "reader_types" in source
    return any(asked == page and what.startswith(begin) for asked, begin in
               re.findall(r"(?:page_text|text) (\S+) '([^']+)'", source))


def complaints(tests):
    used = set()
    for page, what, text in found():
        row = row_of(page, what)
        used.add(row)
        if row is None:
            yield f"{page}: no row has: {what}"
        elif row[1] in REASONS:
            continue
        elif row[1] not in tests:
            yield f"{row[1]} is no test, and none of the reasons"
        elif not is_taken(page, what, text, "\n".join(read(row[1]))):
            yield f"{row[1]} does not take this from {page}: {what}"
    yield from (f"nothing is of the row: {' '.join(row)}" for row in rows() if row not in used)


def main(verb, *arguments):
    if verb == "of":
        for page, what, text in found():
            row = row_of(page, what)
            if text is None and row and row[1] == arguments[0]:
                print(page, what, sep="\t")
    elif verb == "text":
        texts = [text for page, _, text in found() if text and page == arguments[0] and
                 text.startswith(arguments[1])]
        if len(texts) != 1:
            sys.exit(f"{arguments[0]} has {len(texts)} texts that begin with: {arguments[1]}")
        print(texts[0], end="")
    elif verb == "check":
        print("\n".join(dict.fromkeys(complaints(sys.stdin.read().split()))))
    else:
        for page, what, text in found():
            print(page, "text" if text else "command", what, sep="\t")


main(*sys.argv[1:])
