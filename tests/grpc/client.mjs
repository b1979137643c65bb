// A client of the gRPC server by npm's @grpc/grpc-js. usage: client.mjs HOST:PORT PROTOS
// SPDX-License-Identifier: MIT
import { join } from 'node:path';
import { strict as assert } from 'node:assert';
import grpc from '@grpc/grpc-js';
import loader from '@grpc/proto-loader';

const [place, protos] = process.argv.slice(2);
const files = ['tensorflow_serving.proto', 'open_inference.proto'];
const loaded = grpc.loadPackageDefinition(loader.loadSync(
  files.map((name) => join(protos, name)), { includeDirs: [protos], keepCase: true, longs: Number }));
const credentials = grpc.credentials.createInsecure();
const predictions = new loaded.tensorflow.serving.PredictionService(place, credentials);
const inference = new loaded.inference.GRPCInferenceService(place, credentials);
const call = (stub, method, message) => new Promise((resolve, reject) => {
  stub[method](message, { deadline: Date.now() + 10000 }, (error, answer) =>
    (error ? reject(error) : resolve(answer)));
});

const content = Buffer.from(Float32Array.of(1, 2, 3, 4).buffer);
const tensor = { dtype: 'DT_FLOAT', tensor_shape: { dim: [{ size: 1 }, { size: 4 }] } };
const answer = await call(predictions, 'Predict',
  { model_spec: { name: 'm' }, inputs: { x: { ...tensor, float_val: [1, 2, 3, 4] } } });
assert.deepEqual(Object.values(answer.outputs)[0].float_val, [2, 4, 6, 8]);
const raw = await call(predictions, 'Predict',
  { model_spec: { name: 'm' }, inputs: { x: { ...tensor, tensor_content: content } } });
assert.equal(Object.values(raw.outputs)[0].tensor_content.readFloatLE(12), 8);
await assert.rejects(call(predictions, 'Predict', { model_spec: { name: 'n' } }),
  (error) => error.code === grpc.status.NOT_FOUND && /Latest\(n\)/.test(error.details));

const infer = await call(inference, 'ModelInfer', {
  model_name: 'm', id: 'x', raw_input_contents: [content],
  inputs: [{ name: 'x', datatype: 'FP32', shape: [1, 4] }] });
assert.equal(infer.raw_output_contents[0].readFloatLE(12), 8);
assert.equal(infer.id, 'x');
assert.equal((await call(inference, 'ServerReady', {})).ready, true);
predictions.close();
inference.close();
console.log('all answered');
