// Tensors of TensorFlow Serving's messages.
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

constexpr int kMostDims = 8;

std::optional<ElementType> type_of(tensorflow::DataType type) {
  switch (type) {
    case tensorflow::DT_FLOAT: return ElementType::f32;
    case tensorflow::DT_HALF: return ElementType::f16;
    case tensorflow::DT_BFLOAT16: return ElementType::bf16;
    case tensorflow::DT_UINT8: return ElementType::u8;
    case tensorflow::DT_INT32: return ElementType::i32;
    case tensorflow::DT_STRING: return ElementType::bytes;
    default: return std::nullopt;
  }
}

Status shape_of(const tensorflow::TensorProto& proto, InputTensor& tensor) {
  const auto& shape = proto.tensor_shape();
  if (shape.unknown_rank() || shape.dim_size() > kMostDims) {
    return failure(Code::invalid_argument, "input '", tensor.name, "': expected a shape of up to ",
                   kMostDims, " dimensions");
  }
  for (const auto& dim : shape.dim()) tensor.shape.push_back(dim.size());
  if (!elements_of(tensor.shape)) {
    return failure(Code::invalid_argument, "input '", tensor.name,
                   "': expected a shape of sizes that a request can have");
  }
  return {};
}

// Converts a list of numbers that are wider than the type of the tensor to bytes.
template <typename Number, typename List>
std::span<const std::byte> narrowed(const List& list, InputMemory& memory) {
  const auto count = static_cast<size_t>(list.size());
  std::byte* to = memory.allocate(count * sizeof(Number));
  for (size_t i = 0; i < count; ++i) {
    const auto number = static_cast<Number>(list[static_cast<int>(i)]);
    std::memcpy(to + i * sizeof(Number), &number, sizeof(Number));
  }
  return {to, count * sizeof(Number)};
}

// The numbers in the list that belongs to the type; there may be fewer than elements.
std::span<const std::byte> listed(const tensorflow::TensorProto& proto, ElementType type,
                                  InputMemory& memory) {
  switch (type) {
    case ElementType::f32:
      return std::as_bytes(
          std::span(proto.float_val().data(), static_cast<size_t>(proto.float_val_size())));
    case ElementType::i32:
      return std::as_bytes(
          std::span(proto.int_val().data(), static_cast<size_t>(proto.int_val_size())));
    case ElementType::u8: return narrowed<uint8_t>(proto.int_val(), memory);
    case ElementType::f16:
    case ElementType::bf16: return narrowed<uint16_t>(proto.half_val(), memory);
    case ElementType::bytes: break;
  }
  return {};
}

bool is_taken(const serve::Servable* servable, const InputTensor& tensor) {
  if (servable == nullptr) return true;
  const serve::TensorInfo* const info = servable->find_input(tensor.name);
  return info != nullptr && servable->takes(*info, tensor.type, tensor.shape);
}

// The last number of a list stands for all that are missing. One number may stand for a large
// tensor, so the shape is looked at before memory is taken.
Status fill(InputTensor& tensor, size_t bytes, const FillLimits& limits, InputMemory& memory) {
  if (!is_taken(limits.servable, tensor)) return {};
  if (bytes > static_cast<size_t>(limits.bytes)) {
    return failure(Code::invalid_argument, "input '", tensor.name,
                   "': a number that fills the tensor makes ", bytes, " bytes, more than the ",
                   limits.bytes, " of a request");
  }
  const size_t size = serve::size_of(tensor.type);
  const size_t given = tensor.data.size();
  std::byte* to = memory.allocate(bytes);
  std::memcpy(to, tensor.data.data(), given);
  for (size_t i = given; i < bytes; i += size) std::memcpy(to + i, to + given - size, size);
  tensor.data = {to, bytes};
  return {};
}

Status strings_of(const tensorflow::TensorProto& proto, size_t count, InputTensor& tensor,
                  InputMemory& memory) {
  const auto& values = proto.string_val();
  if (!proto.tensor_content().empty()) {
    return failure(Code::invalid_argument, "input '", tensor.name,
                   "': strings stand in string_val, not in tensor_content");
  }
  if (static_cast<size_t>(values.size()) != count) {
    return failure(Code::invalid_argument, "input '", tensor.name, "': expected ", count,
                   " elements for its shape, got ", values.size());
  }
  memory.count(count * sizeof(std::string_view));
  tensor.elements.assign(values.begin(), values.end());
  return {};
}

}  // namespace

tensorflow::DataType tf_type(ElementType type) {
  switch (type) {
    case ElementType::f32: return tensorflow::DT_FLOAT;
    case ElementType::f16: return tensorflow::DT_HALF;
    case ElementType::bf16: return tensorflow::DT_BFLOAT16;
    case ElementType::u8: return tensorflow::DT_UINT8;
    case ElementType::i32: return tensorflow::DT_INT32;
    case ElementType::bytes: return tensorflow::DT_STRING;
  }
  return tensorflow::DT_INVALID;
}

void InputMemory::count(size_t bytes) {
  if (held_ != nullptr) held_->hold(static_cast<int64_t>(bytes));
}

std::byte* InputMemory::allocate(size_t bytes) {
  count(bytes);
  return blocks_
      .emplace_back(std::make_unique_for_overwrite<std::byte[]>(std::max<size_t>(bytes, 1)))
      .get();
}

std::optional<int64_t> elements_of(const std::vector<int64_t>& shape) {
  constexpr int64_t kMost = int64_t{1} << 40;
  int64_t elements = 1;
  for (const int64_t size : shape) {
    if (size < 0 || (size > 0 && elements > kMost / size)) return std::nullopt;
    elements *= size;
  }
  return elements;
}

Result<InputTensor> tensor_of(const std::string& name, const tensorflow::TensorProto& proto,
                              const FillLimits& limits, InputMemory& memory) {
  InputTensor tensor{.name = name};
  const auto type = type_of(proto.dtype());
  if (!type) {
    return failure(Code::invalid_argument, "input '", name,
                   "': expected DT_FLOAT, DT_HALF, DT_BFLOAT16, DT_UINT8, DT_INT32 or DT_STRING, "
                   "got ",
                   tensorflow::DataType_IsValid(proto.dtype())
                       ? tensorflow::DataType_Name(proto.dtype())
                       : std::to_string(proto.dtype()));
  }
  tensor.type = *type;
  Status status = shape_of(proto, tensor);
  if (!status.ok()) return status;
  const auto count = static_cast<size_t>(*elements_of(tensor.shape));
  if (*type == ElementType::bytes) {
    status = strings_of(proto, count, tensor, memory);
    if (!status.ok()) return status;
    return tensor;
  }
  const size_t bytes = count * serve::size_of(*type);
  const std::string& content = proto.tensor_content();
  tensor.data = content.empty() ? listed(proto, *type, memory)
                                : std::as_bytes(std::span<const char>(content));
  const bool fills = content.empty() && !tensor.data.empty() && tensor.data.size() < bytes;
  if (fills) {
    status = fill(tensor, bytes, limits, memory);
  } else if (tensor.data.size() != bytes) {
    status = failure(Code::invalid_argument, "input '", name, "': expected ", bytes,
                     " bytes for its shape, got ", tensor.data.size());
  }
  if (!status.ok()) return status;
  return tensor;
}

void write_tensor(const serve::OutputTensor& output, bool as_content,
                  tensorflow::TensorProto& proto) {
  proto.set_dtype(tf_type(output.type));
  for (const int64_t size : output.shape) proto.mutable_tensor_shape()->add_dim()->set_size(size);
  const std::span<const std::byte> data = output.data;
  if (as_content) {
    proto.set_tensor_content(data.data(), data.size());
    return;
  }
  const size_t count = data.size() / std::max<size_t>(serve::size_of(output.type), 1);
  const auto copy = [&](auto& list) {
    list.Resize(static_cast<int>(count), {});
    std::memcpy(list.mutable_data(), data.data(), data.size());
  };
  const auto widen = [&]<typename Number>(Number number, auto& list) {
    list.Reserve(static_cast<int>(count));
    for (size_t i = 0; i < count; ++i) {
      std::memcpy(&number, data.data() + i * sizeof(Number), sizeof(Number));
      list.AddAlreadyReserved(number);
    }
  };
  switch (output.type) {
    case ElementType::f32: return copy(*proto.mutable_float_val());
    case ElementType::i32: return copy(*proto.mutable_int_val());
    case ElementType::u8: return widen(uint8_t{}, *proto.mutable_int_val());
    case ElementType::f16:
    case ElementType::bf16: return widen(uint16_t{}, *proto.mutable_half_val());
    case ElementType::bytes: break;
  }
}

}  // namespace pando::grpc
