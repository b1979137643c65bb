// Tensors of the Open Inference Protocol.
// SPDX-License-Identifier: MIT
#include <algorithm>
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
using OipInput = inference::ModelInferRequest::InferInputTensor;

struct OipType {
  ElementType type;
  std::string_view name;
};
constexpr OipType kOipTypes[] = {{ElementType::f32, "FP32"},  {ElementType::f16, "FP16"},
                                 {ElementType::bf16, "BF16"}, {ElementType::u8, "UINT8"},
                                 {ElementType::i32, "INT32"}, {ElementType::bytes, "BYTES"}};

// Raw elements of BYTES: a length of four bytes before each. Calls `take` for each; false: the last
// one is not whole.
template <typename Take>
bool split_bytes(std::string_view raw, const Take& take) {
  while (!raw.empty()) {
    uint32_t length = 0;
    if (raw.size() < sizeof(length)) return false;
    std::memcpy(&length, raw.data(), sizeof(length));
    raw.remove_prefix(sizeof(length));
    if (length > raw.size()) return false;
    take(raw.substr(0, length));
    raw.remove_prefix(length);
  }
  return true;
}

// Empty elements take more memory here than in the message, so they are counted first.
Status take_bytes(const std::string& raw, InputTensor& tensor, InputMemory& memory) {
  size_t count = 0;
  if (!split_bytes(raw, [&](std::string_view) { ++count; })) {
    return failure(Code::invalid_argument, "input '", tensor.name,
                   "': raw_input_contents ends within an element");
  }
  memory.count(count * sizeof(std::string_view));
  tensor.elements.reserve(count);
  split_bytes(raw, [&](std::string_view element) { tensor.elements.push_back(element); });
  return {};
}

std::span<const std::byte> contents_of(const OipInput& input, ElementType type,
                                       InputMemory& memory) {
  const auto bytes_of = [](const auto& list) {
    return std::as_bytes(std::span(list.data(), static_cast<size_t>(list.size())));
  };
  const inference::InferTensorContents& contents = input.contents();
  if (type == ElementType::f32) return bytes_of(contents.fp32_contents());
  if (type == ElementType::i32) return bytes_of(contents.int_contents());
  if (type != ElementType::u8) return {};
  const auto& list = contents.uint_contents();
  std::byte* to = memory.allocate(static_cast<size_t>(list.size()));
  std::ranges::transform(list, to, [](uint32_t number) { return static_cast<std::byte>(number); });
  return {to, static_cast<size_t>(list.size())};
}

Result<InputTensor> oip_tensor(const OipInput& input, const std::string* raw, InputMemory& memory) {
  InputTensor tensor{.name = input.name()};
  const auto found = std::ranges::find(kOipTypes, input.datatype(), &OipType::name);
  if (found == std::end(kOipTypes)) {
    return failure(Code::invalid_argument, "input '", input.name(),
                   "': expected the datatype FP32, FP16, BF16, UINT8, INT32 or BYTES, got '",
                   input.datatype(), "'");
  }
  tensor.type = found->type;
  tensor.shape.assign(input.shape().begin(), input.shape().end());
  const auto count = elements_of(tensor.shape);
  if (!count || tensor.shape.size() > 8) {
    return failure(Code::invalid_argument, "input '", input.name(),
                   "': expected a shape of sizes that a request can have");
  }
  Status status;
  size_t got = 0;
  if (tensor.type == ElementType::bytes) {
    const auto& listed = input.contents().bytes_contents();
    if (raw != nullptr) {
      status = take_bytes(*raw, tensor, memory);
    } else {
      memory.count(static_cast<size_t>(listed.size()) * sizeof(std::string_view));
      tensor.elements.assign(listed.begin(), listed.end());
    }
    got = tensor.elements.size();
  } else {
    tensor.data = raw != nullptr ? std::as_bytes(std::span<const char>(*raw))
                                 : contents_of(input, tensor.type, memory);
    got = tensor.data.size() / serve::size_of(tensor.type);
    if (tensor.data.size() % serve::size_of(tensor.type) != 0) got = 0;
  }
  if (status.ok() && got != static_cast<size_t>(*count)) {
    status = failure(Code::invalid_argument, "input '", input.name(), "': expected ", *count,
                     " elements for its shape, got ", got);
  }
  if (!status.ok()) return status;
  return tensor;
}

}  // namespace

std::string_view oip_type(ElementType type) {
  return std::ranges::find(kOipTypes, type, &OipType::type)->name;
}

Result<std::vector<InputTensor>> tensors_of(const inference::ModelInferRequest& request,
                                            InputMemory& memory) {
  const bool is_raw = request.raw_input_contents_size() > 0;
  if (is_raw && request.raw_input_contents_size() != request.inputs_size()) {
    return failure(Code::invalid_argument, "expected raw_input_contents for all ",
                   request.inputs_size(), " inputs, got ", request.raw_input_contents_size());
  }
  std::vector<InputTensor> tensors;
  for (int i = 0; i < request.inputs_size(); ++i) {
    if (is_raw && request.inputs(i).has_contents()) {
      return failure(Code::invalid_argument, "input '", request.inputs(i).name(),
                     "': contents must not stand beside raw_input_contents");
    }
    auto tensor =
        oip_tensor(request.inputs(i), is_raw ? &request.raw_input_contents(i) : nullptr, memory);
    if (!tensor) return tensor.status();
    tensors.push_back(std::move(*tensor));
  }
  return tensors;
}

void write_outputs(const serve::InferResponse& response, bool raw,
                   inference::ModelInferResponse& message) {
  for (const serve::OutputTensor& output : response.outputs) {
    raw = raw || output.type == ElementType::f16 || output.type == ElementType::bf16;
  }
  for (const serve::OutputTensor& output : response.outputs) {
    auto& to = *message.add_outputs();
    to.set_name(output.name);
    to.set_datatype(std::string(oip_type(output.type)));
    to.mutable_shape()->Assign(output.shape.begin(), output.shape.end());
    const std::span<const std::byte> data = output.data;
    if (raw) {
      message.add_raw_output_contents(data.data(), data.size());
      continue;
    }
    auto& contents = *to.mutable_contents();
    const auto copy = [&](auto& list) {
      list.Resize(static_cast<int>(data.size() / serve::size_of(output.type)), {});
      std::memcpy(list.mutable_data(), data.data(), data.size());
    };
    if (output.type == ElementType::f32) copy(*contents.mutable_fp32_contents());
    if (output.type == ElementType::i32) copy(*contents.mutable_int_contents());
    if (output.type == ElementType::u8) {
      for (const std::byte byte : data) contents.add_uint_contents(static_cast<uint32_t>(byte));
    }
  }
}

}  // namespace pando::grpc
