// Training graphs of named networks at small sizes, for tests of the compiler and the runtime.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "pando/train/programs.h"
#include "pando/zoo/zoo.h"

namespace pando {

// A network with the loss it is trained with.
struct TestNetwork {
  std::string name;
  Network network;
  Loss loss;
};

inline TestNetwork test_network(const std::string& name, const Shape& input_shape) {
  const ZooEntry& entry = zoo_entry(name);
  return {name, entry.build(input_shape, entry.outputs), Loss(entry.loss)};
}

// The fields of the data that the network is trained on.
inline std::vector<Field> training_fields(const TestNetwork& test) {
  const Field x{"x", DType::f32, test.network.inputs()[0].shape};
  const Shape& output = test.network.outputs()[0].shape;
  if (test.loss.labels() != LabelKind::classes) return {x, {"y", DType::f32, output}};
  // A class for each place before the last axis.
  return {x, {"y", DType::i32, Shape(std::vector<int64_t>(output.begin(), output.end() - 1))}};
}

inline ir::Graph graph_of(const TestNetwork& test, RunMode mode, int64_t slice_batch) {
  const Losses loss = test.loss;
  return train::build_graph(test.network, {.mode = mode,
                                           .batch = slice_batch,
                                           .fields = training_fields(test),
                                           .loss = &loss,
                                           .frozen = {}});
}

inline ir::Graph training_graph(const TestNetwork& test, int64_t slice_batch) {
  return graph_of(test, RunMode::train, slice_batch);
}

}  // namespace pando
