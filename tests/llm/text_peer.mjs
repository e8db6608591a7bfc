// SPDX-License-Identifier: MIT
// text_peer.mjs FILE: what llama.cpp makes of texts, and Hugging Face's renderer of conversations.
// Each line of FILE is a job, blanks between: WORD MODEL CASES ANSWERS. The word `chat` takes a
// template as its model; the others are those of text_probe, and `ends`: which tokens end an answer.
import fs from "node:fs";
import {getLlama} from "node-llama-cpp";
import {Template} from "@huggingface/jinja";

const BEGIN = "<|begin_of_text|>", END = "<|eot_id|>"; // of tiny_model.py's llama-bpe

const llama = await getLlama({gpu: false, build: "never", skipDownload: true, progressLogs: false,
    maxThreads: 1, logger: () => {}});

const models = new Map();

function chat(template, {messages, date, unanswered, ...options}) {
    return template.render({messages, ...options, ...(date ? {date_string: date} : {}),
        add_generation_prompt: !unanswered, bos_token: BEGIN, eos_token: END});
}

async function answers(word, path, cases) {
    if (word === "chat") {
        const template = new Template(fs.readFileSync(path, "utf8"));
        return cases.map((one) => chat(template, one));
    }
    if (!models.has(path))
        models.set(path, await llama.loadModel({modelPath: path, vocabOnly: true}));
    return cases.map((one) => word === "ends" ?
        Array.from({length: one}, (_, token) => models.get(path).isEogToken(token)) :
        Array.from(models.get(path).tokenize(one, word === "special")));
}

for (const job of fs.readFileSync(process.argv[2], "utf8").trim().split("\n")) {
    const [word, path, cases, to] = job.split(" ");
    const found = await answers(word, path, JSON.parse(fs.readFileSync(cases, "utf8")));
    fs.writeFileSync(to, JSON.stringify(found));
}
process.exit(0);
