// Tensors of both protocols from and to those of the model server. Pure functions: any message
// gives a tensor or a reason.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <open_inference.pb.h>
#include <tensorflow.pb.h>

#include "pando/grpc/held_impl.h"
#include "pando/serve/infer.h"

namespace pando::grpc {

// Keeps what a request does not hold itself in the form that the model needs; takes no memory while
// it is empty.
class InputMemory {
 public:
  InputMemory() = default;
  // Counts in `held` what it allocates.
  explicit InputMemory(HeldBytes& held) : held_(&held) {}

  // Both throw TooMuchHeld.
  std::byte* allocate(size_t bytes);
  void count(size_t bytes);  // that the caller allocates
  bool empty() const { return blocks_.empty(); }
  void clear() { blocks_.clear(); }

 private:
  HeldBytes* held_ = nullptr;
  std::list<std::unique_ptr<std::byte[]>> blocks_;
};

tensorflow::DataType tf_type(serve::ElementType type);
std::string_view oip_type(serve::ElementType type);  // "FP32"

// What a short list of numbers may be filled to.
struct FillLimits {
  int64_t bytes = 0;
  // If not null: only a tensor that this model takes is filled. Any other one stays short; the
  // model says what is wrong with it.
  const serve::Servable* servable = nullptr;
};

// The elements of a TensorProto: views of it, or of `memory`. The last number of a short
// list fills the rest of the tensor.
serve::Result<serve::InputTensor> tensor_of(const std::string& name,
                                            const tensorflow::TensorProto& proto,
                                            const FillLimits& limits, InputMemory& memory);
// Writes an output; as tensor_content, or as numbers.
void write_tensor(const serve::OutputTensor& output, bool as_content,
                  tensorflow::TensorProto& proto);

// All inputs of a request of the Open Inference Protocol.
serve::Result<std::vector<serve::InputTensor>> tensors_of(
    const inference::ModelInferRequest& request, InputMemory& memory);
// Writes the outputs; raw, or as numbers. Numbers of 16 bits are always raw, as the protocol wants.
void write_outputs(const serve::InferResponse& response, bool raw,
                   inference::ModelInferResponse& message);

// Samples of tf.train.Example, as Classify and Regress take them; `context` has features that all
// samples share, and may be null. A feature has the name of an input; the only feature may have
// any.
serve::Result<std::vector<serve::InputTensor>> tensors_of(
    const google::protobuf::RepeatedPtrField<tensorflow::Example>& examples,
    const tensorflow::Example* context, const serve::Servable& servable, InputMemory& memory);

// The elements of a shape; none for a negative size or more than 2^40 elements.
std::optional<int64_t> elements_of(const std::vector<int64_t>& shape);

}  // namespace pando::grpc
