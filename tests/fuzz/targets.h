// The fuzz targets, one function each. libFuzzer calls one of them (fuzzer.cc); the ordinary tests
// feed every file of the corpora to its target (replay_test.cc). A reader may refuse an input with
// the errors that its header names. Any other failure ends the program or leaves the function as an
// exception.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>

namespace pando::fuzz {

using Input = std::span<const uint8_t>;

void archive(Input input);
void boxes(Input input);
void cifar_binary(Input input);
void command_line(Input input);
void compression(Input input);
void cosmoflow(Input input);
void csv(Input input);
void example(Input input);
void exif(Input input);
void graph_text(Input input);
void hdf5(Input input);
void hosts(Input input);
void idx(Input input);
void imagenet(Input input);
void jpeg(Input input);
void json(Input input);
void json_tensor(Input input);
void keras_config(Input input);
void keras_zip(Input input);
void npy(Input input);
void npz(Input input);
void onnx(Input input);
void pickle(Input input);
void png(Input input);
void record_index(Input input);
void safetensors(Input input);
void text_format(Input input);
void tfrecord(Input input);
void tfjs(Input input);
void tuning_file(Input input);
void views(Input input);
void yaml(Input input);

// Targets of the server, in server/; only its builds have them.
void grpc_frames(Input input);
void h2_frames(Input input);
void http_body(Input input);
void protobuf_request(Input input);

}  // namespace pando::fuzz
