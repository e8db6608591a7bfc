# SPDX-License-Identifier: MIT
"""mutated_models.py LLM COUNT SEED FOLDER MODEL...: COUNT models, each of them one of the MODELs
with changed bytes. LLM continues a text with each. Each time it prints tokens and ends with 0, or
it ends with 2 and a sentence; a signal, another status, silence or a run that does not end is an
error, and the file is kept in FOLDER as bad-N.gguf. The same SEED makes the same files."""
import os
import random
import struct
import subprocess
import sys

HEAD = 16384  # keys and tensors of the tiny models; most changes are there
NUMBERS = (0, 1, 2, 7, 8, 9, 12, 0x7F, 0xFF, 0x100, 0xFFFF, 0x10000, 0x7FFFFFFF, 0x80000000,
           0xFFFFFFFF, 1 << 32, 1 << 40, (1 << 63) - 1, 1 << 63, (1 << 64) - 1)
PATIENCE_S = 120


def place(r, data):
    return r.randrange(min(HEAD, len(data)) if r.random() < 0.8 else len(data))


def bit_flip(r, data):
    data[place(r, data)] ^= 1 << r.randrange(8)


def byte_set(r, data):
    data[place(r, data)] = r.choice((0, 1, 0x7F, 0x80, 0xFF, r.randrange(256)))


def number_set(r, data):
    """A count, a length, an offset, a kind: anything that a reader trusts."""
    at, form = place(r, data), r.choice("<I <Q".split())
    number = r.choice(NUMBERS) + r.choice((0, 0, 1, -1))
    size = struct.calcsize(form)
    if at + size <= len(data):
        struct.pack_into(form, data, at, number % (1 << 8 * size))


def float_set(r, data):
    at = place(r, data) & ~3
    if at + 4 <= len(data):
        struct.pack_into("<f", data, at, r.choice((0.0, -0.0, 1e38, -1e38, 1e-45, float("nan"),
                                                  float("inf"), -float("inf"))))


def cut(r, data):
    del data[r.randrange(len(data)) if r.random() < 0.3 else place(r, data):]


def piece_remove(r, data):
    at = place(r, data)
    del data[at:at + r.choice((1, 4, 8, 64, 4096))]


def piece_repeat(r, data):
    at, size = place(r, data), r.choice((1, 4, 8, 64, 4096))
    data[at:at] = data[at:at + size] * r.choice((1, 1, 2, 50))


def piece_copy(r, data):
    a, b, size = place(r, data), place(r, data), r.choice((4, 8, 16, 64))
    data[b:b + size] = data[a:a + size]


def noise(r, data):
    at, size = place(r, data), r.choice((4, 16, 256))
    data[at:at + size] = r.randbytes(size)


CHANGES = (bit_flip, byte_set, number_set, number_set, number_set, float_set, cut, piece_remove,
           piece_repeat, piece_copy, noise)


def model_make(seed, i, models):
    r = random.Random(f"{seed} {i}")
    data = bytearray(r.choice(models))
    for _ in range(r.choice((1, 1, 1, 2, 3, 8))):
        if data:
            r.choice(CHANGES)(r, data)
    return bytes(data)


def complaint(llm, path):
    """What is wrong with how the program ends, or ""; and whether it has made tokens."""
    words = [llm, "generate", "--model", path, "--prompt", "once upon", "--tokens", "3",
             "--temperature", "0"]
    try:
        done = subprocess.run(words, capture_output=True, timeout=PATIENCE_S, check=False)
    except subprocess.TimeoutExpired:
        return f"has not ended in {PATIENCE_S} s", False
    said = done.stderr.decode(errors="replace").strip()
    if done.returncode == 2 and said.startswith("llm: ") and len(said) > 20:
        return "", False
    if done.returncode == 0 and not said:
        return "", True
    return f"has ended with {done.returncode}: {said[:3000]}", False


def main():
    llm, count, seed, folder = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
    models = []
    for path in sys.argv[5:]:
        with open(path, "rb") as file:
            models.append(file.read())
    path = os.path.join(folder, "mutated.gguf")
    ran = bad = 0
    for i in range(count):
        with open(path, "wb") as file:
            file.write(model_make(seed, i, models))
        what, has_run = complaint(llm, path)
        ran += has_run
        if what:
            bad += 1
            os.rename(path, os.path.join(folder, f"bad-{i}.gguf"))
            print(f"model {i} of seed {seed}: {what}")
            if bad == 10:
                count = i + 1
                break
    print(f"{count} models: {ran} ran, {count - ran - bad} were refused, {bad} ended badly")
    return bad > 0 or ran == 0 or ran == count


sys.exit(main())
