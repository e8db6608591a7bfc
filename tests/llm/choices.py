# SPDX-License-Identifier: MIT
"""choices.py WHOLE STREAM ALONE...: an answer with two choices for each prompt, the same one as a
stream, and the answers that each prompt has alone."""
import json
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    whole = json.load(file)
with open(sys.argv[2], encoding="utf-8") as file:
    events = [json.loads(line[6:]) for line in file if line.startswith("data: {")]
alone = []
for path in sys.argv[3:]:
    with open(path, encoding="utf-8") as file:
        alone.append(json.load(file)["choices"][0]["text"])

texts = [choice["text"] for choice in whole["choices"]]
print([choice["index"] for choice in whole["choices"]],
      texts == [text for text in alone for i in range(2)])
parts = [event["choices"][0] for event in events if event["choices"]]
streamed = ["".join(part["text"] for part in parts if part["index"] == i)
            for i in range(len(texts))]
print(streamed == texts,
      [event["usage"]["completion_tokens"] for event in events if "usage" in event])
print(whole["usage"]["completion_tokens"], whole["usage"]["prompt_tokens"])
