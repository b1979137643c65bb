// What gRPC's C++, as a client, needs of the connection: large and packed messages, TLS, Unix
// sockets, many calls at once, calls that end early, reflection.
// SPDX-License-Identifier: MIT
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <thread>

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <open_inference.grpc.pb.h>
#include <reflection_v1.grpc.pb.h>
#include <tensorflow_serving.grpc.pb.h>

#include "tests/grpc/grpc_fixture.h"
#include "tests/support/expect_error.h"

namespace pando::grpc {
namespace {

using ::grpc::StatusCode;
using namespace std::chrono_literals;
namespace reflection = ::grpc::reflection::v1;

inference::ModelInferRequest samples(int64_t count) {
  inference::ModelInferRequest message;
  message.set_model_name("m");
  auto& input = *message.add_inputs();
  input.set_name("x");
  input.set_datatype("FP32");
  for (const int64_t size : {count, int64_t{4}}) input.add_shape(size);
  std::string bytes(static_cast<size_t>(count) * 4 * sizeof(float), '\0');
  const float one = 1;
  for (size_t i = 0; i < bytes.size(); i += sizeof(one)) std::memcpy(&bytes[i], &one, sizeof(one));
  message.add_raw_input_contents(std::move(bytes));
  return message;
}

::grpc::Status infer(const std::shared_ptr<::grpc::Channel>& channel, int64_t count,
                     ::grpc::ClientContext& context) {
  inference::ModelInferResponse answer;
  const auto status = inference::GRPCInferenceService::NewStub(channel)->ModelInfer(
      &context, samples(count), &answer);
  if (!status.ok()) return status;
  const std::string& bytes = answer.raw_output_contents(0);
  EXPECT_EQ(bytes.size(), static_cast<size_t>(count) * 4 * sizeof(float));
  float last = 0;
  std::memcpy(&last, bytes.data() + bytes.size() - sizeof(last), sizeof(last));
  EXPECT_EQ(last, 2);
  return status;
}

::grpc::Status infer(const std::shared_ptr<::grpc::Channel>& channel, int64_t count = 1) {
  ::grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + 60s);
  return infer(channel, count, context);
}

std::shared_ptr<::grpc::Channel> channel_to(
    const std::string& place, const std::shared_ptr<::grpc::ChannelCredentials>& credentials =
                                  ::grpc::InsecureChannelCredentials()) {
  ::grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetMaxReceiveMessageSize(-1);
  return ::grpc::CreateCustomChannel(place, credentials, arguments);
}

TEST(GrpcTransport, LargeMessagesGoBothWays) {
  SmallServer small;
  const auto channel = channel_to(small.place());
  constexpr int64_t kSamples = 1024;  // what a request may have
  EXPECT_EQ(infer(channel, kSamples).error_message(), "");
  auto message = samples(1);
  message.set_raw_input_contents(0, std::string(60 << 20, 'x'));
  ::grpc::ClientContext context;
  inference::ModelInferResponse answer;
  const auto status =
      inference::GRPCInferenceService::NewStub(channel)->ModelInfer(&context, message, &answer);
  EXPECT_SAYS(status.error_message(), "expected 4 elements", "got 15728640");
  EXPECT_TRUE(infer(channel).ok());
}

TEST(GrpcTransport, PackedMessages) {
  SmallServer small;
  for (const auto algorithm : {GRPC_COMPRESS_GZIP, GRPC_COMPRESS_DEFLATE}) {
    ::grpc::ClientContext context;
    context.set_compression_algorithm(algorithm);
    EXPECT_EQ(infer(channel_to(small.place()), 1000, context).error_message(), "");
  }
}

TEST(GrpcTransport, UnixSockets) {
  const testing_support::TempFolder folder;
  const std::string path = folder.path("grpc.sock");
  SmallServer small({.unix_socket = path});
  EXPECT_EQ(infer(channel_to("unix:" + path)).error_message(), "");
}

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(GrpcTransport, TlsWithCertificatesOfClients) {
  const testing_support::TempFolder folder;
  const auto path = [&](const std::string& name) { return folder.path(name); };
  for (const std::string name : {"server", "client"}) {
    const std::string command =
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj "
        "/CN=localhost -addext subjectAltName=DNS:localhost -keyout " +
        path(name + ".key") + " -out " + path(name + ".pem") + " 2>/dev/null";
    ASSERT_EQ(std::system(command.c_str()), 0);
  }
  ServerOptions options;
  options.tls_certificate = path("server.pem");
  options.tls_key = path("server.key");
  options.tls_client_ca = path("client.pem");
  options.unix_socket = path("socket");
  SmallServer small(options);
  EXPECT_EQ(infer(channel_to("unix:" + path("socket"))).error_message(), "");  // needs none
  const std::string place = "localhost:" + std::to_string(small.server->port());
  ::grpc::SslCredentialsOptions tls{.pem_root_certs = text_of(path("server.pem"))};
  ::grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + 10s);
  EXPECT_EQ(infer(channel_to(place, ::grpc::SslCredentials(tls)), 1, context).error_code(),
            StatusCode::UNAVAILABLE);
  tls.pem_private_key = text_of(path("client.key"));
  tls.pem_cert_chain = text_of(path("client.pem"));
  EXPECT_EQ(infer(channel_to(place, ::grpc::SslCredentials(tls)), 1024).error_message(), "");
}

TEST(GrpcTransport, ManyCallsOfOneConnection) {
  SmallServer small;
  const auto channel = channel_to(small.place());
  std::vector<std::jthread> clients;
  std::atomic<int> answered = 0;
  for (int i = 0; i < 16; ++i) {
    clients.emplace_back([&] {
      for (int k = 0; k < 50; ++k) answered += infer(channel, 1 + k % 7).ok() ? 1 : 0;
    });
  }
  clients.clear();
  EXPECT_EQ(answered, 16 * 50);
  EXPECT_EQ(small.server->open_calls(), 0);
}

TEST(GrpcTransport, CancelledCallsEnd) {
  SmallServer small;
  const auto stub = inference::GRPCInferenceService::NewStub(channel_to(small.place()));
  const auto message = samples(1024);
  for (int i = 0; i < 20; ++i) {
    ::grpc::ClientContext context;
    ::grpc::CompletionQueue queue;
    inference::ModelInferResponse answer;
    ::grpc::Status status;
    const auto call = stub->AsyncModelInfer(&context, message, &queue);
    call->Finish(&answer, &status, nullptr);
    context.TryCancel();
    void* tag = nullptr;
    bool ok = false;
    ASSERT_TRUE(queue.Next(&tag, &ok));
    EXPECT_TRUE(status.ok() || status.error_code() == StatusCode::CANCELLED);
    queue.Shutdown();
  }
  EXPECT_TRUE(infer(channel_to(small.place())).ok());
}

TEST(GrpcTransport, MessagesThatCannotBeReadAreRefused) {
  SmallServer small;
  const auto channel = channel_to(small.place());
  const auto ask = [&](const std::string& path, const std::string& bytes) {
    ::grpc::ClientContext context;
    ::grpc::CompletionQueue queue;
    ::grpc::Slice slice(bytes);
    const ::grpc::ByteBuffer request(&slice, 1);
    ::grpc::ByteBuffer answer;
    ::grpc::Status status;
    ::grpc::GenericStub stub(channel);
    const auto call = stub.PrepareUnaryCall(&context, path, request, &queue);
    call->StartCall();
    call->Finish(&answer, &status, nullptr);
    void* tag = nullptr;
    bool ok = false;
    EXPECT_TRUE(queue.Next(&tag, &ok));
    queue.Shutdown();
    return status;
  };
  const std::string predict = "/tensorflow.serving.PredictionService/Predict";
  ::grpc::Status status = ask(predict, "\xff\xff");
  EXPECT_EQ(status.error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_SAYS(status.error_message(), "tensorflow.serving.PredictRequest");
  EXPECT_SAYS(ask(predict, "").error_message(), "Missing ModelSpec");
  status = ask("/tensorflow.serving.PredictionService/Nothing", "");
  EXPECT_EQ(status.error_code(), StatusCode::UNIMPLEMENTED);
  EXPECT_SAYS(status.error_message(), "/tensorflow.serving.PredictionService/Nothing");
}

TEST(GrpcTransport, ReflectionTellsFiles) {
  SmallServer small;
  const auto stub = reflection::ServerReflection::NewStub(channel_to(small.place()));
  ::grpc::ClientContext context;
  const auto stream = stub->ServerReflectionInfo(&context);
  const auto ask = [&](const reflection::ServerReflectionRequest& request) {
    reflection::ServerReflectionResponse answer;
    EXPECT_TRUE(stream->Write(request));
    EXPECT_TRUE(stream->Read(&answer));
    return answer;
  };
  reflection::ServerReflectionRequest request;
  request.set_list_services("*");
  EXPECT_EQ(ask(request).list_services_response().service_size(), 6);
  request.set_file_containing_symbol("tensorflow.serving.PredictionService.Predict");
  auto files = ask(request).file_descriptor_response();
  EXPECT_EQ(files.file_descriptor_proto_size(), 4);  // with what it imports
  EXPECT_NE(files.file_descriptor_proto(0).find("tensorflow_serving.proto"), std::string::npos);
  request.set_file_by_filename("open_inference.proto");
  files = ask(request).file_descriptor_response();
  EXPECT_EQ(files.file_descriptor_proto_size(), 1);
  request.set_file_by_filename("google/protobuf/descriptor.proto");
  EXPECT_EQ(ask(request).error_response().error_code(), StatusCode::NOT_FOUND);
  request.set_file_containing_symbol("nothing");
  EXPECT_EQ(ask(request).error_response().error_message(), "Symbol not found.");
  request.mutable_file_containing_extension()->set_containing_type("nothing");
  EXPECT_EQ(ask(request).error_response().error_code(), StatusCode::NOT_FOUND);
  request.set_all_extension_numbers_of_type("inference.ModelInferRequest");
  EXPECT_EQ(ask(request).all_extension_numbers_response().extension_number_size(), 0);
  EXPECT_EQ(ask({}).error_response().error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_TRUE(stream->WritesDone());
  EXPECT_TRUE(stream->Finish().ok());
}

::grpc::Status predict(const std::string& place,
                       const tensorflow::serving::PredictRequest& message) {
  ::grpc::ClientContext context;
  tensorflow::serving::PredictResponse answer;
  return tensorflow::serving::PredictionService::NewStub(channel_to(place))
      ->Predict(&context, message, &answer);
}

// nghttp2 would not send long trailers, and the call would hang.
TEST(GrpcTransport, RefusalsThatRepeatLongNamesAreShort) {
  SmallServer small;
  tensorflow::serving::PredictRequest message;
  std::string name;
  for (int i = 0; i < 50'000; ++i) name += "\u00e9";
  message.mutable_model_spec()->set_name(name);
  const auto status = predict(small.place(), message);
  EXPECT_EQ(status.error_code(), StatusCode::NOT_FOUND);
  EXPECT_LE(status.error_message().size(), 1024U);
}

TEST(GrpcTransport, MoreInputsThanTheModelHasAreRefused) {
  SmallServer small;
  tensorflow::serving::PredictRequest message;
  message.mutable_model_spec()->set_name("m");
  for (const std::string input : {"x", "y", "z"}) {
    auto& tensor = (*message.mutable_inputs())[input];
    tensor.set_dtype(tensorflow::DT_FLOAT);
    tensor.mutable_tensor_shape()->add_dim()->set_size(1 << 24);
    tensor.add_float_val(1);
  }
  const auto status = predict(small.place(), message);
  EXPECT_EQ(status.error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_SAYS(status.error_message(), "1 input", "got 3");
}

TEST(GrpcTransport, MethodsForEverybodyTakeSmallMessages) {
  SmallServer small;
  const auto stub = reflection::ServerReflection::NewStub(channel_to(small.place()));
  ::grpc::ClientContext context;
  const auto stream = stub->ServerReflectionInfo(&context);
  reflection::ServerReflectionRequest request;
  request.set_file_by_filename(std::string(100'000, 'x'));
  stream->Write(request);
  reflection::ServerReflectionResponse answer;
  EXPECT_FALSE(stream->Read(&answer));
  EXPECT_EQ(stream->Finish().error_code(), StatusCode::RESOURCE_EXHAUSTED);
}

TEST(GrpcTransport, FewerConnectionsThanThreads) {
  ServerOptions options;
  options.io_threads = 4;
  options.max_connections = 1;
  SmallServer small(options);
  EXPECT_EQ(infer(channel_to(small.place())).error_message(), "");
}

}  // namespace
}  // namespace pando::grpc
