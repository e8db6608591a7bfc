#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints the names of checks that say too little in a log, or stand for several checks of a file.

check_names.py TEST.SH FILE…: one line for each, FILE:LINE: what is wrong: the name.

TEST.SH is the test library. Each FILE, a *.t or a *.sh, is gone through in the order in which bash
runs it: files that it sources are read, functions are entered with their callers' words, and all
branches are taken. So names are known that a function has been given, or makes of what it has been
given. Not known is what a variable is after it has been set in a loop or in a branch.
"""
import functools
import os
import re
import sys

# The functions to which all others of test.sh lead, and the first of their words that is a name.
REPORTS = {"pass": 1, "fail": 1, "skip": 1, "skip_emulated": 2}
OPERATOR = re.compile(r"&&|\|\||;;&?|;&|\|&|<<-|<<<|<<|<&|>&|&>>|&>|>>|<>|>\||[;&|()<>\n]")
QUOTED = re.compile(r"'[^']*'|\"(?:\\.|[^\"\\])*\"|\\.", re.S)
SINGLE = re.compile(r"\$'((?:\\.|[^'\\])*)'|'([^']*)'", re.S)
BLANKS = re.compile(r"(?:[ \t]|\\\n)*")
ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)\+?=")
VARIABLE = re.compile(r"\$(?:(\w+)|\{(\w+)\})\Z")
ARGUMENTS = re.compile(r"\$(?:@|\{@(?::(\d+))?\})\Z")


class Part:
    """What words are made of: text, or an expansion like $1, whose text is as it is written."""

    def __init__(self, text, where, expands=False):
        self.text, self.where, self.expands = text, where, expands


class Command:
    """A list of words, each a list of parts, and the blocks (kind, number, branch) around it."""

    def __init__(self, words, blocks):
        self.words, self.blocks = words, tuple(blocks)


def text_of(word):
    return "".join(part.text for part in word)


def closing(text, at):
    """Behind the parenthesis or brace that ends what was opened before `at`."""
    depth = 1
    while depth and at < len(text):
        quoted = QUOTED.match(text, at)
        depth += not quoted and (text[at] in "({") - (text[at] in ")}")
        at = quoted.end() if quoted else at + 1
    return at


def expansion_end(text, at):
    """Behind the expansion that begins at `at`, or `at` if none does."""
    if text[at] == "`":
        return text.index("`", at + 1) + 1
    if re.compile(r"\$[({]|[<>]\(").match(text, at) or text[at] == "(" and text[at - 1] == "=":
        return closing(text, text.index(text[at + 1], at) + 1 if text[at] != "(" else at + 1)
    match = re.compile(r"\$(\d|\w+|[@*#?$!-])").match(text, at)
    return match.end() if match else at


def read_word(text, at, where):
    """(parts, end) of the word that begins at `at`."""
    parts, is_quoted = [Part("", where)], False

    def add(piece):
        if parts[-1].expands:
            parts.append(Part("", where))
        parts[-1].text += piece

    while at < len(text):
        if text[at] == '"':
            is_quoted = not is_quoted
            at += 1
        elif text.startswith("\\\n", at):
            at += 2
        elif text[at] == "\\" and (not is_quoted or text[at + 1 : at + 2] in '$`"\\'):
            add(text[at + 1 : at + 2])
            at += 2
        elif not is_quoted and SINGLE.match(text, at):
            match = SINGLE.match(text, at)
            add(match[1] or match[2] or "")
            at = match.end()
        elif (not is_quoted or text[at] in "$`") and expansion_end(text, at) > at:
            end = expansion_end(text, at)
            parts.append(Part(text[at:end], where, True))
            at = end
        elif not is_quoted and (text[at] in " \t" or OPERATOR.match(text, at)):
            break
        else:
            add(text[at])
            at += 1
    return parts, at


def tokens(text, path):
    """Words, and operators as strings. What "here documents" have is left out."""
    at, line, counted, documents = 0, 1, 0, []
    while at < len(text):
        at = BLANKS.match(text, at).end()
        line += text.count("\n", counted, at)
        counted = at
        operator = OPERATOR.match(text, at)
        if text.startswith("#", at):
            at = text.find("\n", at) if "\n" in text[at:] else len(text)
        elif text.startswith("((", at):
            at = closing(text, at + 1)
        elif not operator or text.startswith(("<(", ">("), at):
            word, at = read_word(text, at, (path, line))
            yield word
        else:
            at = operator.end()
            if operator[0] in ("<<", "<<-"):
                word, at = read_word(text, BLANKS.match(text, at).end(), None)
                documents.append(text_of(word))
                continue
            for end in documents if operator[0] == "\n" else ():
                at = re.compile(rf"^\t*{re.escape(end)}$", re.M).search(text, at).end()
                documents = documents[1:]
            yield operator[0]


class Script:
    """The commands of a file's functions (the last of each name, and all), and those outside."""

    def __init__(self, path):
        self.functions, self.bodies, self.commands, self.opened = {}, [], [], 0
        self.blocks, self.words, self.targets = [], [], [(self.commands, [])]
        with open(path, encoding="utf-8") as file:
            items = [[Part("", None)], *tokens(file.read(), path), "\n"]
        is_target = False  # the word behind a redirection
        for before, item, after in zip(items, items[1:], items[2:] + ["\n"]):
            if not isinstance(item, str):
                if not is_target and (self.words or not self.is_reserved(text_of(item))):
                    self.words.append(item)
                if text_of(item) == "{" and self.words and text_of(self.words[0]) == "coproc":
                    self.words = []
                    self.open("{")
                is_target = False
            elif "<" in item or ">" in item:
                is_target = True
                if self.words and text_of(self.words[-1]).isdigit():
                    self.words.pop()
            elif item == "(" and after == ")" and self.words:
                body = self.functions[text_of(self.words[0])] = []
                self.bodies.append(body)
                self.targets.append((body, self.blocks))
                self.blocks, self.words = [], []
            elif not (item == ")" and before == "("):
                self.end_command(item)

    def open(self, kind):
        self.opened += 1
        self.blocks.append((kind, self.opened, 0))

    def close(self):
        self.blocks.pop()
        if not self.blocks and len(self.targets) > 1:
            self.blocks = self.targets.pop()[1]

    def next_branch(self):
        kind, number, branch = self.blocks[-1]
        self.blocks[-1] = (kind, number, branch + 1)

    def end_command(self, operator):
        if self.words:
            self.targets[-1][0].append(Command(self.words, self.blocks))
        elif operator == "(":
            self.open("(")
        self.words = []
        kind = self.blocks[-1][0] if self.blocks else ""
        if operator == ")" and kind == "(":
            self.close()
        elif operator in (";;", ";&", ";;&") and kind == "case":
            self.next_branch()

    def is_reserved(self, word):
        """Whether the command begins behind this word."""
        if word in ("for", "while", "until", "select"):
            self.open("loop")
        elif word in ("if", "case", "{"):
            self.open(word)
        elif word in ("elif", "else"):
            self.next_branch()
        elif word in ("fi", "done", "esac", "}"):
            self.close()
        elif word not in ("then", "do", "!", "time"):
            return False
        return word not in ("for", "case", "select")


read_script = functools.lru_cache(maxsize=None)(Script)


class Walk:
    """What is reported if a file is run: (function, name, the calls that lead there)."""

    def __init__(self, library, root):
        self.root, self.found, self.functions = root, [], dict(library.functions)

    def source(self, path, variables, calls=()):
        script = read_script(path)
        self.functions.update(script.functions)
        self.run(script.commands, [], variables, calls)
        return script

    def run(self, commands, arguments, variables, calls):
        for command in commands:
            words = list(self.expand(command, arguments, variables))
            while words and ASSIGNMENT.match(words[0][0].text):
                self.assign(words.pop(0), command, variables)
            name, words = text_of(words[0]) if words else "", words[1:]
            first = text_of(words[0]) if words else ""
            if name in ("local", "declare", "readonly", "export"):
                for word in words:
                    self.assign(word, command, variables)
            elif name in ("for", "select", "read", "mapfile"):
                for word in words:
                    variables.pop(text_of(word), None)
            elif name == "shift":
                del arguments[: int(first or 1) if first.isdigit() or not first else None]
            elif name == "." and self.sourced(words[0]):
                self.source(self.sourced(words[0]), variables, calls)
            elif name in REPORTS:
                at = REPORTS[name] - 1
                for word in words[at:] if name == "skip_emulated" else words[at : at + 1]:
                    self.found.append((name, word, calls + (command,)))
            elif name in self.functions and len(calls) < 10:
                self.run(self.functions[name], words, dict(variables), calls + (command,))

    @staticmethod
    def expand(command, arguments, variables):
        """The words with all that is known put in."""
        for word in command.words:
            whole = ARGUMENTS.match(text_of(word))
            if whole:
                yield from arguments[int(whole[1] or 1) - 1 :]
                continue
            out = []
            for part in word:
                match = part.expands and VARIABLE.match(part.text)
                name = match and (match[1] or match[2])
                if name and name.isdigit() and 0 < int(name) <= len(arguments):
                    out += arguments[int(name) - 1]
                else:
                    out += variables.get(name) or [part]
            yield out

    @staticmethod
    def assign(word, command, variables):
        match = ASSIGNMENT.match(word[0].text)
        variables.pop(match[1] if match else text_of(word), None)
        is_sure = not any(kind in ("loop", "if", "case") for kind, _, _ in command.blocks)
        if match and "+" not in match[0] and is_sure:
            rest = word[0].text[match.end() :]
            variables[match[1]] = [Part(rest, word[0].where), *word[1:]]

    def sourced(self, word):
        """The file that `. word` reads, if it is one of the tree and not test.sh."""
        path = "".join(part.text for part in word if not part.expands).lstrip("/")
        for folder in (os.path.dirname(word[0].where[0]), os.path.dirname(self.root), "."):
            found = os.path.normpath(os.path.join(folder, path))
            if re.search(r"\.(sh|t)$", path) and os.path.exists(found):
                return None if found.endswith("lib/test.sh") else found
        return None


def flaw(name, is_whole):
    """What is wrong with a name by itself; its length is not, if it isn't whole."""
    begin = "$" if name[0].text == "" and name[1:2] and name[1].expands else text_of(name)
    first = re.match(r"(and|it|its|which)\b", begin, re.I)
    words = "".join("$" if part.expands else part.text for part in name).split()
    if "…" in "".join(part.text for part in name if not part.expands):
        return 'has a "…"'
    if first:
        return f'begins with "{first[0]}"'
    if is_whole and sum(1 for word in words if re.search(r"[\w$]", word)) < 3:
        return "has fewer than three words"
    return ""


def is_in_loop(calls):
    """Whether the last one is made in each turn of a loop. A case may have one turn for each."""
    kinds = [kind for call in calls for kind, _, _ in call.blocks]
    return "loop" in kinds and "case" not in kinds[kinds.index("loop") :]


def is_either(calls, others):
    """Whether only one of two is made, because they are in two branches of the same block."""
    for one, other in zip(calls, others):
        for (_, block, branch), (_, block2, branch2) in zip(one.blocks, other.blocks):
            if (block, branch) != (block2, branch2):
                return block == block2
        if one is not other:
            return False
    return False


def flaws(library, path):
    walk = Walk(library, path)
    script = walk.source(path, {})
    called = {id(command) for _, _, calls in walk.found for command in calls}
    seen = {}
    for report, name, calls in walk.found:
        text = text_of(name)
        literal = [part for part in name if not part.expands and re.search(r"\w|…", part.text)]
        if not literal:
            continue
        wrong = flaw(name, True)
        if wrong:
            yield literal[0].where, f"{wrong}: {text}"
        if report != "pass" or any(part.expands for part in name):
            continue
        if is_in_loop(calls):
            yield literal[0].where, f"is the same in each turn of a loop: {text}"
        for other in seen.setdefault(text, []):
            if not is_either(calls, other):
                where, place = (found[0].words[0][0].where for found in (calls, other))
                other_file = place[0] if place[0] != where[0] else "line"
                yield where, f"is also that of {other_file} {place[1]}: {text}"
                break
        seen[text].append(calls)
    # Functions whose callers are in other files or another branch, so that no arguments are known.
    rest = Walk(library, path)
    rest.functions = walk.functions
    for commands in script.bodies:
        if not any(id(command) in called for command in commands):
            rest.run(commands, [], {}, ())
    for _, name, _ in rest.found:
        if flaw(name, False):
            yield name[0].where, f"{flaw(name, False)}: {text_of(name)}"


def main():
    library, said = Script(sys.argv[1]), set()
    for path in sys.argv[2:]:
        for where, text in flaws(library, path):
            if (where, text) not in said:
                said.add((where, text))
                print(f"{where[0]}:{where[1]}: {text}")


if __name__ == "__main__":
    main()
