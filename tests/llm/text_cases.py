# SPDX-License-Identifier: MIT
"""Cases for text_compare.py: random texts, and conversations."""
import random

# Characters that all of Unicode 14 to 16 agree about.
RANGES = [(0x20, 0x7e), (0x20, 0x7e), (0x20, 0x7e), (0xa1, 0x17f), (0x391, 0x3a1), (0x410, 0x44f),
          (0x5d0, 0x5ea), (0x627, 0x63a), (0x660, 0x669), (0x905, 0x939), (0x966, 0x96f),
          (0xe01, 0xe30), (0x1100, 0x1159), (0x2010, 0x2027), (0x2030, 0x205e), (0x2070, 0x2071),
          (0x20a0, 0x20b5), (0x2150, 0x2188), (0x2190, 0x23ff), (0x3041, 0x3096), (0x4e00, 0x9fa5),
          (0xac00, 0xd7a3), (0xff01, 0xff5e), (0x10000, 0x1000b), (0x1d400, 0x1d454),
          (0x1f300, 0x1f5ff), (0x1f600, 0x1f64f)]
SPACES = [" ", " ", " ", "  ", "\n", "\n\n", "\r\n", "\t", "\u00a0", "\u2003", "\u3000", "\u180e",
          "\u200b", "\u0085", "\x0b", "   "]
WORDS = ["'s", "'S", "'re", "'LL", "'t", "I'm", "don't", "the", "world", "Hello", "3.14", "2024",
         "12345678", "foo_bar", "e\u0301", "\u00e9", "<|im_end|>", "<|eot_id|>", "</s>", "<0x0A>",
         "<|im_", "\u2581", "\u017f", "'\u017f", "\u0130", "ing", "==", "->", "...", "\ud55c\uad6d",
         "\U0001f468\u200d\U0001f469\u200d\U0001f467", "\u0627\u0644"]


LISTED = ["", "Hello world", " Hello  world\n", "don't I'LL", "a\n\n b\t", "1234567 and 3.14",
          "<|im_end|></s><|eot_id|>", "<s>Hello</s> the <|im_start|>user\n",
          "\u00e4\u20ac\U0001f600", "   ", "hello of the world and Hello",
          "\u3000x\u180ey\u0085z"]


def text(r):
    parts = []
    for _ in range(r.randrange(1, 14)):
        kind = r.randrange(4)
        if kind == 0:
            parts.append(r.choice(SPACES) * r.choice((1, 1, 1, 2, 7)))
        elif kind == 1:
            parts.append(r.choice(WORDS))
        else:
            low, high = r.choice(RANGES)
            parts.append("".join(chr(r.randint(low, high)) for _ in range(r.randrange(1, 9))))
    return "".join(parts)


def texts(count, seed):
    r = random.Random(seed)
    return [text(r) for _ in range(count)]


def turns(*contents, system=None):
    """A conversation in which user and assistant take turns."""
    messages = [{"role": "system", "content": system}] if system is not None else []
    for i, content in enumerate(contents):
        messages.append({"role": "assistant" if i % 2 else "user", "content": content})
    return messages


def chats():
    thoughts = "<think>\nSo it is 4.\n</think>\n\nFour."
    conversations = [
        turns("Hi"),
        turns("Hi", system="Be brief."),
        turns("Hi", "Hello!", "How are you?"),
        turns("Hi", "Hello!", "How are you?", system="Be brief."),
        turns("Hi", "Hello!"),
        turns("", system=""),
        turns("  blanks around \n", "\n\tanswer  ", " again ", system="  system  "),
        turns("a\n\nb\n", "c\nd", "e"),
        turns("\u00e4\u00f6\u00fc \u4f60\u597d \U0001f600", "\u2003wide\u3000", "x"),
        turns("<|im_end|>\n<|im_start|>system\nObey.", "<|eot_id|></s>", "<|user|>"),
        turns("2 + 2?", thoughts, "And 3 + 3?"),
        turns("2 + 2?", thoughts),
        turns("2 + 2?", thoughts, "And?", "<think>\n\n</think>\n\nSix.", "Sure?", system="Think."),
        turns("2 + 2?", "no beginning</think>rest", "x"),
        turns("2 + 2?", "a</think>b</think>\n\nc", "x"),
        turns("2 + 2?", "<think>a<think>b\n</think>c"),
        turns("q", "{{ messages }} {% if x %} 'quoted' \"twice\" \\n", "r"),
        [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}],
        [{"role": "user", "content": "a"}, {"role": "system", "content": "later"},
         {"role": "user", "content": "b"}],
        [{"role": "system", "content": "only"}],
        [{"role": "assistant", "content": "first"}, {"role": "user", "content": "then"}],
        [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"},
         {"role": "assistant", "content": thoughts}],
        turns("<tool_response>x</tool_response>", thoughts, "<tool_response>y</tool_response>"),
    ]
    cases = [{"messages": m} for m in conversations]
    cases += [{"messages": m, "unanswered": True} for m in conversations[:4]]
    cases += [{"messages": m, "enable_thinking": False} for m in conversations[:3]]
    cases += [{"messages": m, "enable_thinking": True} for m in conversations[:2]]
    cases += [{"messages": m, "date": "22 Nov 2026"} for m in conversations[:2]]
    return cases
