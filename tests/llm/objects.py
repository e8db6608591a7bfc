# SPDX-License-Identifier: MIT
"""objects.py ANSWER...: the choices of these chats, which are to be JSON objects, unless they are
too long. Prints how many there are, and whether some have ended."""
import json
import sys

count = ended = 0
for path in sys.argv[1:]:
    with open(path, encoding="utf-8") as file:
        choices = json.load(file)["choices"]
    for choice in choices:
        text = choice["message"]["content"]
        count += 1
        assert text.startswith("{"), text
        if choice["finish_reason"] == "stop":
            assert isinstance(json.loads(text), dict), text
            ended += 1
print(count, ended > 0)
