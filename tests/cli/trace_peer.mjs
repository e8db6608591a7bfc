// SPDX-License-Identifier: MIT
// Reads a trace with the parser of Chrome's DevTools, and prints how many slices it finds of each
// rank: node trace_peer.mjs FOLDER_OF_NODE_MODULES TRACE
import fs from 'node:fs';
import {createRequire} from 'node:module';
import {pathToFileURL} from 'node:url';

const [, , folder, trace] = process.argv;
const parser = createRequire(`${folder}/x`).resolve('@paulirish/trace_engine/models/trace/trace.js');

globalThis.DOMRect = class {};
const {TraceModel} = await import(pathToFileURL(parser));
const model = TraceModel.Model.createWithAllHandlers();
await model.parse(JSON.parse(fs.readFileSync(trace)).traceEvents);
const {processes} = model.parsedTrace().data.Renderer;
const counts = [...processes.keys()].sort((a, b) => a - b).map(
    pid => [...processes.get(pid).threads.values()].reduce((n, t) => n + t.entries.length, 0));
console.log(counts.join(' '));
