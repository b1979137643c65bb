#include <cstring>
#include <limits>

#include <gtest/gtest.h>

#include "pando/grpc/tensors_impl.h"
#include "tests/support/expect_error.h"

namespace pando::grpc {
namespace {

using serve::Code;
using serve::ElementType;
using serve::InputTensor;
using serve::OutputTensor;
using tensorflow::TensorProto;

constexpr int64_t kMost = 1 << 20;

TensorProto proto_of(tensorflow::DataType type, const std::vector<int64_t>& shape) {
  TensorProto proto;
  proto.set_dtype(type);
  for (const int64_t size : shape) proto.mutable_tensor_shape()->add_dim()->set_size(size);
  return proto;
}

template <typename Number>
std::vector<Number> numbers(std::span<const std::byte> data) {
  std::vector<Number> result(data.size() / sizeof(Number));
  std::memcpy(result.data(), data.data(), data.size());
  return result;
}

template <typename Number>
std::vector<Number> numbers_in(const TensorProto& proto) {
  InputMemory memory;
  const auto tensor = tensor_of("x", proto, {.bytes = kMost}, memory);
  EXPECT_TRUE(tensor) << tensor.status().message;
  return tensor ? numbers<Number>(tensor->data) : std::vector<Number>();
}

std::string failure_of(const TensorProto& proto) {
  InputMemory memory;
  const auto tensor = tensor_of("x", proto, {.bytes = kMost}, memory);
  EXPECT_EQ(tensor.status().code, Code::invalid_argument);
  return tensor.status().message;
}

TEST(GrpcTensors, NumbersAreViewsOfTheMessage) {
  TensorProto proto = proto_of(tensorflow::DT_FLOAT, {2, 1});
  proto.add_float_val(1);
  proto.add_float_val(2);
  InputMemory memory;
  auto tensor = tensor_of("x", proto, {.bytes = kMost}, memory);
  ASSERT_TRUE(tensor);
  EXPECT_EQ(tensor->shape, (std::vector<int64_t>{2, 1}));
  EXPECT_EQ(numbers<float>(tensor->data), (std::vector<float>{1, 2}));
  EXPECT_TRUE(memory.empty());
  const float other[] = {3, 4};
  proto.clear_float_val();
  proto.set_tensor_content(other, sizeof(other));
  tensor = tensor_of("x", proto, {.bytes = kMost}, memory);
  ASSERT_TRUE(tensor);
  EXPECT_EQ(numbers<float>(tensor->data), (std::vector<float>{3, 4}));
  EXPECT_TRUE(memory.empty());
}

TEST(GrpcTensors, TheLastNumberFillsTheRest) {
  TensorProto proto = proto_of(tensorflow::DT_FLOAT, {2, 2});
  proto.add_float_val(7);
  EXPECT_EQ(numbers_in<float>(proto), (std::vector<float>{7, 7, 7, 7}));
  proto.add_float_val(8);
  EXPECT_EQ(numbers_in<float>(proto), (std::vector<float>{7, 8, 8, 8}));
  proto.mutable_tensor_shape()->mutable_dim(0)->set_size(kMost);
  EXPECT_SAYS(failure_of(proto), "more than the 1048576");
}

TEST(GrpcTensors, NarrowNumbersComeInWiderLists) {
  TensorProto proto = proto_of(tensorflow::DT_UINT8, {3});
  for (const int value : {0, 128, 255}) proto.add_int_val(value);
  EXPECT_EQ(numbers_in<uint8_t>(proto), (std::vector<uint8_t>{0, 128, 255}));
  proto = proto_of(tensorflow::DT_HALF, {2});
  for (const int value : {0x3c00, 0xbc00}) proto.add_half_val(value);
  EXPECT_EQ(numbers_in<uint16_t>(proto), (std::vector<uint16_t>{0x3c00, 0xbc00}));
  proto.set_dtype(tensorflow::DT_BFLOAT16);
  EXPECT_EQ(numbers_in<uint16_t>(proto), (std::vector<uint16_t>{0x3c00, 0xbc00}));
  proto = proto_of(tensorflow::DT_INT32, {1});
  proto.add_int_val(-5);
  EXPECT_EQ(numbers_in<int32_t>(proto), std::vector<int32_t>{-5});
}

TEST(GrpcTensors, StringsArePictures) {
  TensorProto proto = proto_of(tensorflow::DT_STRING, {2});
  proto.add_string_val("abc");
  EXPECT_SAYS(failure_of(proto), "expected 2 elements", "got 1");
  proto.add_string_val("d");
  InputMemory memory;
  const auto tensor = tensor_of("x", proto, {.bytes = kMost}, memory);
  ASSERT_TRUE(tensor);
  EXPECT_EQ(tensor->type, ElementType::bytes);
  EXPECT_EQ(tensor->elements, (std::vector<std::string_view>{"abc", "d"}));
  proto.set_tensor_content("abc");
  EXPECT_SAYS(failure_of(proto), "string_val");
}

TEST(GrpcTensors, WrongMessagesSayWhy) {
  EXPECT_SAYS(failure_of(proto_of(tensorflow::DT_DOUBLE, {1})), "input 'x'", "DT_DOUBLE");
  EXPECT_SAYS(failure_of(proto_of(static_cast<tensorflow::DataType>(99), {1})), "99");
  EXPECT_SAYS(failure_of(proto_of(tensorflow::DT_FLOAT, {-1})), "sizes");
  const int64_t large = std::numeric_limits<int64_t>::max();
  EXPECT_SAYS(failure_of(proto_of(tensorflow::DT_FLOAT, {large, large})), "sizes");
  EXPECT_SAYS(failure_of(proto_of(tensorflow::DT_FLOAT, std::vector<int64_t>(9, 1))), "8");
  TensorProto proto = proto_of(tensorflow::DT_FLOAT, {2});
  EXPECT_SAYS(failure_of(proto), "expected 8 bytes", "got 0");
  proto.set_tensor_content("abc");
  EXPECT_SAYS(failure_of(proto), "expected 8 bytes", "got 3");
  proto.mutable_tensor_shape()->set_unknown_rank(true);
  EXPECT_SAYS(failure_of(proto), "shape");
}

TEST(GrpcTensors, AnswersAreBytesOrNumbers) {
  const float values[] = {1, 2};
  const OutputTensor output{.name = "y",
                            .type = ElementType::f32,
                            .shape = {1, 2},
                            .data = std::as_bytes(std::span(values))};
  TensorProto proto;
  write_tensor(output, true, proto);
  EXPECT_EQ(proto.tensor_content(), std::string(reinterpret_cast<const char*>(values), 8));
  EXPECT_EQ(proto.float_val_size(), 0);
  EXPECT_EQ(proto.tensor_shape().dim(1).size(), 2);
  for (const auto type :
       {ElementType::f32, ElementType::i32, ElementType::u8, ElementType::f16, ElementType::bf16}) {
    OutputTensor other = output;
    other.type = type;
    other.shape = {static_cast<int64_t>(other.data.size() / serve::size_of(type))};
    TensorProto listed;
    write_tensor(other, false, listed);
    EXPECT_EQ(listed.dtype(), tf_type(type));
    EXPECT_EQ(numbers_in<uint8_t>(listed), numbers<uint8_t>(other.data));
  }
}

inference::ModelInferRequest oip_request(const std::string& type,
                                         const std::vector<int64_t>& shape) {
  inference::ModelInferRequest request;
  auto& input = *request.add_inputs();
  input.set_name("x");
  input.set_datatype(type);
  for (const int64_t size : shape) input.add_shape(size);
  return request;
}

std::string oip_failure(const inference::ModelInferRequest& request) {
  InputMemory memory;
  const auto tensors = tensors_of(request, memory);
  EXPECT_EQ(tensors.status().code, Code::invalid_argument);
  return tensors.status().message;
}

TEST(GrpcTensors, OpenInferenceContentsAndRawBytes) {
  InputMemory memory;
  auto request = oip_request("FP32", {2});
  request.mutable_inputs(0)->mutable_contents()->add_fp32_contents(1);
  EXPECT_SAYS(oip_failure(request), "expected 2 elements", "got 1");
  request.mutable_inputs(0)->mutable_contents()->add_fp32_contents(2);
  auto tensors = tensors_of(request, memory);
  ASSERT_TRUE(tensors);
  EXPECT_EQ(numbers<float>((*tensors)[0].data), (std::vector<float>{1, 2}));
  const std::string raw(8, '\0');
  request.add_raw_input_contents(raw);
  EXPECT_SAYS(oip_failure(request), "beside raw_input_contents");
  request.mutable_inputs(0)->clear_contents();
  tensors = tensors_of(request, memory);
  ASSERT_TRUE(tensors);
  EXPECT_EQ(numbers<float>((*tensors)[0].data), (std::vector<float>{0, 0}));
  request.set_raw_input_contents(0, "abcde");
  EXPECT_SAYS(oip_failure(request), "got 0");
  request.add_raw_input_contents(raw);
  EXPECT_SAYS(oip_failure(request), "all 1 inputs", "got 2");
  EXPECT_SAYS(oip_failure(oip_request("FP64", {1})), "FP64");
  EXPECT_SAYS(oip_failure(oip_request("FP32", {-1})), "sizes");
  request = oip_request("UINT8", {2});
  for (const uint32_t value : {1U, 255U}) {
    request.mutable_inputs(0)->mutable_contents()->add_uint_contents(value);
  }
  tensors = tensors_of(request, memory);
  ASSERT_TRUE(tensors);
  EXPECT_EQ(numbers<uint8_t>((*tensors)[0].data), (std::vector<uint8_t>{1, 255}));
}

TEST(GrpcTensors, OpenInferencePictures) {
  InputMemory memory;
  auto request = oip_request("BYTES", {2});
  using namespace std::string_literals;
  request.add_raw_input_contents("\x03\0\0\0abc\x01\0\0\0d"s);
  auto tensors = tensors_of(request, memory);
  ASSERT_TRUE(tensors);
  EXPECT_EQ((*tensors)[0].elements, (std::vector<std::string_view>{"abc", "d"}));
  request.set_raw_input_contents(0, "\x03\0\0\0abc\xff\0\0\0d"s);
  EXPECT_SAYS(oip_failure(request), "ends within an element");
  request.set_raw_input_contents(0, "\x03\0\0\0abc\x01"s);
  EXPECT_SAYS(oip_failure(request), "ends within an element");
  request.clear_raw_input_contents();
  request.mutable_inputs(0)->mutable_contents()->add_bytes_contents("e");
  request.mutable_inputs(0)->mutable_contents()->add_bytes_contents("");
  tensors = tensors_of(request, memory);
  ASSERT_TRUE(tensors);
  EXPECT_EQ((*tensors)[0].elements, (std::vector<std::string_view>{"e", ""}));
}

TEST(GrpcTensors, OpenInferenceAnswers) {
  const float values[] = {1, 2};
  serve::InferResponse response;
  response.outputs = {{.name = "y",
                       .type = ElementType::f32,
                       .shape = {2},
                       .data = std::as_bytes(std::span(values))}};
  inference::ModelInferResponse listed;
  write_outputs(response, false, listed);
  EXPECT_EQ(listed.outputs(0).contents().fp32_contents(1), 2);
  EXPECT_EQ(listed.raw_output_contents_size(), 0);
  inference::ModelInferResponse raw;
  response.outputs[0].type = ElementType::f16;
  write_outputs(response, false, raw);
  EXPECT_EQ(raw.outputs(0).datatype(), "FP16");
  EXPECT_FALSE(raw.outputs(0).has_contents());
  EXPECT_EQ(raw.raw_output_contents(0).size(), 8U);
}

}  // namespace
}  // namespace pando::grpc
