// SPDX-License-Identifier: MIT
// text_peer.mjs WORD MODEL: what llama.cpp makes of texts, and Hugging Face's renderer of chats; the
// words, stdin and stdout as of text_probe. MODEL of the word `chat` is a template.
import fs from "node:fs";
import {getLlama} from "node-llama-cpp";
import {Template} from "@huggingface/jinja";

const [word, path] = process.argv.slice(2);
const asked = JSON.parse(fs.readFileSync(0, "utf8"));

function chat(template, one) {
    const {messages, date, unanswered, ...options} = one;
    try {
        return new Template(template).render({
            messages, ...options, add_generation_prompt: !unanswered,
            ...(date ? {date_string: date} : {}), bos_token: "<B>", eos_token: "<E>"});
    } catch (failure) {
        return {error: String(failure)};
    }
}

async function tokens(one) {
    const llama = await getLlama({gpu: false, build: "never", skipDownload: true,
        progressLogs: false, maxThreads: 1, logLevel: "error"});
    const model = await llama.loadModel({modelPath: path, vocabOnly: true});
    return one(model);
}

function pieces(model) {
    const list = [];
    for (let token = 0; token < asked[0]; token++)
        list.push(model.isEogToken(token));
    return list;
}

let answers;
if (word === "chat") {
    const template = fs.readFileSync(path, "utf8");
    answers = asked.map((one) => chat(template, one));
} else if (word === "ends") {
    answers = await tokens(pieces);
} else {
    answers = await tokens((model) =>
        asked.map((text) => Array.from(model.tokenize(text, word === "special"))));
}
fs.writeSync(1, JSON.stringify(answers));
process.exit(0);
