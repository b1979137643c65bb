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

size_t count_of(const Feature& feature) {
  return static_cast<size_t>(feature.float_list().value_size() + feature.int64_list().value_size() +
                             feature.bytes_list().value_size());
}

template <typename Number>
std::byte* write_numbers(const Feature& feature, std::byte* to) {
  const auto write = [&](Number number) {
    std::memcpy(to, &number, sizeof(number));
    to += sizeof(number);
  };
  for (const float number : feature.float_list().value()) write(static_cast<Number>(number));
  for (const int64_t number : feature.int64_list().value()) write(static_cast<Number>(number));
  return to;
}

class ExampleInput {
 public:
  ExampleInput(const serve::TensorInfo& info, InputMemory& memory) : info_(info), memory_(memory) {
    tensor_.name = info.name;
  }

  Status add(const Feature* feature) {
    const auto type = feature == nullptr ? std::nullopt : feature_type(*feature, info_.type);
    if (!type || (!features_.empty() && *type != tensor_.type)) {
      return failure(Code::invalid_argument, "example ", features_.size(), ": expected a feature '",
                     info_.name, "' with the same kind of list in all examples");
    }
    tensor_.type = *type;
    features_.push_back(feature);
    return {};
  }

  // All examples may share a large feature, so nothing is copied that the model does not take.
  Result<InputTensor> finish(const serve::Servable& servable) {
    const auto shape = servable.accepted_shape(info_, tensor_.type);
    tensor_.shape = shape ? *shape : info_.shape;
    if (!tensor_.shape.empty()) tensor_.shape[0] = static_cast<int64_t>(features_.size());
    if (!servable.takes(info_, tensor_.type, tensor_.shape)) return std::move(tensor_);
    const auto expected = static_cast<size_t>(elements_of(tensor_.shape).value_or(0));
    size_t count = 0;
    for (const Feature* const feature : features_) count += count_of(*feature);
    if (count != expected) {
      return failure(Code::invalid_argument, "input '", info_.name, "': expected ", expected,
                     " elements for ", features_.size(), " examples, got ", count);
    }
    if (tensor_.type == ElementType::bytes) {
      take_elements(count);
    } else {
      take_numbers(count * serve::size_of(tensor_.type));
    }
    return std::move(tensor_);
  }

 private:
  void take_elements(size_t count) {
    memory_.count(count * sizeof(std::string_view));
    tensor_.elements.reserve(count);
    for (const Feature* const feature : features_) {
      for (const std::string& value : feature->bytes_list().value()) {
        tensor_.elements.emplace_back(value);
      }
    }
  }

  void take_numbers(size_t bytes) {
    std::byte* const begin = memory_.allocate(bytes);
    std::byte* to = begin;
    for (const Feature* const feature : features_) {
      if (tensor_.type == ElementType::u8) {
        to = write_numbers<uint8_t>(*feature, to);
      } else if (tensor_.type == ElementType::i32) {
        to = write_numbers<int32_t>(*feature, to);
      } else {
        to = write_numbers<float>(*feature, to);
      }
    }
    tensor_.data = {begin, bytes};
  }

  const serve::TensorInfo& info_;
  InputMemory& memory_;
  InputTensor tensor_;
  std::vector<const Feature*> features_;
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
      const Status status = input.add(feature);
      if (!status.ok()) return status;
    }
    auto tensor = input.finish(servable);
    if (!tensor) return tensor.status();
    tensors.push_back(std::move(*tensor));
  }
  return tensors;
}

}  // namespace pando::grpc
