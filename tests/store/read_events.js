// Prints the records of a TensorBoard event file as JSON lines, read by the npm package `tfrecord`,
// which checks their checksums, and decoded by `protobufjs`, which comes with it; neither has code
// of ours:  node read_events.js FILE
// SPDX-License-Identifier: MIT
const tfrecord = require('tfrecord');
const protobuf = require('protobufjs');

const description = `
syntax = "proto3";
message Event {
  double wall_time = 1; int64 step = 2;
  string file_version = 3; Summary summary = 5; SessionLog session_log = 7;
}
message Summary { repeated Value value = 1; }
message Value {
  string tag = 1; float simple_value = 2; Histogram histo = 5; Tensor tensor = 8;
  Metadata metadata = 9;
}
message Histogram {
  double min = 1; double max = 2; double num = 3; double sum = 4; double sum_squares = 5;
  repeated double bucket_limit = 6; repeated double bucket = 7;
}
message Metadata { PluginData plugin_data = 1; int32 data_class = 4; }
message PluginData { string plugin_name = 1; string content = 2; }
message Tensor { int32 dtype = 1; TensorShape tensor_shape = 2; repeated string string_val = 8; }
message TensorShape { repeated Dim dim = 2; }
message Dim { int64 size = 1; string name = 2; }
message SessionLog { int32 status = 1; string checkpoint_path = 2; }
`;

async function read(file) {
  const kind = protobuf.parse(description, {keepCase: true}).root.lookupType('Event');
  const records = await tfrecord.RecordReader.create(file);
  let record;
  while ((record = await records.readRecord())) {
    console.log(JSON.stringify(kind.toObject(kind.decode(record), {longs: Number})));
  }
  await records.close();
}

read(process.argv[2]).catch((error) => {
  console.error(error);
  process.exit(1);
});
