// Requests that would take much memory, or keep it.
// SPDX-License-Identifier: MIT
#include <fstream>
#include <mutex>

#include <gtest/gtest.h>
#include <open_inference.pb.h>
#include <tensorflow_serving.pb.h>

#include "pando/base/strings.h"
#include "pando/grpc/framing_impl.h"
#include "pando/http/compress.h"
#include "pando/http/h2_client.h"
#include "tests/grpc/grpc_fixture.h"
#include "tests/http/h2_client.h"
#include "tests/support/expect_error.h"

namespace pando::grpc {
namespace {

using http::H2Client;
using http::H2Frame;
namespace tfs = tensorflow::serving;

const std::string kPredict = "/tensorflow.serving.PredictionService/Predict";
const std::string kClassify = "/tensorflow.serving.PredictionService/Classify";
const std::string kInfer = "/inference.GRPCInferenceService/ModelInfer";

std::string message_frame(const std::string& bytes, bool is_packed = false) {
  std::string frame(kPrefixBytes, '\0');
  write_prefix(frame.data(), static_cast<uint32_t>(bytes.size()));
  frame[0] = is_packed ? 1 : 0;
  return frame + bytes;
}

// One number that stands for a tensor of this shape.
std::string predict_message(std::vector<int64_t> shape) {
  tfs::PredictRequest message;
  message.mutable_model_spec()->set_name("m");
  auto& tensor = (*message.mutable_inputs())["x"];
  tensor.set_dtype(tensorflow::DT_FLOAT);
  for (const int64_t size : shape) tensor.mutable_tensor_shape()->add_dim()->set_size(size);
  tensor.add_float_val(3);
  return message_frame(message.SerializeAsString());
}

// The frames of a whole call.
std::string call_frames(uint32_t stream, const std::string& path, const std::string& message) {
  return H2Client::call_frame(stream, path) +
         H2Client::frame(H2Frame::data, H2Frame::kEnd, stream, message);
}

http::CallAnswer ask(const SmallServer& small, const std::string& path, const std::string& message,
                     std::vector<http::Header> headers = {}) {
  headers.push_back({"content-type", "application/grpc"});
  http::CallClient client("127.0.0.1", small.server->port());
  return client.call(path, headers, message, http::Clock::now() + std::chrono::minutes(1));
}

std::string header_of(const http::CallAnswer& answer, std::string_view name) {
  const std::string* const value = answer.header(name);
  return value == nullptr ? "" : *value;
}

int64_t kilobytes_of(const std::string& key) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(key + ":")) return std::stoll(line.substr(key.size() + 1));
  }
  return 0;
}

// The most memory that the process had since the construction, beyond what it had then.
class PeakMemory {
 public:
  PeakMemory() {
    std::ofstream("/proc/self/clear_refs") << "5";
    begin_ = kilobytes_of("VmRSS");
  }
  int64_t megabytes() const { return (kilobytes_of("VmHWM") - begin_) >> 10; }

 private:
  int64_t begin_ = 0;
};

TEST(GrpcLimits, NumbersThatStandForWrongTensorsTakeNoMemory) {
  ServerOptions options;
  options.max_message_bytes = 2 << 20;
  const SmallServer small(options);
  // As large as a message may be, but the model takes four numbers of 1024 samples at most.
  for (const std::vector<int64_t>& shape : {std::vector<int64_t>{1 << 17, 4}, {4, 1 << 17}}) {
    const std::string message = predict_message(shape);
    std::string frames;
    constexpr uint32_t kCalls = 500;
    for (uint32_t i = 0; i < kCalls; ++i) frames += call_frames(2 * i + 1, kPredict, message);
    const PeakMemory peak;
    H2Client client(small.server->port());
    client.raw().send(frames);
    for (uint32_t i = 0; i < kCalls; ++i) {
      const H2Frame frame = client.receive();
      ASSERT_EQ(frame.type, H2Frame::headers);
      ASSERT_EQ(client.headers_of(frame)[3],
                (std::pair<std::string, std::string>("grpc-status", "3")));
    }
    EXPECT_LT(peak.megabytes(), 100);
  }
  EXPECT_EQ(header_of(ask(small, kPredict, predict_message({1024, 4})), "grpc-status"), "0");
}

TEST(GrpcLimits, ShapesAreRefusedByWhatIsWrongWithThem) {
  const SmallServer small;
  const auto message_of = [&](std::vector<int64_t> shape) {
    return header_of(ask(small, kPredict, predict_message(std::move(shape))), "grpc-message");
  };
  EXPECT_SAYS(message_of({1025, 4}), "1025 samples", "at most 1024");
  EXPECT_SAYS(message_of({1 << 20, 5}), "expected the shape");
  EXPECT_SAYS(message_of({4}), "expected the shape");
}

// Examples may share features by a context, so a small message may ask for much.
TEST(GrpcLimits, ExamplesThatShareMuchTakeNoMemory) {
  const SmallServer small;
  tfs::ClassificationRequest message;
  message.mutable_model_spec()->set_name("m");
  auto& list = *message.mutable_input()->mutable_example_list_with_context();
  auto& shared =
      *(*list.mutable_context()->mutable_features()->mutable_feature())["x"].mutable_float_list();
  for (int i = 0; i < 1 << 20; ++i) shared.add_value(1);
  for (int i = 0; i < 200; ++i) list.add_examples();
  const std::string bytes = message_frame(message.SerializeAsString());
  const PeakMemory peak;
  const http::CallAnswer answer = ask(small, kClassify, bytes);
  EXPECT_EQ(header_of(answer, "grpc-status"), "3");
  EXPECT_SAYS(header_of(answer, "grpc-message"), "expected 800 elements", "got 209715200");
  EXPECT_LT(peak.megabytes(), 100);
}

TEST(GrpcLimits, WholeMessagesCountUntilTheyAreAnswered) {
  ServerOptions options;
  options.max_held_bytes = 7 << 18;  // two and a half messages; one is held twice while it is read
  const SmallServer small(options);
  inference::ModelInferRequest message;
  message.set_model_name("m");
  message.set_id(std::string(700'000, 'x'));  // within the window of a stream
  const std::string large = message_frame(message.SerializeAsString());
  H2Client first(small.server->port());
  first.call(1, kInfer);
  for (size_t place = 0; place < large.size(); place += 16'384) {
    first.send(H2Frame::data, 0, 1, std::string_view(large).substr(place, 16'384));
  }
  // The first one holds it until its client says that this is all.
  std::string status;
  for (int i = 0; i < 200 && status != "8"; ++i) {
    const http::CallAnswer answer = ask(small, kInfer, large);
    status = header_of(answer, "grpc-status");
    EXPECT_TRUE(status == "3" || status == "8") << status;
    const std::string text = header_of(answer, "grpc-message");
    EXPECT_SAYS(text, status == "8" ? "too many large requests" : "");
  }
  EXPECT_EQ(status, "8");
  first.send(H2Frame::data, H2Frame::kEnd, 1, "");
  EXPECT_EQ(first.receive().type, H2Frame::headers);
  EXPECT_EQ(header_of(ask(small, kInfer, large), "grpc-status"), "3");  // no inputs
}

// Each empty input of two bytes takes a hundred in memory.
TEST(GrpcLimits, WhatMessagesBecomeCountsToo) {
  ServerOptions options;
  options.max_held_bytes = 20 << 20;
  const SmallServer small(options);
  std::string bytes = inference::ModelInferRequest().SerializeAsString();
  for (int i = 0; i < 2 << 20; ++i) bytes += std::string("\x2a\0", 2);  // inputs { }
  const PeakMemory peak;
  const http::CallAnswer answer = ask(small, kInfer, message_frame(bytes));
  EXPECT_EQ(header_of(answer, "grpc-status"), "8");
  EXPECT_LT(peak.megabytes(), 60);
  EXPECT_EQ(header_of(ask(small, kPredict, predict_message({1, 4})), "grpc-status"), "0");
}

// What the model holds of a request goes when it is answered, not when the client has taken it.
TEST(GrpcLimits, AnswersThatWaitHoldNoRequests) {
  ServerOptions options;
  options.max_held_bytes = 300 << 10;
  const SmallServer small(options);
  inference::ModelInferRequest message;
  message.set_model_name("m");
  auto& input = *message.add_inputs();
  input.set_name("x");
  input.set_datatype("FP32");
  for (const int64_t size : {1024, 4}) input.add_shape(size);
  message.add_raw_input_contents(std::string(1024 * 4 * 4, '\0'));
  const std::string bytes = message_frame(message.SerializeAsString());
  H2Client client(small.server->port());
  client.send(H2Frame::settings, 0, 0, http::setting_bytes(http::kInitialWindow, 0));
  for (uint32_t stream = 1; stream < 101; stream += 2) {
    client.call(stream, kInfer);
    client.send(H2Frame::data, 0, stream, std::string_view(bytes).substr(0, 16'384));
    client.send(H2Frame::data, H2Frame::kEnd, stream, std::string_view(bytes).substr(16'384));
    const H2Frame frame = client.receive();
    ASSERT_EQ(frame.type, H2Frame::headers);
    ASSERT_EQ(frame.flags, H2Frame::kEndOfHead);  // the answer follows, when it may
    client.headers_of(frame);
  }
}

TEST(GrpcLimits, MessagesThatUnpackToMuchAreRefused) {
  const SmallServer small;
  const auto status_of = [&](const std::string& bytes) {
    const std::string packed = http::gzip(bytes).value();
    return header_of(ask(small, kInfer, message_frame(packed, true), {{"grpc-encoding", "gzip"}}),
                     "grpc-status");
  };
  inference::ModelInferRequest message;
  message.set_model_name("m");
  for (int i = 0; i < 10'000; ++i) *message.mutable_id() += std::to_string(i * 7919 % 10'007);
  EXPECT_EQ(status_of(message.SerializeAsString()), "3");  // no inputs
  message.set_id(std::string(8 << 20, 'x'));
  EXPECT_EQ(status_of(message.SerializeAsString()), "3");  // not much
  message.set_id(std::string(20 << 20, 'x'));
  EXPECT_EQ(status_of(message.SerializeAsString()), "8");
}

TEST(GrpcLimits, TokensAreReadAsThoseOfHttp) {
  ServerOptions options;
  options.token = "s3cret";
  const SmallServer small(options);
  const auto status_of = [&](const std::string& authorization) {
    return header_of(
        ask(small, kPredict, predict_message({1, 4}), {{"authorization", authorization}}),
        "grpc-status");
  };
  EXPECT_EQ(status_of("Bearer s3cret"), "0");
  EXPECT_EQ(status_of("bearer s3cret"), "0");
  EXPECT_EQ(status_of("Bearer other"), "16");
  EXPECT_EQ(status_of("s3cret"), "16");
  EXPECT_EQ(status_of(""), "16");
}

TEST(GrpcLimits, CallsAreLogged) {
  std::mutex mutex;
  std::vector<std::string> lines;
  ServerOptions options;
  options.access_log = [&](const http::AccessRecord& record) {
    const std::lock_guard lock(mutex);
    lines.push_back(concat(record.method, " ", record.target, " ", record.status, " ",
                           record.outcome, " ", record.request_bytes > 0, " ",
                           record.response_bytes > 0, " ", record.agent));
  };
  {
    const SmallServer small(options);
    ask(small, kPredict, predict_message({1, 4}), {{"user-agent", "test"}});
    ask(small, kPredict, predict_message({4}));
    ask(small, "/nothing", "");
  }
  EXPECT_EQ(lines, (std::vector<std::string>{concat("POST ", kPredict, " 200 0 1 1 test"),
                                             concat("POST ", kPredict, " 200 3 1 0 "),
                                             "POST /nothing 200 12 0 0 "}));
}

}  // namespace
}  // namespace pando::grpc
