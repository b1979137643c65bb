// Unpacks layers models of npm packages, and runs layers models with tfjs.
// SPDX-License-Identifier: MIT
//   node run_tfjs.js unpack PACKAGE_FOLDER TO_FOLDER    model.min.js and shards of nsfwjs
//   node run_tfjs.js predict MODEL_JSON INPUT SHAPE OUTPUT [LAYER]    files of f32 numbers; what
//                                                      LAYER gives, else what the model gives
'use strict';
const fs = require('fs');
const path = require('path');

function unpack(from, to) {
  fs.mkdirSync(to, {recursive: true});
  for (const name of fs.readdirSync(from)) {
    const content = require(path.resolve(from, name));
    if (name === 'model.min.js') {
      fs.writeFileSync(path.join(to, 'model.json'), JSON.stringify(content));
    } else {
      fs.writeFileSync(path.join(to, name.replace('.min.js', '')), Buffer.from(content, 'base64'));
    }
  }
}

function bytes(buffer) {
  return buffer.buffer.slice(buffer.byteOffset, buffer.byteOffset + buffer.byteLength);
}

async function predict(file, input, shape, output, layer) {
  const tf = require('@tensorflow/tfjs');
  await tf.setBackend('cpu');
  const model = JSON.parse(fs.readFileSync(file));
  const specs = [];
  const shards = [];
  for (const group of model.weightsManifest) {
    specs.push(...group.weights);
    for (const name of group.paths) {
      shards.push(fs.readFileSync(path.join(path.dirname(file), name)));
    }
  }
  const network = await tf.loadLayersModel({
    load: async () => ({
      modelTopology: model.modelTopology,
      weightSpecs: specs,
      weightData: bytes(Buffer.concat(shards)),
    }),
  });
  const x = tf.tensor(new Float32Array(bytes(fs.readFileSync(input))), shape.split(',').map(Number));
  const part = layer === undefined ? network :
      tf.model({inputs: network.inputs, outputs: network.getLayer(layer).output});
  const y = await part.predict(x).data();
  fs.writeFileSync(output, Buffer.from(y.buffer, y.byteOffset, y.byteLength));
}

const [command, ...rest] = process.argv.slice(2);
if (command === 'unpack') {
  unpack(...rest);
} else {
  predict(...rest).catch((error) => {
    console.error(error);
    process.exit(1);
  });
}
