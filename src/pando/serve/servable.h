// One loaded version of a model, as clients see it.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pando/app/run/example_files.h"
#include "pando/tensor/dtype.h"
#include "pando/train/model_facts.h"

namespace pando::serve {

// What an element of a tensor in a request or an answer is.
enum class ElementType {
  f32,
  f16,
  bf16,
  u8,
  i32,
  bytes,  // an encoded picture (JPEG or PNG)
};

// Bytes of an element; 0 for ElementType::bytes, whose elements differ in size.
size_t size_of(ElementType type);
std::string_view to_string(ElementType type);  // "f32", ..., "bytes"
ElementType element_type(DType dtype);

// What clients send, as the exporter wrote it (`pando export --input`).
enum class InputKind {
  tensors,  // numbers of the type that the network takes
  images,   // encoded pictures, which the server prepares as validation does
  bytes,    // eight-bit pixels of prepared size
};
std::string_view to_string(InputKind kind);

// An input or output in the model's signature.
struct TensorInfo {
  std::string name;
  ElementType type = ElementType::f32;
  std::vector<int64_t> shape;  // with the batch: -1, or its size if the model fixes it
};

inline constexpr std::string_view kDefaultSignature = "serving_default";

// Immutable. A pointer keeps the version in memory, also while it is unloaded.
class Servable {
 public:
  virtual ~Servable() = default;

  const std::string& name() const { return name_; }
  int64_t version() const { return version_; }
  const std::string& signature() const { return signature_; }
  const std::vector<TensorInfo>& inputs() const { return inputs_; }
  const std::vector<TensorInfo>& outputs() const { return outputs_; }
  const ModelFacts& facts() const { return facts_; }
  // Pictures that were stored with the model, for people who try it.
  const std::vector<app::ExamplePicture>& examples() const { return examples_; }
  // The most samples that one request may have.
  int64_t max_request_samples() const { return max_request_samples_; }

  // The input of this name; an empty name is the only input. Null: there is none.
  const TensorInfo* find_input(std::string_view name) const;
  // Whether a request may send elements of this type for an input, and the shape that it must have
  // (with -1 for the batch). Beside the type of the signature this is: encoded pictures and
  // eight-bit pixels, if the preparation of pictures is known, and always the network's own type.
  std::optional<std::vector<int64_t>> accepted_shape(const TensorInfo& input,
                                                     ElementType type) const;
  // Whether a request may have a tensor of this type and shape for an input.
  bool takes(const TensorInfo& input, ElementType type, const std::vector<int64_t>& shape) const;

 protected:
  Servable() = default;

  std::string name_;
  int64_t version_ = 0;
  std::string signature_ = std::string(kDefaultSignature);
  InputKind input_kind_ = InputKind::tensors;
  std::vector<TensorInfo> inputs_;
  std::vector<TensorInfo> outputs_;
  std::vector<TensorInfo> network_inputs_;  // what the network itself takes
  ModelFacts facts_;
  std::vector<app::ExamplePicture> examples_;
  int64_t max_request_samples_ = 0;
};

}  // namespace pando::serve
