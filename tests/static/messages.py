#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""messages.py: the sentences in the sources, with … for what printf() or Python fills in.

python3 tests/static/messages.py [FOLDER…] prints the messages of these folders' C files: file,
line, function, text. troubleshooting.py compares them with doc/troubleshooting.md.
"""
import ast
import functools
import pathlib
import re
import sys

FOLDERS = ["common", "coordinator", "examples/llm", "launcher", "rdma", "runtime"]

# The functions whose text people see. The text is their first argument that holds a string.
SPEAKERS = {
    "agent_channel_fail",
    "answer_error",
    "answer_set",
    "channel_end",
    "cuda_driver_fault",
    "fault_os",
    "fault_set",
    "fault_wrap",
    "generation_fail",
    "http_head_refuse",
    "join_refuse",
    "log_error",
    "log_warn",
    "coord_events_break",
    "output_say",
    "pmi_client_fail",
    "refusal_report",
    "refuse",
    "job_report_fault",
    "job_report_lost",
    "report_set",
    "sentence_add",
    "serve_say",
    "server_group_break",
    "text_error",
    "warning_add",
}
# With these only a text of four words and more is a sentence.
BUILDERS = {"fprintf", "json_sprintf", "snprintf"}
TOKEN = re.compile(
    r"""(?P<comment>/\*.*?\*/|//[^\n]*) | (?P<include>^[ ]*\#[ ]*include[^\n]*) |
    (?P<string>"(?:[^"\\\n]|\\.)*") | (?P<char>'(?:[^'\\\n]|\\.)*') | (?P<word>\w+) |
    (?P<other>[^\s])""",
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
CONVERSION = re.compile(r"%[-+ #0]*(?:\*|\d+)?(?:\.(?:\*|\d+)?)?(?:hh|h|ll|l|z|t|j)?[a-zA-Z]")
ESCAPES = {"n": " ", "t": " ", '"': '"', "\\": "\\", "'": "'"}


def text_of(parts):
    """Strings and macros side by side, as one text."""
    raw = ""
    for kind, value in parts:
        if kind == "string":
            raw += re.sub(r"\\(.)", lambda m: ESCAPES.get(m.group(1), "?"), value[1:-1])
        else:
            raw += "d" if value.startswith("PRI") else "…"
    percent = raw.replace("%%", "\0")
    return re.sub("…+", "…", CONVERSION.sub("…", percent).replace("\0", "%")).strip()


def words_in(text):
    return re.findall(r"[^\W\d_]{2,}", text)


@functools.lru_cache(maxsize=None)
def tokens_of(path):
    """(kind, text, line) of each token of a C file."""
    source = path.read_text(encoding="utf-8")
    tokens, line, at = [], 1, 0
    for m in TOKEN.finditer(source):
        if m.lastgroup in ("string", "word", "other"):
            line += source.count("\n", at, m.start())
            at = m.start()
            tokens.append((m.lastgroup, m.group(), line))
    return tokens


def is_macro(token):
    return token[0] == "word" and re.fullmatch(r"[A-Z][A-Z0-9_]+|PRI\w+", token[1])


def texts_in(tokens):
    """Every text in a list of tokens: a run of strings with the macros beside them."""
    i = 0
    while i < len(tokens):
        if tokens[i][0] != "string":
            i += 1
            continue
        start = i - 1 if i and is_macro(tokens[i - 1]) else i
        end = i + 1
        while end < len(tokens) and (tokens[end][0] == "string" or is_macro(tokens[end])):
            end += 1
        yield tokens[i][2], text_of([t[:2] for t in tokens[start:end]])
        i = end


def arguments_of(tokens, i):
    """The arguments of the call whose "(" is tokens[i]."""
    depth, one = 0, []
    for token in tokens[i:]:
        if token[0] == "other" and token[1] in "([{":
            depth += 1
            if depth == 1:
                continue
        elif token[0] == "other" and token[1] in ")]}":
            depth -= 1
            if not depth:
                break
        elif token[1] == "," and depth == 1:
            yield one
            one = []
            continue
        one.append(token)
    yield one


def is_call(tokens, i):
    return tokens[i][0] == "word" and i + 1 < len(tokens) and tokens[i + 1][1] == "("


def messages_in(path):
    """(line, function, text) of each message of a C file."""
    tokens = tokens_of(path)
    for i, token in enumerate(tokens):
        if token[1] not in SPEAKERS | BUILDERS or not is_call(tokens, i):
            continue
        least = 4 if token[1] in BUILDERS else 0
        for argument in arguments_of(tokens, i + 1):
            texts = list(texts_in(argument))
            if texts:
                yield from ((line, token[1], t) for line, t in texts if len(words_in(t)) >= least)
                break


def strings_in(path):
    """(line, text) of each string of a C or Python file."""
    if path.suffix == ".py":
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.lineno, node.value
            elif isinstance(node, ast.JoinedStr):
                yield node.lineno, "".join(
                    v.value if isinstance(v, ast.Constant) else "…" for v in node.values
                )
    else:
        yield from texts_in(tokens_of(path))


def sources(folders, suffixes):
    for folder in folders:
        root = pathlib.Path(folder)
        yield from sorted(p for p in root.rglob("*") if p.suffix in suffixes)


if __name__ == "__main__":
    for source_path in sources(sys.argv[1:] or FOLDERS, (".c",)):
        for at, function, message in messages_in(source_path):
            print(f"{source_path}:{at}\t{function}\t{message}")
