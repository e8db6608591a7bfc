// SPDX-License-Identifier: MIT
// model_peer.mjs PROMPT COUNT FILE…: what llama.cpp expects after PROMPT (tokens with commas), and
// after each of its COUNT - 1 likeliest continuations: one line of JSON for each model.
import {getLlama} from "node-llama-cpp";

const [prompt, count, ...files] = process.argv.slice(2);
const llama = await getLlama({gpu: false, build: "never", skipDownload: true, progressLogs: false,
    maxThreads: 1, logLevel: "error"});
for (const path of files) {
    const model = await llama.loadModel({modelPath: path, useMmap: true});
    const context = await model.createContext({contextSize: 256, threads: 1, batchSize: 64});
    const sequence = context.getSequence();
    const tokens = [], probabilities = [], second = [];
    let next = prompt.split(",").map(Number);
    for (let i = 0; i < +count; i++) {
        const input = [...next.slice(0, -1), [next.at(-1),
            {generateNext: {probabilities: true, token: true, options: {temperature: 0}}}]];
        const result = (await sequence.controlledEvaluate(input)).at(-1).next;
        const best = [...result.probabilities.entries()].sort((a, b) => b[1] - a[1]);
        tokens.push(best[0][0]);
        probabilities.push(+best[0][1].toFixed(5));
        second.push(+best[1][1].toFixed(5));
        next = [best[0][0]];
    }
    console.log(JSON.stringify({tokens, probabilities, second}));
    await context.dispose();
    await model.dispose();
}
