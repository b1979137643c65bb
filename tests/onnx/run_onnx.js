// Runs ONNX files by ONNX Runtime. Each line of standard input is a JSON object: the model's file,
// its inputs (name, dims, file of float32 numbers) and the stem of its output files. Prints a line of
// JSON for each: the names and extents of the outputs, or the error.
// usage: node run_onnx.js PACKAGE <jobs
// SPDX-License-Identifier: MIT
'use strict';
const fs = require('fs');
const readline = require('readline');
const runtime = require(process.argv[2]);

function numbersOf(file) {
  const bytes = fs.readFileSync(file);
  return new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
}

async function run(job) {
  const session = await runtime.InferenceSession.create(
      job.model, {executionProviders: ['cpu'], intraOpNumThreads: 1, logSeverityLevel: 3,
                  graphOptimizationLevel: 'all'});
  const feeds = {};
  for (const input of job.inputs) {
    feeds[input.name] = new runtime.Tensor('float32', numbersOf(input.file), input.dims);
  }
  const results = await session.run(feeds);
  const outputs = [];
  for (const name of session.outputNames) {
    const result = results[name];
    fs.writeFileSync(`${job.stem}.${outputs.length}`, Buffer.from(result.data.buffer,
        result.data.byteOffset, result.data.byteLength));
    outputs.push({name, dims: result.dims.map(Number)});
  }
  await session.release();
  return {outputs};
}

async function main() {
  for await (const line of readline.createInterface({input: process.stdin})) {
    const answer = await run(JSON.parse(line)).catch((error) => ({error: error.message}));
    console.log(JSON.stringify(answer));
  }
}

main().then(() => process.exit(0), (error) => {
  console.error(error.message);
  process.exit(1);
});
