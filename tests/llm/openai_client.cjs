// SPDX-License-Identifier: MIT
// openai_client.cjs URL: what programs do that use OpenAI's client.
"use strict";
const assert = require("node:assert");
const { OpenAI } = require("openai");
const client = new OpenAI({ baseURL: process.argv[2] + "/v1", apiKey: "none", maxRetries: 0 });
const messages = [{ role: "user", content: "hello" }];

async function main() {
    const models = await client.models.list();
    assert.strictEqual(models.data.length, 1);
    const model = models.data[0].id;

    const whole = await client.chat.completions.create({ model, messages, max_tokens: 20, temperature: 0 });
    assert.strictEqual(whole.choices[0].finish_reason, "length");
    assert.strictEqual(whole.usage.completion_tokens, 20);
    assert.strictEqual(whole.usage.total_tokens, whole.usage.prompt_tokens + 20);

    let text = "", last = null, usage = null;
    const stream = await client.chat.completions.create({
        model, messages, max_tokens: 20, temperature: 0, stream: true,
        stream_options: { include_usage: true } });
    for await (const chunk of stream) {
        text += chunk.choices[0]?.delta?.content ?? "";
        last = chunk.choices[0]?.finish_reason ?? last;
        usage = chunk.usage ?? usage;
    }
    assert.strictEqual(text, whole.choices[0].message.content);
    assert.strictEqual(last, "length");
    assert.strictEqual(usage.completion_tokens, 20);

    const raw = await client.completions.create({ model, prompt: "once", max_tokens: 5 });
    assert.strictEqual(raw.usage.completion_tokens, 5);

    const two = await client.chat.completions.create({ model, messages, n: 2, max_tokens: 5 });
    assert.deepStrictEqual(two.choices.map(choice => choice.index), [0, 1]);
    const both = await client.completions.create({ model, prompt: ["once", "upon"], max_tokens: 5 });
    assert.strictEqual(both.choices.length, 2);
    assert.strictEqual(both.usage.completion_tokens, 10);
    const object = await client.chat.completions.create({
        model, messages, max_tokens: 500, temperature: 0, response_format: { type: "json_object" } });
    assert.strictEqual(object.choices[0].message.content[0], "{");

    for (const [param, value] of [["n", 0], ["tools", [{ type: "function" }]],
        ["response_format", { type: "json_schema" }]])
        await assert.rejects(client.chat.completions.create({ model, messages, [param]: value }),
            error => error instanceof OpenAI.BadRequestError && error.param === param);
    await assert.rejects(client.embeddings.create({ model, input: "x" }),
        error => error instanceof OpenAI.NotFoundError && /embeddings/.test(error.message));
    await assert.rejects(client.completions.create({ model, prompt: "x ".repeat(200000) }),
        error => error instanceof OpenAI.BadRequestError && /context/.test(error.message));

    // The client leaves in the middle.
    const cut = await client.completions.create({ model, prompt: "x", max_tokens: 100000, stream: true });
    for await (const chunk of cut) {
        assert.ok(chunk.id);
        break;
    }
    cut.controller.abort();
}

main().catch(error => {
    console.error(error);
    process.exit(1);
});
