// SPDX-License-Identifier: MIT
// llm_peer.mjs FILE THREADS PROMPT TOKENS: how fast llama.cpp is: tokens a second of a prompt of
// PROMPT tokens, and of TOKENS that follow one by one.
import {getLlama} from "node-llama-cpp";

const [path, threads, prompt, tokens] = [process.argv[2], ...process.argv.slice(3).map(Number)];
const llama = await getLlama({gpu: false, build: "never", skipDownload: true, progressLogs: false,
    maxThreads: threads, logLevel: "error"});
const model = await llama.loadModel({modelPath: path, useMmap: true});
const context = await model.createContext({contextSize: prompt + tokens + 64, threads,
    batchSize: 512});
const sequence = context.getSequence();

// Seconds until the first token, and for those behind it.
async function run(count, following) {
    const input = Array.from({length: count}, (_, i) => i * 7919 % 1000);
    const begin = performance.now();
    let first, n = 0;
    for await (const _ of sequence.evaluate(input, {temperature: 0, yieldEogToken: true})) {
        first ??= performance.now();
        if (n++ === following)
            break;
    }
    const seconds = [(first - begin) / 1000, (performance.now() - first) / 1000];
    await sequence.clearHistory();
    return seconds;
}
await run(prompt, 3);
const [prefill, decode] = await run(prompt, tokens);
console.log((prompt / prefill).toFixed(2), (tokens / decode).toFixed(2));
await context.dispose();
await model.dispose();
process.exit(0);
