// ONNX Runtime's side of bench/peers/compare: predicts the number of steps that it reads from
// standard input and prints the seconds they took. Between the lines it sleeps.
// usage: node onnx_peer.js PACKAGE MODEL.onnx THREADS [SHAPE]
// SHAPE, as 1,3,224,224, is that of the input where the file leaves extents open; the results of such
// files need not be probabilities.
// SPDX-License-Identifier: MIT
'use strict';
const readline = require('readline');
const [packageFolder, file, threads, given] = process.argv.slice(2);
const runtime = require(packageFolder);

async function main() {
  const session = await runtime.InferenceSession.create(file, {
    executionProviders: ['cpu'],
    graphOptimizationLevel: 'all',
    executionMode: 'sequential',
    intraOpNumThreads: Number(threads),
    interOpNumThreads: 1,
  });
  const shape = (given ? given.split(',') : session.inputMetadata[0].shape).map(Number);
  const numbers = new Float32Array(shape.reduce((a, b) => a * b));
  for (let i = 0; i < numbers.length; i++) numbers[i] = Math.random();
  const feeds = {[session.inputNames[0]]: new runtime.Tensor('float32', numbers, shape)};
  const run = async (steps) => {
    const start = process.hrtime.bigint();
    let results;
    for (let i = 0; i < steps; i++) results = await session.run(feeds);
    const seconds = Number(process.hrtime.bigint() - start) / 1e9;
    const sum = results[session.outputNames[0]].data.reduce((a, b) => a + b, 0);
    if (!Number.isFinite(sum)) throw new Error(`results have the sum ${sum}`);
    if (!given && !(Math.abs(sum - shape[0]) < 1e-3)) throw new Error(`probabilities have the sum ${sum}`);
    return seconds;
  };
  await run(3);
  console.log('ready ' + JSON.stringify({version: runtime.env.versions.node}));
  for await (const line of readline.createInterface({input: process.stdin})) {
    const [word, steps] = line.split(' ');
    if (word === 'quit') break;
    console.log(`seconds ${await run(Number(steps))}`);
  }
}

main().then(() => process.exit(0), (error) => {
  console.error(`onnx_peer: ${error.message}`);
  process.exit(1);
});
