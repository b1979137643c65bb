// SPDX-License-Identifier: MIT
#include "pando/rest/json_input.h"

#include <algorithm>
#include <cmath>

#include "pando/base/error.h"
#include "pando/tensor/tensor.h"

namespace pando::rest {
namespace {

using serve::ElementType;

bool are_pixels(const std::vector<float>& values) {
  return std::ranges::all_of(
      values, [](float value) { return value >= 0 && value <= 255 && value == std::trunc(value); });
}

template <typename T>
std::span<const std::byte> bytes_of(const std::vector<T>& values) {
  return std::as_bytes(std::span(values));
}

std::span<const std::byte> keep_pixels(const std::vector<float>& values, InputMemory& memory) {
  std::vector<std::byte>& pixels = memory.raw.emplace_back(values.size());
  std::ranges::transform(values, pixels.begin(), [](float value) {
    return static_cast<std::byte>(static_cast<uint8_t>(value));
  });
  return pixels;
}

std::span<const std::byte> keep_halves(const std::vector<float>& values, DType dtype,
                                       InputMemory& memory) {
  const Tensor halves =
      cast(Tensor({static_cast<int64_t>(values.size())}, std::span<const float>(values)), dtype);
  return memory.raw.emplace_back(halves.data(), halves.data() + halves.bytes());
}

wire::TensorLimits limits_of(const serve::Servable& servable, const serve::TensorInfo& input) {
  wire::TensorLimits limits;
  const int64_t sample = std::max<int64_t>(1, sample_elements(input.shape));
  const int64_t samples = std::max<int64_t>(1, servable.max_request_samples());
  // Pictures may come as pixels, which the signature does not describe.
  const auto pixels = servable.accepted_shape(input, ElementType::u8);
  const int64_t wider = pixels ? std::max(sample, sample_elements(*pixels)) : sample;
  // Accepts one sample too many, so that the model server reports a batch that is too large.
  limits.elements = std::min(limits.elements, wider * (samples + 1));
  limits.strings = std::min(limits.strings, samples + 1);  // a picture is one sample
  return limits;
}

}  // namespace

int64_t sample_elements(const std::vector<int64_t>& shape) {
  int64_t elements = 1;
  for (size_t i = 1; i < shape.size(); ++i) elements *= std::max<int64_t>(0, shape[i]);
  return elements;
}

JsonInput::JsonInput(const serve::Servable& servable, const serve::TensorInfo& input)
    : servable_(servable),
      input_(input),
      builder_(input.type == ElementType::i32 ? wire::TensorBuilder::Numbers::i32
                                              : wire::TensorBuilder::Numbers::f32,
               limits_of(servable, input)) {
  const auto pixels = servable.accepted_shape(input, ElementType::u8);
  sample_ = pixels ? *pixels : input.shape;
  if (!sample_.empty()) sample_.erase(sample_.begin());
  builder_.expect(sample_);
}

serve::InputTensor JsonInput::finish(bool in_rows, InputMemory& memory) {
  serve::InputTensor tensor;
  tensor.name = input_.name;
  if (in_rows) tensor.shape.push_back(builder_.values());
  tensor.shape.insert(tensor.shape.end(), builder_.shape().begin(), builder_.shape().end());
  if (builder_.has_bytes()) {
    tensor.type = ElementType::bytes;
  } else {
    tensor.type = input_.type;
    if (tensor.type == ElementType::bytes) {
      const bool pixels = servable_.accepted_shape(input_, ElementType::u8).has_value() &&
                          are_pixels(builder_.f32());
      tensor.type = pixels ? ElementType::u8 : ElementType::f32;
    }
  }
  set_from_numbers(tensor, builder_, memory);
  return tensor;
}

void set_from_numbers(serve::InputTensor& tensor, wire::TensorBuilder& builder,
                      InputMemory& memory) {
  if (builder.has_bytes() != (tensor.type == ElementType::bytes)) {
    throw InvalidArgument("input '", tensor.name, "': expected ",
                          builder.has_bytes() ? "numbers, got bytes" : "bytes, got numbers");
  }
  switch (tensor.type) {
    case ElementType::bytes:
      for (const std::string& element : memory.bytes.emplace_back(std::move(builder.bytes()))) {
        tensor.elements.push_back(element);
      }
      break;
    case ElementType::i32:
      tensor.data = bytes_of(memory.i32.emplace_back(std::move(builder.i32())));
      break;
    case ElementType::f32:
      tensor.data = bytes_of(memory.f32.emplace_back(std::move(builder.f32())));
      break;
    case ElementType::u8:
      if (!are_pixels(builder.f32())) {
        throw InvalidArgument("input '", tensor.name,
                              "': expected whole numbers from 0 to 255, got others");
      }
      tensor.data = keep_pixels(builder.f32(), memory);
      break;
    case ElementType::f16: tensor.data = keep_halves(builder.f32(), DType::f16, memory); break;
    case ElementType::bf16: tensor.data = keep_halves(builder.f32(), DType::bf16, memory); break;
  }
}

}  // namespace pando::rest
