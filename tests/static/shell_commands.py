# SPDX-License-Identifier: MIT
"""shell_commands.py: which programs a shell script calls, as far as its text says.

It reads words as sh and bash do: quotes, substitutions, here-documents (whose text it leaves out),
case, for, arrays, and functions. It looks behind words that run others (env, timeout, check, …) and
into the texts that sh -c, eval, trap and wait_for run.
"""
import dataclasses
import re

KEYWORDS = {"if", "then", "elif", "else", "while", "until", "do", "!", "{", "time"}
ENDERS = {"fi", "done", "esac", "}"}
BUILTINS = set(
    """. : [ alias bg break builtin caller cd command compgen complete compopt continue declare dirs
    disown echo enable eval exec exit export false fg getopts hash history jobs kill let local
    logout mapfile popd printf pushd pwd read readarray readonly return set shift shopt source test
    times trap true type typeset ulimit umask unalias unset wait suspend""".split()
)
ASSIGNMENT = re.compile(r"[A-Za-z_]\w*(\[[^]]*\])?\+?=")
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*$")

# What runs the words behind it: the options that take a word, and how many words come between.
WRAPPERS = {
    "builtin": ("", 0),
    "chrt": ("", 1),
    "command": ("", 0),
    "env": ("uCS", 0),
    "exec": ("a", 0),
    "flock": ("wE", 1),
    "ionice": ("cn", 0),
    "nice": ("n", 0),
    "nohup": ("", 0),
    "nsenter": ("tSG", 0),
    "prlimit": ("", 0),
    "setpriv": ("", 0),
    "setsid": ("", 0),
    "stdbuf": ("ioe", 0),
    "sudo": ("ugC", 0),
    "taskset": ("", 1),
    "timeout": ("sk", 1),
    "unshare": ("SG", 0),
    "xargs": ("aEIdLnPs", 0),
}
# Those of lib/test.sh and lib/hosts.sh: how many words come between.
RUNNERS = {
    "at_exit": 0,
    "check": 1,
    "check_error": 3,
    "check_output": 2,
    "check_status": 2,
    "must": 0,
    "daemon": 1,
    "on_login": 0,
    "netns": 2,
    "run": 0,
}
# Their long options that take a word.
LONG = {"--gid", "--groups", "--pdeathsig", "--propagation", "--regid", "--reuid", "--uid"}
# What runs the text of the words behind it.
TEXTS = {"eval", "trap", "wait_for"}
SHELLS = {"bash", "dash", "sh"}
# What asks whether programs are there.
ASKERS = {"is_here", "needs"}


@dataclasses.dataclass
class Word:
    text: str
    line: int


@dataclasses.dataclass
class Found:
    calls: list = dataclasses.field(default_factory=list)  # words at a command's place
    others: list = dataclasses.field(default_factory=list)  # words behind -- of other commands
    asked: list = dataclasses.field(default_factory=list)
    sources: list = dataclasses.field(default_factory=list)
    functions: set = dataclasses.field(default_factory=set)


class Reader:
    """Reads one text. `found` takes what is found, in all texts of a script."""

    def __init__(self, text, found, line=1):
        self.text = text
        self.found = found
        self.at = 0
        self.first_line = line
        self.documents = []  # here-documents whose text begins behind this line

    def line(self):
        return self.first_line + self.text.count("\n", 0, self.at)

    def peek(self, size=1):
        return self.text[self.at : self.at + size]

    def skip_blanks(self, newlines=False):
        while self.at < len(self.text):
            c = self.text[self.at]
            if c == "\n" and newlines:
                self.newline()
            elif c in " \t":
                self.at += 1
            elif self.peek(2) == "\\\n":
                self.at += 2
            elif c == "#":
                end = self.text.find("\n", self.at)
                self.at = len(self.text) if end < 0 else end
            else:
                return

    def newline(self):
        self.at += 1
        for delimiter in self.documents:
            while self.at < len(self.text):
                end = self.text.find("\n", self.at)
                end = len(self.text) if end < 0 else end
                line = self.text[self.at : end]
                self.at = end + 1
                if line.lstrip("\t") == delimiter:
                    break
        self.documents = []

    def skip_to(self, end):
        """Behind `end`, which belongs to what begins here."""
        found = self.text.find(end, self.at)
        self.at = len(self.text) if found < 0 else found + len(end)

    def arithmetic(self):
        """Behind the two parentheses that close those before this place."""
        depth = 2
        while self.at < len(self.text) and depth:
            if self.peek(2) == "$(" and self.peek(3) != "$((":
                self.at += 2
                self.commands(")")
                continue
            depth += {"(": 1, ")": -1}.get(self.peek(), 0)
            self.at += 1

    def dollar(self, is_quoted=False):
        """A $ and what belongs to it, as it is written."""
        begin = self.at
        self.at += 1
        if self.peek(2) == "((":
            self.at += 2
            self.arithmetic()
        elif self.peek() == "(":
            self.at += 1
            self.commands(")")
        elif self.peek() == "{":
            self.at += 1
            while self.at < len(self.text) and self.peek() != "}":
                self.piece(in_braces=True)
            self.at += 1
        elif self.peek() == "'" and not is_quoted:
            self.at += 1
            while self.at < len(self.text) and self.peek() != "'":
                self.at += 2 if self.peek() == "\\" else 1
            self.at += 1
        else:
            match = re.compile(r"\w+|[@*#?$!-]").match(self.text, self.at)
            if match:
                self.at = match.end()
        return self.text[begin : self.at]

    def double(self):
        """What stands between double quotes."""
        out = ""
        self.at += 1
        while self.at < len(self.text) and self.peek() != '"':
            c = self.peek()
            if c == "\\":
                escaped = self.peek(2)[1:]
                out += escaped if escaped in '"$`\\' else "" if escaped == "\n" else "\\" + escaped
                self.at += 2
            elif c == "$":
                out += self.dollar(is_quoted=True)
            elif c == "`":
                self.at += 1
                self.commands("`")
            else:
                out += c
                self.at += 1
        self.at += 1
        return out

    def piece(self, in_braces=False):
        """One character of a word, or one quoted text or substitution."""
        c = self.peek()
        if c == "'" and not in_braces:
            end = self.text.find("'", self.at + 1)
            end = len(self.text) if end < 0 else end
            out = self.text[self.at + 1 : end]
            self.at = end + 1
            return out
        if c == '"':
            return self.double()
        if c == "\\":
            self.at += 2
            return self.text[self.at - 1 : self.at]
        if c == "$":
            return self.dollar()
        if c == "`":
            self.at += 1
            self.commands("`")
            return "$"
        if self.peek(2) in ("<(", ">("):
            self.at += 2
            self.commands(")")
            return "$"
        self.at += 1
        return c

    def word(self):
        """The next word; None: there is none here."""
        line, begin, out = self.line(), self.at, ""
        while self.at < len(self.text):
            c = self.peek()
            if c in " \t\n;&|)" or (c in "<>" and self.peek(2)[1:] != "("):
                break
            if c == "(":
                if not ASSIGNMENT.fullmatch(out):
                    break
                self.at += 1
                self.array()
                continue
            out += self.piece()
        return Word(out, line) if self.at > begin else None

    def array(self):
        while self.at < len(self.text):
            self.skip_blanks(newlines=True)
            if self.peek() == ")":
                self.at += 1
                return
            if not self.word():
                self.at += 1

    def redirection(self):
        match = re.compile(r"<<<|<<-?|[<>]&-?|>>|<>|>\||[<>]").match(self.text, self.at)
        self.at = match.end()
        if match.group().endswith("&-"):
            return
        self.skip_blanks()
        target = self.word()
        if match.group() in ("<<", "<<-") and target:
            self.documents.append(target.text)

    def cases(self):
        """Behind the word esac of a case, whose word case has been read."""
        self.skip_blanks()
        self.word()
        self.skip_blanks(newlines=True)
        self.word()  # in
        while self.at < len(self.text):
            self.skip_blanks(newlines=True)
            if re.compile(r"esac\b").match(self.text, self.at):
                self.at += 4
                return
            while self.at < len(self.text) and self.peek() != ")":
                if not self.word():
                    self.at += 1
            self.at += 1
            if self.commands("case"):
                return

    def loop_head(self):
        self.skip_blanks()
        if self.peek(2) == "((":
            self.at += 2
            self.arithmetic()
            return
        while self.at < len(self.text) and self.peek() not in ";\n":
            self.skip_blanks()
            if not self.word() and self.peek() not in ";\n":
                self.at += 1

    def condition(self):
        while self.at < len(self.text):
            self.skip_blanks(newlines=True)
            word = self.word()
            if word and word.text == "]]":
                return
            if not word:
                self.at += 1

    def commands(self, closer=None):
        """Until what closes them. True: that was the esac of the case around them."""
        words = []

        def flush():
            if words:
                self.command(words)
                words.clear()

        while self.at < len(self.text):
            self.skip_blanks()
            c = self.peek()
            if c == "":
                break
            if c == "\n":
                flush()
                self.newline()
            elif c == ")" or (c == "`" and closer == "`"):
                flush()
                self.at += 1
                if c == closer:
                    return False
            elif closer == "case" and re.compile(";;&?|;&").match(self.text, self.at):
                flush()
                self.at = re.compile(";;&?|;&").match(self.text, self.at).end()
                return False
            elif self.peek(2) in ("&>",) or c in "<>" and self.peek(2)[1:] != "(":
                self.at += c == "&"
                self.redirection()
            elif c in ";&|":
                flush()
                self.at += 1
            elif c == "(":
                self.parenthesis(words)
            else:
                begin = self.at
                word = self.word()
                if self.peek() in tuple("<>") and re.fullmatch(r"\d+|{\w+}", word.text):
                    continue  # the number of a redirection
                is_bare = self.text[begin : self.at] == word.text
                if not words and is_bare and self.keyword(word.text):
                    if word.text == "esac" and closer == "case":
                        return True
                    continue
                words.append(word)
        flush()
        return False

    def parenthesis(self, words):
        self.at += 1
        if not words and self.peek() == "(":
            self.at += 1
            self.arithmetic()
        elif not words:
            self.commands(")")
        elif len(words) == 1 and self.peek() == ")":
            self.at += 1
            self.found.functions.add(words.pop().text)

    def keyword(self, text):
        """True: it is one, and a command's place follows."""
        if text == "case":
            self.cases()
        elif text in ("for", "select"):
            self.loop_head()
        elif text == "[[":
            self.condition()
        elif text in ("coproc", "function"):
            self.skip_blanks()
            self.found.functions.add(self.word().text)
        else:
            return text in KEYWORDS or text in ENDERS
        return True

    def nested(self, word):
        Reader(word.text, self.found, word.line).commands()

    def command(self, words):
        """One simple command."""
        rest = list(words)
        while rest and ASSIGNMENT.match(rest[0].text):
            rest.pop(0)
        if not rest:
            return
        name = rest[0].text
        self.found.calls.append(rest[0])
        rest = rest[1:]
        if name in (".", "source") and rest:
            self.found.sources.append(rest[0])
        elif name in ASKERS or (name == "command" and rest and rest[0].text == "-v"):
            self.found.asked += rest
        elif name in TEXTS and rest and name not in self.found.functions:
            self.nested(rest[0])
        elif name in SHELLS:
            for option, word in zip(rest, rest[1:]):
                if re.fullmatch(r"-[a-z]*c", option.text):
                    self.nested(word)
        elif name in WRAPPERS:
            self.wrapped(name, rest)
        elif name in RUNNERS:
            if name != "netns" or rest[0].text == "exec":
                self.command(rest[RUNNERS[name] :])
        elif name not in BUILTINS:
            self.found.others += [b for a, b in zip(rest, rest[1:]) if a.text == "--"]

    def wrapped(self, name, rest):
        options, between = WRAPPERS[name]
        while rest and (rest[0].text.startswith("-") or ASSIGNMENT.match(rest[0].text)):
            option = rest.pop(0).text
            if option == "--":
                break
            takes_word = option in LONG or (option[:1] == "-" and option[1:] in list(options))
            if rest and takes_word:
                rest.pop(0)
        self.command(rest[between:])


def read(text):
    """What is found in a script."""
    found = Found()
    Reader(text, found).commands()
    return found
