#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints the sentences of comments and documents that have a turn of phrase which we avoid.

words.py FILE…: one line for each, FILE:LINE: what to write: the sentence.

Read are comments of C, lines of # in scripts, docstrings, and documents without their examples. A
sentence ends at a full stop, a blank line, a row of a table, or where the next item of a list or
the next macro of a man page begins.
"""
import re
import sys

RULES = (
    ("begin with the subject, not with Of", re.compile(r"(Only |That )?[Oo]f (?!course\b)")),
    ("this many, or the name of the number", re.compile(r"(?<!, )\bso (many|much)\b(?! that\b)")),
    ("continue, or resume", re.compile(r"\b(go|goes|gone|going|went) on with\b")),
    (
        "is, or is written",
        re.compile(
            r"\bst(ands?|ood) (above|alone|at|before|behind|below|beside|first|here|in(?! for\b)"
            r"|just|last|on|still|there|up)\b"
        ),
    ),
)

SENTENCE_END = re.compile(
    r"[.!?][)\"'`*]*\s+(?=[A-Z`*(\"'])|\n[ \t]*(?=\n)|\n(?= *([*-]|\d+\.) )|\Z"
)
C_TOKEN = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|/\*.*?\*/|//[^\n]*', re.S)


def blank(match):
    """The same lines without their text, so that line numbers stay."""
    return re.sub(r"[^\n]", " ", match[0])


def c_comments(text):
    for match in C_TOKEN.finditer(text):
        if match[0].startswith("/*"):
            yield match.start(), re.sub(r"(?m)^[ \t]*\*", blank, "  " + match[0][2:-2])
        elif match[0].startswith("//"):
            yield match.start(), "  " + match[0][2:]


def script_comments(text):
    for match in re.finditer(r"(?m)(?:^[ \t]*#(?!!).*\n?)+", text):
        marks = r"(?m)^[ \t]*#+ ?(SPDX|shellcheck).*$|^[ \t]*#+"
        yield match.start(), re.sub(marks, blank, match[0])
    for match in re.finditer(r"(?m)^[^#\n]*\S +# (?=[A-Za-z])(.*)$", text):
        yield match.start(1), match[1]
    for match in re.finditer(r'"""(.*?)"""', text, re.S):
        yield match.start(1), match[1]


def markdown(text):
    text = re.sub(r"(?ms)^ *```.*?^ *```|(?<=\n\n)(?:    [^\n]*\n|\n(?=    ))+", blank, text)
    for match in re.finditer(r"[^|]+", text):
        yield match.start(), match[0]


def man_page(text):
    """Macros of words and marks are part of the sentence, all others end it."""
    text = re.sub(r"(?ms)^\.Bd.*?^\.Ed", blank, text)
    words = "Ar|Cm|Dv|Dq|Ev|Fa|Fl|Fn|Ic|Li|Nm|No|Pa|Po|Pc|Pq|Ql|Va|Vt|Xr"
    yield 0, re.sub(rf"(?m)^\.(?!{words}).*$", blank, text)


def prose(path, text):
    if re.search(r"\.([ch]|map)$", path):
        return c_comments(text)
    if path.endswith(".md"):
        return markdown(text)
    if re.search(r"\.[1-8]$", path):
        return man_page(text)
    return script_comments(text)


def sentences(text):
    """(offset, sentence), each on one line."""
    start = 0
    for end in SENTENCE_END.finditer(text):
        part = text[start : end.end()]
        if part.strip():
            yield start + len(part) - len(part.lstrip()), " ".join(part.split())
        start = end.end()


def main():
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8") as file:
            text = file.read()
        for at, part in prose(path, text):
            for offset, sentence in sentences(part):
                for number, (remedy, rule) in enumerate(RULES):
                    if rule.match(sentence) if number == 0 else rule.search(sentence):
                        line = text.count("\n", 0, at) + part.count("\n", 0, offset) + 1
                        print(f"{path}:{line}: {remedy}: {sentence[:120]}")


if __name__ == "__main__":
    main()
