// Inputs of a model that came as JSON, as the tensors that the model takes.
// SPDX-License-Identifier: MIT
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "pando/serve/infer.h"
#include "pando/wire/json_tensor.h"

namespace pando::rest {

// Owns what tensors of a request point to.
struct InputMemory {
  std::deque<std::vector<float>> f32;
  std::deque<std::vector<int32_t>> i32;
  std::deque<std::vector<std::byte>> raw;
  std::deque<std::vector<std::string>> bytes;
};

// One input of a model while its values are read.
class JsonInput {
 public:
  // `servable` and `input` must outlive it.
  JsonInput(const serve::Servable& servable, const serve::TensorInfo& input);
  void add(wire::JsonCursor& cursor) { builder_.add(cursor); }
  const serve::TensorInfo& info() const { return input_; }
  int64_t values() const { return builder_.values(); }

  // The values as one tensor; in rows each value is a sample, else the only value has the batch
  // too. Bytes stay bytes. Numbers become the type of the signature; for a model of pictures they
  // become pixels if all are whole and from 0 to 255, else what the network itself takes.
  serve::InputTensor finish(bool in_rows, InputMemory& memory);

 private:
  const serve::Servable& servable_;
  const serve::TensorInfo& input_;
  std::vector<int64_t> sample_;  // the shape of one
  wire::TensorBuilder builder_;
};

// The same for a known type: used by protocols whose requests say it.
void set_from_numbers(serve::InputTensor& tensor, wire::TensorBuilder& builder,
                      InputMemory& memory);

// How many elements one sample of this shape (with the batch) has; 0 if that is not known.
int64_t sample_elements(const std::vector<int64_t>& shape);

}  // namespace pando::rest
