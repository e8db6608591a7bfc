#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The small models of model.t, and the comparison with what another program says of them.

    model_cases.py write DIR           writes the models, NAME.gguf, and prints the names
    model_cases.py prompt              prints the prompt's tokens and how many are to follow
    model_cases.py judge DIR PEER LLM  runs LLM on the models; PEER has a line of JSON for each, as
                                       model_peer.mjs prints it. Prints TAP lines without numbers.

The peer's tokens are given to both programs, so that a near tie changes one position alone.
"""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import tiny_model  # noqa: E402

PROMPT, COUNT = [72, 101, 108, 108, 111], 16

# Name, what tiny_model.py is to write, and how far a probability may be from the peer's: at one
# position, and on average. llama.cpp rounds vectors to the type of the matrix, for K types in
# blocks of 256 numbers where llm has blocks of 32; random models make a lot of such a difference.
FLOAT, HALF, BRAIN = (.003, .001), (.008, .003), (.04, .015)
BLOCK, SUPER = (.05, .015), (.15, .05)
CASES = [
    ("llama-f32", dict(arch="llama", type="F32"), FLOAT),
    ("llama-f16-odd", dict(arch="llama", type="F16", shape="odd", tied=True), HALF),
    ("llama-bf16", dict(arch="llama", type="BF16", rope_freqs=True), BRAIN),
    ("llama-q8_0-odd", dict(arch="llama", type="Q8_0", shape="odd"), BLOCK),
    ("llama-q4_0", dict(arch="llama", type="Q4_0", output_type="Q8_0"), BLOCK),
    ("llama-q4_k_m", dict(arch="llama", type="Q4_K", value_type="Q6_K", output_type="Q6_K",
                          shape="blocks"), SUPER),
    ("llama-narrow", dict(arch="llama", type="F32", shape="narrow", rope_scale=4.0), FLOAT),
    ("qwen2-f32", dict(arch="qwen2", type="F32"), FLOAT),
    ("qwen2-q8_0", dict(arch="qwen2", type="Q8_0", rope_scale=2.0), BLOCK),
    ("qwen2-q4_k", dict(arch="qwen2", type="Q4_K", shape="square"), SUPER),
    ("qwen3-f32", dict(arch="qwen3", type="F32", tied=True), FLOAT),
    ("qwen3-q8_0", dict(arch="qwen3", type="Q8_0"), BLOCK),
    ("qwen3-q4_0", dict(arch="qwen3", type="Q4_0"), BLOCK),
    ("qwen3-q6_k", dict(arch="qwen3", type="Q6_K", shape="blocks"), SUPER),
]


def judge_case(path, peer, limits, llm):
    """What is wrong, or None."""
    tokens = PROMPT + peer["tokens"][:-1]
    ran = subprocess.run([llm, "generate", "--model", path, "--score", "--json",
                          "--prompt-tokens", ",".join(map(str, tokens))],
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if ran.returncode:
        return ran.stdout
    own = json.loads(ran.stdout)
    own = list(zip(own["tokens"], own["probabilities"]))[len(PROMPT) - 1:]
    if len(own) != COUNT or len(peer["tokens"]) != COUNT:
        return "there are %d and %d positions" % (len(own), len(peer["tokens"]))
    distances = []
    for i, (token, probability) in enumerate(own):
        best, second = peer["probabilities"][i], peer["second"][i]
        distances.append(abs(probability - best))
        if token != peer["tokens"][i] and best - second > 2 * limits[0]:
            return "position %d: token %d, and %d expected" % (i, token, peer["tokens"][i])
        if distances[-1] > limits[0]:
            return "position %d: probability %f, and %f expected" % (i, probability, best)
    if sum(distances) / COUNT > limits[1]:
        return "probabilities differ by %f on average" % (sum(distances) / COUNT)
    return None


def main():
    if sys.argv[1] == "prompt":
        print(",".join(map(str, PROMPT)), COUNT)
        return
    folder = sys.argv[2]
    if sys.argv[1] == "write":
        for name, options, _ in CASES:
            tiny_model.write(os.path.join(folder, name + ".gguf"), **options)
            print(name)
        return
    with open(sys.argv[3]) as f:
        peers = [json.loads(line) for line in f]
    for (name, _, limits), peer in zip(CASES, peers):
        wrong = judge_case(os.path.join(folder, name + ".gguf"), peer, limits, sys.argv[4])
        print("not ok %s: %s" % (name, wrong.strip()) if wrong else "ok %s" % name)
    if len(peers) != len(CASES):
        print("not ok there are %d answers for %d models" % (len(peers), len(CASES)))


if __name__ == "__main__":
    main()
