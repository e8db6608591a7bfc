#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints the sentences of comments and documents that have a turn of phrase which we avoid.

words.py FILE...: one line each, FILE:LINE: rule: sentence.

A comment of C is read whole, and so are lines of # in scripts; a document without its examples. A
sentence ends at a full stop, a blank line, a table's cell or a list's item.
"""
import re
import sys

# What the rules are for is said in CONTRIBUTING.md ("Prose").
RULES = (
    ("begins with Of", re.compile(r"(Only|That|Those|And|But|Also)? ?[Oo]f (?!course\b)", 0)),
)


def c_comments(text):
    """Comments of C: (offset, text), consecutive // lines and strings left out."""
    token = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|/\*.*?\*/|//[^\n]*', re.S)
    for match in token.finditer(text):
        if match[0].startswith("/*"):
            body = match[0][2:-2]
            yield match.start(), re.sub(r"(?m)^[ \t]*\*", lambda m: " " * len(m[0]), "  " + body)
        elif match[0].startswith("//"):
            yield match.start(), match[0].replace("//", "  ", 1)


def hash_comments(text):
    """Comments of scripts: whole lines that begin with #, joined, and those behind code."""
    for match in re.finditer(r"(?m)(?:^[ \t]*#(?!!).*\n?)+", text):
        yield match.start(), re.sub(r"(?m)^[ \t]*#+", lambda m: " " * len(m[0]), match[0])
    for match in re.finditer(r"(?m)^[ \t]*[^#\s].*?  ?# (?=[A-Z])(.*)$", text):
        yield match.start(1), match[1]


def docstrings(text):
    for match in re.finditer(r'"""(.*?)"""', text, re.S):
        yield match.start(1), match[1]


def blank(match):
    return re.sub(r"[^\n]", " ", match[0])


def markdown(text):
    text = re.sub(r"(?ms)^ *```.*?^ *```", blank, text)
    text = re.sub(r"(?m)^    .*$", blank, text) if "    " in text else text
    for match in re.finditer(r"[^|]+", text):
        yield match.start(), re.sub(r"(?m)^ *(?:[*-]|[0-9]+\.) ", lambda m: "\n" + m[0][1:], match[0]) \
            if False else match[0]


def roff(text):
    text = re.sub(r"(?ms)^\.(?:EX|nf|TS).*?^\.(?:EE|fi|TE)", blank, text)
    text = re.sub(r"(?m)^\.\\\".*$", blank, text)
    text = re.sub(r"\\f[A-Z]|\\&", lambda m: "", text)
    text = re.sub(r"(?m)^\.(?:TP|PP|SH|SS|IP|RS|RE|P|TH|TQ|LP).*$", blank, text)
    text = re.sub(r"(?m)^\.(?:BR?I?|IR?B?|R[BI]) ", "", text)
    yield 0, text


def sentences(text):
    """(offset, sentence) for each sentence of a text."""
    start = 0
    for match in re.finditer(r"(?<=[.!?])(?<!e\.g\.)(?<!i\.e\.)[)\"'`*]*\s+(?=[A-Z`*(\"'])|\n[ \t]*(?=\n)|\n *(?=(?:[*-]|[0-9]+\.) )|\Z", text):
        part = text[start:match.start()]
        if part.strip():
            yield start + len(part) - len(part.lstrip()), " ".join(part.split())
        start = match.end()


def prose(path, text):
    if re.search(r"\.[ch]$|\.map$", path):
        yield from c_comments(text)
    elif re.search(r"\.md$", path):
        yield from markdown(text)
    elif re.search(r"\.[1-8]$", path):
        yield from roff(text)
    else:
        yield from hash_comments(text)
        if path.endswith(".py") or text.startswith("#!/usr/bin/env python"):
            yield from docstrings(text)


def main():
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8") as file:
            text = file.read()
        for at, part in prose(path, text):
            for offset, sentence in sentences(part):
                line = text.count("\n", 0, at) + part.count("\n", 0, offset) + 1
                print(f"{path}:{line}: {sentence}")


if __name__ == "__main__":
    main()
