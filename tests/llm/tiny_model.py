#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes a small GGUF file with random weights, which depend on --seed alone.

    tiny_model.py FILE [--arch llama|qwen2|qwen3] [--type F32|F16|BF16|Q8_0|Q4_0|Q4_K|Q6_K] ...

Such a model says nothing, but any two programs that read it must say the same. The default shape
divides among 1 to 4 ranks. Types in blocks of 256 (Q4_K, Q6_K) need a shape for it: `blocks`, for
qwen2 `square`.
"""
import argparse
import random
import struct

F32, F16, BF16, Q4_0, Q8_0, Q4_K, Q6_K = 0, 1, 30, 2, 8, 12, 14
TYPES = {"F32": F32, "F16": F16, "BF16": BF16, "Q4_0": Q4_0, "Q8_0": Q8_0, "Q4_K": Q4_K,
         "Q6_K": Q6_K}
BLOCKS = {F32: (1, 4), F16: (1, 2), BF16: (1, 2), Q4_0: (32, 18), Q8_0: (32, 34), Q4_K: (256, 144),
          Q6_K: (256, 210)}
FILE_TYPES = {F32: 0, F16: 1, BF16: 32, Q4_0: 2, Q8_0: 7, Q4_K: 15, Q6_K: 18}

# Layers, width, heads, heads of K and V, size of a head, width inside the feed-forward part.
SHAPES = {
    "plain": (2, 128, 8, 4, 16, 224),
    # As Qwen3's, whose heads together are wider than the model.
    "wide": (2, 128, 8, 4, 32, 224),
    # Nothing divides evenly: 3 groups, 11 blocks.
    "odd": (3, 96, 6, 3, 16, 352),
    # One group: a single rank.
    "narrow": (1, 64, 2, 1, 32, 96),
    # Each group of attn_output is a block of 256; 5 such blocks inside.
    "blocks": (2, 256, 16, 4, 64, 1280),
    # The same for qwen2, whose heads together must be as wide as the model: 2 groups.
    "square": (2, 512, 8, 2, 64, 768),
    # The true ones, for measurements.
    "qwen3-0.6b": (28, 1024, 16, 8, 128, 3072),
    "tinyllama-1.1b": (22, 2048, 32, 4, 64, 5632),
}

# As the models' own templates begin to be told apart; each is a real template in little.
TEMPLATES = {
    "chatml": "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + "
              "message['content'] + '<|im_end|>' + '\n'}}{% endfor %}"
              "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}",
    "smollm2": "{% for message in messages %}"
               "{% if loop.first and messages[0]['role'] != 'system' %}"
               "{{ '<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by "
               "Hugging Face<|im_end|>\n' }}{% endif %}{{'<|im_start|>' + message['role'] + '\n' + "
               "message['content'] + '<|im_end|>' + '\n'}}{% endfor %}"
               "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}",
    "llama3": "{% set loop_messages = messages %}{% for message in loop_messages %}"
              "{% set content = '<|start_header_id|>' + message['role'] + '<|end_header_id|>\n\n'"
              "+ message['content'] | trim + '<|eot_id|>' %}{% if loop.index0 == 0 %}"
              "{% set content = bos_token + content %}{% endif %}{{ content }}{% endfor %}"
              "{% if add_generation_prompt %}"
              "{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}{% endif %}",
    "zephyr": "{% for message in messages %}\n{% if message['role'] == 'user' %}\n"
              "{{ '<|user|>\n' + message['content'] + eos_token }}\n"
              "{% elif message['role'] == 'system' %}\n"
              "{{ '<|system|>\n' + message['content'] + eos_token }}\n"
              "{% elif message['role'] == 'assistant' %}\n"
              "{{ '<|assistant|>\n'  + message['content'] + eos_token }}\n{% endif %}\n"
              "{% if loop.last and add_generation_prompt %}\n{{ '<|assistant|>' }}\n{% endif %}\n"
              "{% endfor %}",
}
MERGES = ["h e", "i n", "o u", "t h", "Ġ t", "Ġt h", "Ġt he", "a n", "an d", "Ġ and", "e r", "r e",
          "Ġ w", "o r", "l d", "or ld", "Ġw orld", "l l", "he ll", "hell o", "Ġ s", "i s", "Ġ is",
          "H e", "He ll", "Hell o", "o n", "e n", "Ġ a", "a t", "Ġ o", "Ġo f"]
WORDS = ["▁", "▁t", "he", "in", "▁the", "▁a", "an", "nd", "▁and", "er", "re", "▁w", "or", "ld",
         "orld", "▁world", "ll", "el", "ello", "▁H", "▁Hello", "▁hello", "▁is", "is", "▁of", "on"]


# --- Keys -----------------------------------------------------------------------------------------

def text(value):
    value = value.encode() if isinstance(value, str) else value
    return struct.pack("<Q", len(value)) + value


def value_bytes(value):
    """The kind and the bytes of a key's value."""
    if isinstance(value, bool):
        return struct.pack("<IB", 7, value)
    if isinstance(value, int):
        return struct.pack("<Ii", 5, value) if value < 0 else struct.pack("<II", 4, value)
    if isinstance(value, float):
        return struct.pack("<If", 6, value)
    if isinstance(value, str):
        return struct.pack("<I", 8) + text(value)
    if isinstance(value[0], str):
        return struct.pack("<IIQ", 9, 8, len(value)) + b"".join(text(v) for v in value)
    if isinstance(value[0], float):
        return struct.pack("<IIQ", 9, 6, len(value)) + struct.pack("<%df" % len(value), *value)
    return struct.pack("<IIQ", 9, 5, len(value)) + struct.pack("<%di" % len(value), *value)


def value_size(data, at, kind):
    """The bytes that the value of this kind takes at `at`."""
    sizes = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
    if kind in sizes:
        return sizes[kind]
    if kind == 8:
        return 8 + struct.unpack_from("<Q", data, at)[0]
    inner, count = struct.unpack_from("<IQ", data, at)
    if inner in sizes:
        return 12 + count * sizes[inner]
    end = at + 12
    for _ in range(count):
        end += value_size(data, end, inner)
    return end - at


def keys_of(path):
    """All keys of another file, as {name: kind and bytes}."""
    with open(path, "rb") as f:
        data = f.read()
    found = {}
    count = struct.unpack_from("<Q", data, 16)[0]
    at = 24
    for _ in range(count):
        length = struct.unpack_from("<Q", data, at)[0]
        name = data[at + 8:at + 8 + length].decode()
        at += 8 + length
        size = 4 + value_size(data, at + 4, struct.unpack_from("<I", data, at)[0])
        found[name] = data[at:at + size]
        at += size
    return found


# --- Vocabularies ---------------------------------------------------------------------------------

def byte_characters():
    """How byte-level BPE writes each byte."""
    plain = list(range(33, 127)) + list(range(161, 173)) + list(range(174, 256))
    others = [b for b in range(256) if b not in plain]
    return {**{b: chr(b) for b in plain}, **{b: chr(256 + n) for n, b in enumerate(others)}}


def bpe_keys(pre):
    characters = byte_characters()
    tokens = [characters[b] for b in range(256)]
    tokens += [merge.replace(" ", "") for merge in MERGES]
    types = [1] * len(tokens)
    if pre == "llama-bpe":
        special = ["<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"]
    else:
        special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    tokens += special
    types += [3] * len(special)
    keys = {"tokenizer.ggml.model": "gpt2", "tokenizer.ggml.pre": pre,
            "tokenizer.ggml.tokens": tokens, "tokenizer.ggml.token_type": types,
            "tokenizer.ggml.merges": MERGES, "tokenizer.ggml.eos_token_id": len(tokens) - 1}
    if pre == "llama-bpe":
        keys["tokenizer.ggml.bos_token_id"] = len(tokens) - 4
    else:
        keys["tokenizer.ggml.add_bos_token"] = False
    return keys


def spm_keys():
    tokens = ["<unk>", "<s>", "</s>"] + ["<0x%02X>" % b for b in range(256)] + WORDS
    tokens += [chr(c) for c in range(33, 127)]
    tokens = list(dict.fromkeys(tokens))
    return {"tokenizer.ggml.model": "llama", "tokenizer.ggml.tokens": tokens,
            "tokenizer.ggml.scores": [0.0] * 259 + [-float(i) for i in range(len(tokens) - 259)],
            "tokenizer.ggml.token_type": [2, 3, 3] + [6] * 256 + [1] * (len(tokens) - 259),
            "tokenizer.ggml.bos_token_id": 1, "tokenizer.ggml.eos_token_id": 2,
            "tokenizer.ggml.unknown_token_id": 0}


def vocabulary(o):
    """The tokenizer's keys, the number of tokens and the ids of those that are no text."""
    if o.vocabulary_from:
        found = keys_of(o.vocabulary_from)
        keys = {k: v for k, v in found.items() if k.startswith("tokenizer.")}
        return keys, struct.unpack_from("<Q", keys["tokenizer.ggml.tokens"], 8)[0], []
    keys = spm_keys() if o.vocabulary == "spm" else bpe_keys(o.vocabulary)
    template = o.template or {"spm": "zephyr", "llama-bpe": "llama3"}.get(o.vocabulary, "chatml")
    if template not in TEMPLATES:
        with open(template, encoding="utf-8", newline="") as f:
            keys["tokenizer.chat_template"] = f.read()
    else:
        keys["tokenizer.chat_template"] = TEMPLATES[template]
    types = keys["tokenizer.ggml.token_type"]
    return keys, len(types), [i for i, t in enumerate(types) if t == 3]


# --- Weights --------------------------------------------------------------------------------------

def half(value):
    return struct.pack("<e", value)


def block_bytes(r, kind, scale):
    """One block of random values of about this standard deviation and no mean."""
    if kind == Q8_0:
        return half(scale / 74 * r.uniform(.8, 1.2)) + r.randbytes(32)
    if kind == Q4_0:
        return half(scale / 4.6 * r.uniform(.8, 1.2)) + r.randbytes(16)
    if kind == Q6_K:
        scales = [r.choice((-1, 1)) * r.randint(60, 127) for _ in range(16)]
        return r.randbytes(192) + struct.pack("<16b", *scales) + half(scale / 18.5 / 95)
    # Q4_K: eight scales and minima of six bits. Equal, and with dmin = 7.5 d, the values of 0 to 15
    # have no mean.
    s = [r.randint(24, 63) for _ in range(8)]
    packed = [s[j] | (s[j + 4] >> 4) << 6 for j in range(4)] * 2
    packed += [(s[j + 4] & 15) | (s[j + 4] & 15) << 4 for j in range(4)]
    d = scale / 4.6 / 44
    return half(d) + half(7.5 * d) + bytes(packed) + r.randbytes(128)


def plain_bytes(kind, values):
    if kind == F16:
        return struct.pack("<%de" % len(values), *values)
    data = struct.pack("<%df" % len(values), *values)
    if kind == F32:
        return data
    return b"".join(data[i + 2:i + 4] for i in range(0, len(data), 4))


POOL = 1 << 16  # blocks; larger matrices repeat pieces of this size


def matrix_write(f, r, kind, dims, scale, zero_rows):
    values, size = BLOCKS[kind]
    row_blocks, rows = dims[0] // values, dims[1]
    count = min(row_blocks * rows, POOL)
    if values == 1:
        pool = plain_bytes(kind, [r.gauss(0, scale) for _ in range(count)])
    else:
        pool = b"".join(block_bytes(r, kind, scale) for _ in range(count))
    row_size = row_blocks * size
    if row_blocks * rows <= POOL and not zero_rows:
        f.write(pool)
        return
    for row in range(rows):
        if row in zero_rows:
            f.write(bytes(row_size))
        elif row_blocks * rows <= POOL:
            f.write(pool[row * row_size:(row + 1) * row_size])
        else:
            at = r.randrange(count - row_blocks) * size
            f.write(pool[at:at + row_size])


def vector_write(f, r, n, mean, scale):
    f.write(struct.pack("<%df" % n, *[r.gauss(mean, scale) for _ in range(n)]))


def tensors_plan(o, vocabulary_size):
    """(name, kind, dims, mean, scale) of each tensor; a mean makes it a vector."""
    layers, dim, heads, groups, head, inside = o.shape_numbers
    kind = TYPES[o.type]
    output = TYPES[o.output_type or o.type]
    value = TYPES[o.value_type or o.type]
    plan = [("token_embd.weight", output if o.tied else kind, (dim, vocabulary_size), None, 1),
            ("output_norm.weight", F32, (dim,), 1, .1)]
    if not o.tied:
        plan.append(("output.weight", output, (dim, vocabulary_size), None, .2))
    if o.rope_freqs:
        plan.append(("rope_freqs.weight", F32, (head // 2,), 4, 1))
    scale = 1.7 / dim ** .5
    for i in range(layers):
        def add(name, kind, dims, mean, scale, i=i):
            plan.append(("blk.%d.%s" % (i, name), kind, dims, mean, scale))

        add("attn_norm.weight", F32, (dim,), 1, .1)
        add("attn_q.weight", kind, (dim, heads * head), None, scale)
        add("attn_k.weight", kind, (dim, groups * head), None, scale)
        add("attn_v.weight", value, (dim, groups * head), None, scale)
        if o.arch == "qwen2":
            add("attn_q.bias", F32, (heads * head,), 0, .3)
            add("attn_k.bias", F32, (groups * head,), 0, .3)
            add("attn_v.bias", F32, (groups * head,), 0, .3)
        if o.arch == "qwen3":
            add("attn_q_norm.weight", F32, (head,), 1, .1)
            add("attn_k_norm.weight", F32, (head,), 1, .1)
        add("attn_output.weight", kind, (heads * head, dim), None, scale)
        add("ffn_norm.weight", F32, (dim,), 1, .1)
        add("ffn_gate.weight", kind, (dim, inside), None, scale)
        add("ffn_up.weight", kind, (dim, inside), None, scale)
        add("ffn_down.weight", value, (inside, dim), None, scale)
    return [t for t in plan if t[0] not in o.drop]


# --- The file -------------------------------------------------------------------------------------

def keys_make(o):
    layers, dim, heads, groups, head, inside = o.shape_numbers
    a = o.arch
    keys = {"general.architecture": a, "general.name": "tiny",
            "general.file_type": FILE_TYPES[TYPES[o.type]], "general.quantization_version": 2,
            a + ".context_length": o.context, a + ".embedding_length": dim,
            a + ".block_count": layers, a + ".feed_forward_length": inside,
            a + ".attention.head_count": heads, a + ".attention.head_count_kv": groups,
            a + ".attention.layer_norm_rms_epsilon": 1e-5,
            a + ".rope.freq_base": 1e4 if a == "llama" else 1e6}
    if head * heads != dim:
        keys[a + ".attention.key_length"] = keys[a + ".attention.value_length"] = head
    if a == "llama":
        keys["llama.rope.dimension_count"] = head
    if o.rope_scale:
        keys[a + ".rope.scaling.type"] = "linear"
        keys[a + ".rope.scaling.factor"] = o.rope_scale
    vocabulary_keys, vocabulary_size, special = vocabulary(o)
    keys.update(vocabulary_keys)
    keys[a + ".vocab_size"] = vocabulary_size
    for name, value in o.set:
        keys[name] = value
    keys = {k: v for k, v in keys.items() if k not in o.drop}
    return keys, vocabulary_size, special


def write(path, **options):
    """As the command: write("a.gguf", arch="qwen3", type="Q8_0")."""
    o = parser().parse_args([path])
    for name, value in options.items():
        setattr(o, name, value)
    o = defaults_set(o)
    keys, vocabulary_size, special = keys_make(o)
    plan = tensors_plan(o, vocabulary_size)
    head = struct.pack("<4sIQQ", b"GGUF", 3, len(plan), len(keys))
    for name, value in keys.items():
        head += text(name) + (value if isinstance(value, bytes) else value_bytes(value))
    offset = 0
    for name, kind, dims, _, _ in plan:
        values, size = BLOCKS[kind]
        if dims[0] % values:
            raise SystemExit("tiny_model.py: %s has rows of %d values, and blocks of %d"
                             % (name, dims[0], values))
        count = dims[0] * (dims[1] if len(dims) > 1 else 1)
        head += text(name) + struct.pack("<I%dQIQ" % len(dims), len(dims), *dims, kind, offset)
        offset += (count // values * size + 31) // 32 * 32
    with open(path, "wb") as f:
        f.write(head)
        for name, kind, dims, mean, scale in plan:
            f.write(bytes(-f.tell() % 32))
            r = random.Random("%d %s" % (o.seed, name))
            if mean is not None:
                vector_write(f, r, dims[0], mean, scale)
            else:
                zero = special if o.endless and name == "output.weight" else []
                matrix_write(f, r, kind, dims, scale, zero)
        f.write(bytes(-f.tell() % 32))


def key_value(argument):
    name, _, value = argument.partition("=")
    for kind in (int, float):
        try:
            return name, kind(value)
        except ValueError:
            pass
    return name, {"true": True, "false": False}.get(value, value)


def parser():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("path", metavar="FILE")
    p.add_argument("--arch", choices=("llama", "qwen2", "qwen3"), default="llama")
    p.add_argument("--type", choices=TYPES, default="F32", help="of all matrices (F32)")
    p.add_argument("--output-type", choices=TYPES,
                   help="of the output matrix, and of token_embd if tied")
    p.add_argument("--value-type", choices=TYPES, help="of attn_v and ffn_down")
    p.add_argument("--shape", choices=SHAPES, help="plain; qwen3: wide")
    p.add_argument("--tied", action="store_true", help="token_embd is the output matrix too")
    p.add_argument("--endless", action="store_true",
                   help="no token that ends the text is ever the likeliest one (not tied)")
    p.add_argument("--rope-freqs", action="store_true", help="with the tensor rope_freqs.weight")
    p.add_argument("--rope-scale", type=float, help="linear scaling by this factor")
    p.add_argument("--context", type=int, default=4096)
    p.add_argument("--vocabulary", choices=("qwen2", "llama-bpe", "gpt-2", "spm"),
                   help="llama: llama-bpe; others: qwen2")
    p.add_argument("--template", metavar="NAME|FILE",
                   help="of chats: %s, or a file" % ", ".join(TEMPLATES))
    p.add_argument("--vocabulary-from", metavar="FILE", help="the tokenizer of another GGUF file")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--set", type=key_value, action="append", default=[], metavar="KEY=VALUE")
    p.add_argument("--drop", action="append", default=[], metavar="NAME", help="a key or tensor")
    return p


def defaults_set(o):
    o.shape = o.shape or ("wide" if o.arch == "qwen3" else "plain")
    o.shape_numbers = SHAPES[o.shape]
    o.vocabulary = o.vocabulary or ("llama-bpe" if o.arch == "llama" else "qwen2")
    if o.tied and o.endless:
        raise SystemExit("tiny_model.py: --endless needs an output matrix of its own")
    return o


if __name__ == "__main__":
    arguments = vars(parser().parse_args())
    write(arguments.pop("path"), **arguments)
