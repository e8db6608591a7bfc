# SPDX-License-Identifier: MIT
"""compile_commands.py SOURCE BUILD COMMANDS OUT: turns the output of `make -n V=1` into
compile_commands.json."""
import json
import os
import re
import shlex
import sys

source, build, commands, out = sys.argv[1:]
entries = {}
for line in open(commands):
    if " -c -o " not in line:
        continue
    # `test -f 'x.c' || echo 'SOURCE/'`x.c is how automake names a source outside the build
    # directory.
    words = shlex.split(re.sub(r"`.*?`", "", line).replace("&&\\", ""))
    files = [w for w in words if w.endswith(".c")]
    if not files:
        continue
    path = os.path.normpath(os.path.join(source, files[-1]))
    flags = [w for before, w in zip(["", *words], words)
             if re.match(r"-([DIU]|std=|include|isystem)", w) or before == "-isystem"]
    arguments = ["cc", *flags, "-c", path]
    entries.setdefault(path, {"directory": build, "file": path, "arguments": arguments})
with open(out, "w") as f:
    json.dump(list(entries.values()), f, indent=1)
if not entries:
    sys.exit("no compilation found in " + commands)
