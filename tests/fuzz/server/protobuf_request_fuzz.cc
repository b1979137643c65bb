// Reads any bytes as a message of a client over gRPC; the first byte says which. Tensors of it are
// asked of a small model, which must answer or say what is wrong with them. Numbers that were read
// are written as an answer and read again: expects the same bytes.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstring>

#include <tensorflow_serving.pb.h>

#include "pando/base/error.h"
#include "pando/grpc/tensors_impl.h"
#include "tests/fuzz/server/served_model.h"
#include "tests/fuzz/targets.h"

namespace pando::fuzz {
namespace {

using serve::InferRequest;
using serve::InputTensor;

constexpr int64_t kMostBytes = 1 << 20;

std::shared_ptr<const serve::Servable> model() {
  static const auto found = served_model().server().find({.name = "m"});
  return *found;
}

void ask(std::vector<InputTensor> inputs) {
  InferRequest request{.servable = model()};
  request.inputs = std::move(inputs);
  const auto answer = served_model().server().infer(std::move(request));
  const serve::Code code = answer.status().code;
  PANDO_CHECK(
      answer || code == serve::Code::invalid_argument || code == serve::Code::resource_exhausted,
      "code ", static_cast<int>(code), ": ", answer.status().message);
}

// Only tensors with as many bytes as their shape says can be answers.
bool is_whole(const InputTensor& tensor) {
  const auto elements = grpc::elements_of(tensor.shape);
  return elements && !tensor.data.empty() &&
         tensor.data.size() == static_cast<size_t>(*elements) * serve::size_of(tensor.type);
}

void check_again(const InputTensor& tensor) {
  if (!is_whole(tensor)) return;
  const serve::OutputTensor output{
      .name = "y", .type = tensor.type, .shape = tensor.shape, .data = tensor.data};
  for (const bool as_content : {false, true}) {
    tensorflow::TensorProto proto;
    grpc::write_tensor(output, as_content, proto);
    grpc::InputMemory memory;
    const auto again = grpc::tensor_of("y", proto, {.bytes = kMostBytes}, memory);
    PANDO_CHECK(again && std::ranges::equal(again->data, tensor.data), "another tensor");
  }
}

void predict(Input bytes) {
  tensorflow::serving::PredictRequest message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return;
  grpc::InputMemory memory;
  std::vector<InputTensor> tensors;
  for (const auto& [name, proto] : message.inputs()) {
    auto tensor = grpc::tensor_of(name, proto, {.bytes = kMostBytes}, memory);
    if (!tensor) return;
    check_again(*tensor);
    tensors.push_back(std::move(*tensor));
  }
  ask(std::move(tensors));
}

void classify(Input bytes) {
  tensorflow::serving::ClassificationRequest message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return;
  grpc::InputMemory memory;
  const auto& shared = message.input().example_list_with_context();
  const bool has_context = message.input().has_example_list_with_context();
  auto tensors =
      grpc::tensors_of(has_context ? shared.examples() : message.input().example_list().examples(),
                       has_context ? &shared.context() : nullptr, *model(), memory);
  if (tensors) ask(std::move(*tensors));
}

void infer(Input bytes) {
  inference::ModelInferRequest message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return;
  grpc::InputMemory memory;
  auto tensors = grpc::tensors_of(message, memory);
  if (tensors) ask(std::move(*tensors));
}

}  // namespace

void protobuf_request(Input input) {
  if (input.empty()) return;
  const Input message = input.subspan(1);
  switch (input[0] % 3) {
    case 0: return predict(message);
    case 1: return classify(message);
    default: return infer(message);
  }
}

}  // namespace pando::fuzz
