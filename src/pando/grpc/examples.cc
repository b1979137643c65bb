// Samples of tf.train.Example as tensors.
// SPDX-License-Identifier: MIT
#include <cstring>

#include "pando/grpc/tensors_impl.h"

namespace pando::grpc {
namespace {

using serve::Code;
using serve::ElementType;
using serve::failure;
using serve::InputTensor;
using serve::Result;
using serve::Status;
using tensorflow::Example;
using tensorflow::Feature;

// The feature that is an input of the model, of the example or else of the context.
const Feature* feature_of(const Example& example, const Example* context, const std::string& name,
                          bool is_only_input) {
  for (const Example* from : {&example, context}) {
    if (from == nullptr) continue;
    const auto& features = from->features().feature();
    const auto found = features.find(name);
    if (found != features.end()) return &found->second;
    if (is_only_input && features.size() == 1) return &features.begin()->second;
  }
  return nullptr;
}

std::optional<ElementType> feature_type(const Feature& feature, ElementType wanted) {
  if (feature.has_bytes_list()) return ElementType::bytes;
  if (feature.has_float_list()) return ElementType::f32;
  if (!feature.has_int64_list()) return std::nullopt;
  return wanted == ElementType::u8 || wanted == ElementType::i32 ? wanted : ElementType::f32;
}

template <typename Number>
void append_numbers(const Feature& feature, std::vector<std::byte>& to) {
  const auto append = [&](Number number) {
    const size_t place = to.size();
    to.resize(place + sizeof(number));
    std::memcpy(to.data() + place, &number, sizeof(number));
  };
  for (const float number : feature.float_list().value()) append(static_cast<Number>(number));
  for (const int64_t number : feature.int64_list().value()) append(static_cast<Number>(number));
}

class ExampleInput {
 public:
  ExampleInput(const serve::TensorInfo& info, InputMemory& memory)
      : info_(info), memory_(memory.emplace_back()) {
    tensor_.name = info.name;
  }

  Status add(const Feature* feature, int sample) {
    const auto type = feature == nullptr ? std::nullopt : feature_type(*feature, info_.type);
    if (!type || (sample > 0 && *type != tensor_.type)) {
      return failure(Code::invalid_argument, "example ", sample, ": expected a feature '",
                     info_.name, "' with the same kind of list in all examples");
    }
    tensor_.type = *type;
    if (*type == ElementType::bytes) {
      for (const std::string& value : feature->bytes_list().value()) {
        tensor_.elements.emplace_back(value);
      }
    } else if (*type == ElementType::u8) {
      append_numbers<uint8_t>(*feature, memory_);
    } else if (*type == ElementType::i32) {
      append_numbers<int32_t>(*feature, memory_);
    } else {
      append_numbers<float>(*feature, memory_);
    }
    return {};
  }

  // The model checks that the elements are as many as the shape has.
  InputTensor finish(int samples, const serve::Servable& servable) {
    const auto shape = servable.accepted_shape(info_, tensor_.type);
    tensor_.shape = shape ? *shape : info_.shape;
    if (!tensor_.shape.empty()) tensor_.shape[0] = samples;
    tensor_.data = memory_;
    return std::move(tensor_);
  }

 private:
  const serve::TensorInfo& info_;
  std::vector<std::byte>& memory_;
  InputTensor tensor_;
};

}  // namespace

Result<std::vector<InputTensor>> tensors_of(
    const google::protobuf::RepeatedPtrField<Example>& examples, const Example* context,
    const serve::Servable& servable, InputMemory& memory) {
  if (examples.empty()) return failure(Code::invalid_argument, "Input is empty.");
  std::vector<InputTensor> tensors;
  for (const serve::TensorInfo& info : servable.inputs()) {
    ExampleInput input(info, memory);
    for (int i = 0; i < examples.size(); ++i) {
      const Feature* feature =
          feature_of(examples[i], context, info.name, servable.inputs().size() == 1);
      const Status status = input.add(feature, i);
      if (!status.ok()) return status;
    }
    tensors.push_back(input.finish(examples.size(), servable));
  }
  return tensors;
}

}  // namespace pando::grpc
