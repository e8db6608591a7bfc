# SPDX-License-Identifier: MIT
"""json_types.py FOLDER FILE...: writes copies of C files into FOLDER in which each argument of
json_pack and json_unpack is in a _Generic that compiles only if it has the type that the format
wants. Jansson takes them by `...`, where no compiler looks: "b" and "i" write an int, and into a
bool this overwrites what follows. Prints the copies' names."""
import os
import re
import sys

# A value's letter: the types that its argument may have.
UNPACK = {**dict.fromkeys("bi", ["int *"]), "I": ["long *", "long long *"], "s": ["const char **"],
          **dict.fromkeys("fF", ["double *"]), **dict.fromkeys("oO", ["json_t **"])}
PACK = {**dict.fromkeys("bi", ["int", "unsigned"]),
        "I": ["long", "long long", "unsigned long", "unsigned long long"], "f": ["double"],
        "s": ["char *", "const char *", "void *"], **dict.fromkeys("oO", ["json_t *"])}
# The rest of a string's value: its length.
SIZES = {"%": (["size_t *"], ["size_t"]), "#": ([], ["int", "unsigned"])}
# Calls, and how many arguments come before the format.
CALLS = {"json_unpack": 1, "json_pack": 0, "REPORT_UNPACK": 3}
STRING = r'"(?:[^"\\]|\\.)*"'


def arguments(text, start):
    """(start, end) of each argument of a call whose parenthesis ends before `start`."""
    depth, begin, out = 0, start, []
    for m in re.compile(STRING + r"|'(?:[^'\\]|\\.)'|/\*.*?\*/|[(\[{]|[)\]}]|,", re.S).finditer(
            text, start):
        c = m[0]
        if c in "([{":
            depth += 1
        elif c in ")]}" and depth:
            depth -= 1
        elif c in "),":
            if not depth:
                out.append((begin, m.start()))
                begin = m.end()
            if c == ")" and not depth:
                return out
    raise SyntaxError("a call without an end")


def types(form, is_pack):
    """For each argument behind the format, the types that it may have."""
    table, keys = (PACK if is_pack else UNPACK), PACK["s"]
    nest, out, is_key = [], [], False
    for i, c in enumerate(form):
        if c == "{":
            nest.append(c)
            is_key = True
        elif c == "[":
            nest.append(c)
        elif c in "}]":
            nest.pop()
            is_key = nest[-1:] == ["{"]
        elif c in SIZES:
            out.append(SIZES[c][is_pack])
        elif c.isalpha():
            # A key is an input in both directions.
            if c != "n":
                out.append(keys if is_key else table[c])
            is_key = nest[-1:] == ["{"] and not is_key
        elif c not in ":, ?*!+":
            raise SyntaxError(f"unknown letter {c} in {form}")
    return out


def typed(path):
    """The file's text, with the types of those arguments checked."""
    with open(path) as f:
        text = f.read()
    edits = []
    for m in re.finditer(r"(?<!#define )\b(%s)\(" % "|".join(CALLS), text):
        spans = arguments(text, m.end())[CALLS[m[1]]:]
        form = text[slice(*spans[0])]
        if form.strip() == "__VA_ARGS__":
            continue
        if re.sub(STRING, "", form).strip():
            sys.exit(f"{path}: the format of {m[1]} is no literal: {form.strip()}")
        is_pack = m[1] == "json_pack"
        wanted = types("".join(s[1:-1] for s in re.findall(STRING, form)), is_pack)
        if len(wanted) != len(spans) - 1:
            sys.exit(f"{path}: {m[1]} of {form.strip()} wants {len(wanted)} arguments, "
                     f"and has {len(spans) - 1}")
        for kinds, (begin, end) in zip(wanted, spans[1:]):
            value = text[begin:end].strip()
            # As `...` promotes it: a bool to an int, a float to a double.
            if is_pack and kinds[0][-1] != "*":
                value = f"+({value})"
            edits.append((begin, end, "_Generic(%s, %s)" % (
                value, ", ".join(f"{k}: {value}" for k in kinds))))
    for begin, end, new in reversed(edits):
        # The lines keep their numbers.
        gap = "\n" * text[begin:end].count("\n")
        text = text[:begin] + gap + new.replace("\n", " ") + text[end:]
    return f'#line 1 "{path}"\n{text}'


for path in sys.argv[2:]:
    copy = os.path.join(sys.argv[1], path.replace("/", "_"))
    with open(copy, "w") as f:
        f.write(typed(path))
    print(copy)
