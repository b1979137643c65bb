// Prints the examples of a record file as JSON or, with --write, writes a file. Uses the npm package
// `tfrecord`, which shares no code with Pando:  node read_records.js [--write] FILE
// SPDX-License-Identifier: MIT
const tfrecord = require('tfrecord');

async function write(path) {
  const builder = tfrecord.createBuilder();
  builder.setIntegers('ints', [1, -2, 300]);
  builder.setFloats('floats', [1.5, -0.25]);
  builder.setBinaries('bytes', [new Uint8Array([1, 2]), new Uint8Array([255])]);
  const example = builder.releaseExample();
  const writer = await tfrecord.createWriter(path);
  for (let i = 0; i < 3; ++i) await writer.writeExample(example);
  await writer.close();
}

async function read(path) {
  const reader = await tfrecord.createReader(path);
  let example;
  while ((example = await reader.readExample())) {
    const shown = {};
    for (const [key, feature] of Object.entries(example.features.feature)) {
      if (feature.bytesList) shown[key] = feature.bytesList.value.map((v) => Array.from(v));
      if (feature.floatList) shown[key] = Array.from(feature.floatList.value);
      if (feature.int64List) shown[key] = feature.int64List.value.map((v) => v.toString());
    }
    console.log(JSON.stringify(shown));
  }
}

const writes = process.argv[2] === '--write';
(writes ? write(process.argv[3]) : read(process.argv[2])).catch((error) => {
  console.error(error);
  process.exit(1);
});
