#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""text_compare.py BUILD FOLDER COUNT SEED [NPM]: what examples/llm/text makes of texts and chats,
and what others make of them. Prints a line for each comparison: "pass NAME" or "fail NAME", and
behind the latter lines that begin with a blank.

NPM is the folder of npm.sh, in which llama.cpp and the renderer of Hugging Face are. Without it
there is only the list data/text.json, which these two have given once (`text_compare.py list BUILD
FOLDER NPM` writes it anew).
"""
import json
import os
import random
import subprocess
import sys

import text_cases
import tiny_model

HERE = os.path.dirname(os.path.abspath(__file__))
TINY = ("qwen2", "llama-bpe", "gpt-2", "smollm", "default", "spm")
VOCABULARIES = ("qwen2", "llama-bpe", "llama-spm", "gpt-2")
# Real templates of the families that llm knows, and some of others.
KNOWN = ("Qwen-Qwen2.5-7B-Instruct", "Qwen-Qwen3-0.6B", "MiMo-VL",
         "meta-llama-Llama-3.1-8B-Instruct", "meta-llama-Llama-3.2-3B-Instruct",
         "meta-llama-Llama-3.3-70B-Instruct")
UNKNOWN = ("HuggingFaceTB-SmolLM3-3B", "Qwen-QwQ-32B", "Qwen3-Coder", "openbmb-MiniCPM5-1B",
           "NousResearch-Hermes-2-Pro-Llama-3-8B-tool_use", "fireworks-ai-llama-3-firefunction-v2",
           "meetkai-functionary-medium-v3.1", "google-gemma-2-2b-it",
           "microsoft-Phi-3.5-mini-instruct")


def load(path):
    with open(path, encoding="utf-8") as f:
        return json.load(f)


def report(name, cases, ours, others):
    different = [i for i in range(max(len(cases), len(ours), len(others)))
                 if ours[i:i + 1] != others[i:i + 1]]
    print("%s %s" % ("fail" if different else "pass", name))
    for i in different[:5]:
        for what, whose in (("case %d" % i, cases), ("ours", ours), ("theirs", others)):
            print("  %s: %s" % (what, json.dumps(whose[i:i + 1])))


class Comparison:
    def __init__(self, build, folder, npm):
        self.probe = build + "/tests/llm/text_probe"
        self.folder = folder
        self.npm = npm
        self.jobs = []  # text_peer.mjs's, with our answers

    def path(self, name):
        return "%s/%s" % (self.folder, name)

    def ours(self, word, model, cases):
        done = subprocess.run([self.probe, word, model], input=json.dumps(cases), text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        return json.loads(done.stdout) if done.returncode == 0 else [done.stdout]

    def job(self, name, word, model, cases, ours):
        """`model` for text_peer.mjs; it answers in peers()."""
        number = len(self.jobs)
        with open(self.path("%d.cases" % number), "w", encoding="utf-8") as f:
            json.dump(cases, f)
        self.jobs.append((name, cases, ours, "%s %s %s %s" % (
            word, model, self.path("%d.cases" % number), self.path("%d.answers" % number))))

    def peers(self):
        """The others' answers of all jobs."""
        with open(self.path("jobs"), "w", encoding="utf-8") as f:
            f.write("\n".join(job[3] for job in self.jobs))
        subprocess.run(["node", self.npm + "/text_peer.mjs", self.path("jobs")], check=True)
        return [load(job[3].split()[3]) for job in self.jobs]

    def tiny_vocabulary(self, name):
        path = self.path(name + ".gguf")
        base = "gpt-2" if name in ("smollm", "default") else name
        tiny_model.write(path, shape="narrow", type="Q4_0", vocabulary=base,
                         set=[("tokenizer.ggml.pre", name)] if base != name else [])
        return path

    def template_model(self, template):
        path = self.path("template.gguf")
        tiny_model.write(path, shape="narrow", type="Q4_0", template=template)
        return path

    def tiny(self, texts, chats):
        """Yields (name, word, model for text_peer.mjs, cases, ours)."""
        for name in TINY:
            model = self.tiny_vocabulary(name)
            for word in ("tokens", "special"):
                yield "%s %s" % (word, name), word, model, texts, self.ours(word, model, texts)
        for name, template in tiny_model.TEMPLATES.items():
            with open(self.path(name + ".jinja"), "w", encoding="utf-8") as f:
                f.write(template)
            yield ("chat " + name, "chat", self.path(name + ".jinja"), chats,
                   self.ours("chat", self.template_model(name), chats))

    def real_vocabularies(self, count, seed):
        texts = text_cases.texts(count, seed)
        is_long = count > 100
        for name in VOCABULARIES:
            path = "%s/llama.cpp/models/ggml-vocab-%s.gguf" % (self.npm, name)
            with open(path + ".inp", encoding="utf-8", newline="") as f:
                asked = f.read().split("\n__ggml_vocab_test__\n")
            with open(path + ".out", encoding="utf-8") as f:
                expected = [[int(n) for n in line.split()] for line in f.read().split("\n")]
            report("%s: the tokens that llama.cpp's test of it expects" % name, asked,
                   self.ours("tokens", path, asked), expected)
            for word in ("tokens", "special") if is_long else ("special",):
                self.job("%s: %s of %d random texts" % (name, word, count), word, path, texts,
                         self.ours(word, path, texts))
            if not is_long:
                continue
            pieces = self.ours("pieces", path, [])
            self.job("%s: the tokens that end an answer" % name, "ends", path, [len(pieces)],
                     [[is_end for _, is_end in pieces]])

    def real_templates(self):
        chats = text_cases.chats()
        for name in KNOWN + UNKNOWN:
            path = "%s/llama.cpp/models/templates/%s.jinja" % (self.npm, name)
            ours = self.ours("chat", self.template_model(path), chats)
            if name in KNOWN:
                self.job("chats with the template %s" % name, "chat", path, chats, ours)
                continue
            refused = all("of no family that llm knows" in str(one) for one in ours)
            print("%s the template %s is refused" % ("pass" if refused else "fail", name))


def list_write(build, folder, npm):
    r = random.Random(5)
    chats = text_cases.chats()
    listed = {"texts": text_cases.LISTED + [text_cases.text(r) for _ in range(12)],
              "chats": [chats[i] for i in (0, 3, 4, 6, 7, 8, 9, 12, 17, 18, 19, 23)]}
    c = Comparison(build, folder, npm)
    for one in c.tiny(listed["texts"], listed["chats"]):
        c.job(*one)
    for job, answers in zip(c.jobs, c.peers()):
        listed[job[0]] = answers
    with open(HERE + "/data/text.json", "w", encoding="utf-8") as f:
        f.write("{\n" + ",\n".join('"%s": %s' % (k, json.dumps(v, separators=(",", ":")))
                                   for k, v in listed.items()) + "\n}\n")


def main(build, folder, count, seed, npm=None):
    if build == "list":
        list_write(folder, count, seed)
        return
    listed = load(HERE + "/data/text.json")
    c = Comparison(build, folder, npm)
    for name, word, model, cases, ours in c.tiny(listed["texts"], listed["chats"]):
        report(name + ", as the list has it", cases, ours, listed[name])
        if npm:
            c.job(name + ", as they do now", word, model, cases, ours)
    if not npm:
        return
    c.real_vocabularies(int(count), int(seed))
    c.real_templates()
    for job, answers in zip(c.jobs, c.peers()):
        report(job[0], job[1], job[2], answers)


if __name__ == "__main__":
    main(*sys.argv[1:])
