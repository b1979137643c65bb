#include "pando/grpc/server.h"

#include <deque>
#include <thread>

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <health.grpc.pb.h>
#include <open_inference.grpc.pb.h>
#include <tensorflow_serving.grpc.pb.h>

#include "tests/grpc/grpc_fixture.h"
#include "tests/support/expect_error.h"

namespace pando::grpc {
namespace {

namespace tfs = tensorflow::serving;
using ::grpc::StatusCode;
using namespace std::chrono_literals;

struct GrpcServer : testing::Test {
  std::shared_ptr<::grpc::Channel> channel() const {
    ::grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    return ::grpc::CreateCustomChannel(small.place(), ::grpc::InsecureChannelCredentials(),
                                       arguments);
  }
  tfs::PredictRequest request(float number = 3) const {
    tfs::PredictRequest message;
    message.mutable_model_spec()->set_name("m");
    auto& tensor = (*message.mutable_inputs())["x"];
    tensor.set_dtype(tensorflow::DT_FLOAT);
    tensor.mutable_tensor_shape()->add_dim()->set_size(1);
    tensor.mutable_tensor_shape()->add_dim()->set_size(4);
    tensor.add_float_val(number);
    return message;
  }
  ::grpc::Status predict(const tfs::PredictRequest& message) {
    ::grpc::ClientContext context;
    answer.Clear();
    return tfs::PredictionService::NewStub(channel())->Predict(&context, message, &answer);
  }
  SmallServer small;
  tfs::PredictResponse answer;
};

TEST_F(GrpcServer, Predicts) {
  tfs::PredictRequest message = request();
  ASSERT_TRUE(predict(message).ok());
  ASSERT_EQ(answer.outputs_size(), 1);
  const auto& listed = answer.outputs().begin()->second;
  EXPECT_EQ(std::vector<float>(listed.float_val().begin(), listed.float_val().end()),
            std::vector<float>(4, 6));
  EXPECT_EQ(answer.model_spec().version().value(), 3);
  EXPECT_EQ(answer.model_spec().signature_name(), "serving_default");
  const float values[] = {1, 2, 3, 4};
  auto& tensor = message.mutable_inputs()->begin()->second;
  tensor.clear_float_val();
  tensor.set_tensor_content(values, sizeof(values));
  ASSERT_TRUE(predict(message).ok());
  const auto& content = answer.outputs().begin()->second;
  EXPECT_EQ(content.float_val_size(), 0);
  float got[4];
  ASSERT_EQ(content.tensor_content().size(), sizeof(got));
  std::memcpy(got, content.tensor_content().data(), sizeof(got));
  EXPECT_EQ(got[3], 8);
}

TEST_F(GrpcServer, FailuresHaveTheirCodes) {
  tfs::PredictRequest message = request();
  message.mutable_model_spec()->set_name("n");
  ::grpc::Status status = predict(message);
  EXPECT_EQ(status.error_code(), StatusCode::NOT_FOUND);
  EXPECT_SAYS(status.error_message(), "Servable not found for request: Latest(n)");
  message.mutable_model_spec()->clear_name();
  EXPECT_SAYS(predict(message).error_message(), "Missing ModelSpec");
  message = request();
  message.mutable_model_spec()->set_signature_name("q");
  EXPECT_SAYS(predict(message).error_message(), "\"q\" not found in signature def");
  message = request();
  message.mutable_model_spec()->mutable_version()->set_value(9);
  EXPECT_SAYS(predict(message).error_message(), "Specific(m, 9)");
  message = request();
  message.mutable_inputs()->begin()->second.set_dtype(tensorflow::DT_INT64);
  status = predict(message);
  EXPECT_EQ(status.error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_SAYS(status.error_message(), "DT_INT64");
  message = request();
  message.add_output_filter("q");
  EXPECT_SAYS(predict(message).error_message(), "output 'q'");
  ::grpc::ClientContext context;
  tfs::MultiInferenceResponse none;
  EXPECT_EQ(
      tfs::PredictionService::NewStub(channel())->MultiInference(&context, {}, &none).error_code(),
      StatusCode::UNIMPLEMENTED);
}

TEST_F(GrpcServer, LateCallsEnd) {
  ::grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() - 1s);
  const auto status =
      tfs::PredictionService::NewStub(channel())->Predict(&context, request(), &answer);
  EXPECT_EQ(status.error_code(), StatusCode::DEADLINE_EXCEEDED);
}

TEST_F(GrpcServer, ClassifiesAndRegressesExamples) {
  const auto stub = tfs::PredictionService::NewStub(channel());
  tfs::ClassificationRequest message;
  message.mutable_model_spec()->set_name("m");
  tfs::ClassificationResponse classes;
  {
    ::grpc::ClientContext context;
    EXPECT_SAYS(stub->Classify(&context, message, &classes).error_message(), "Input is empty");
  }
  auto& example = *message.mutable_input()->mutable_example_list()->add_examples();
  auto& feature = (*example.mutable_features()->mutable_feature())["any"];
  for (const float number : {1.F, 2.F, 3.F, 4.F}) {
    feature.mutable_float_list()->add_value(number);
  }
  ::grpc::ClientContext context;
  ASSERT_TRUE(stub->Classify(&context, message, &classes).ok());
  ASSERT_EQ(classes.result().classifications_size(), 1);
  const auto& sample = classes.result().classifications(0);
  ASSERT_EQ(sample.classes_size(), 4);
  EXPECT_EQ(sample.classes(2).label(), "2");
  EXPECT_EQ(sample.classes(2).score(), 6);
  ::grpc::ClientContext other;
  tfs::RegressionRequest regress;
  *regress.mutable_model_spec() = message.model_spec();
  *regress.mutable_input() = message.input();
  tfs::RegressionResponse values;
  EXPECT_SAYS(stub->Regress(&other, regress, &values).error_message(), "use Predict");
}

TEST_F(GrpcServer, TellsMetadataAndStates) {
  const auto stub = tfs::PredictionService::NewStub(channel());
  tfs::GetModelMetadataRequest message;
  message.mutable_model_spec()->set_name("m");
  tfs::GetModelMetadataResponse metadata;
  const auto ask = [&] {
    ::grpc::ClientContext context;
    return stub->GetModelMetadata(&context, message, &metadata);
  };
  EXPECT_SAYS(ask().error_message(), "at least one metadata_field");
  message.add_metadata_field("signature_def");
  ASSERT_TRUE(ask().ok());
  tfs::SignatureDefMap map;
  ASSERT_TRUE(metadata.metadata().at("signature_def").UnpackTo(&map));
  const auto& input = map.signature_def().at("serving_default").inputs().begin()->second;
  EXPECT_EQ(input.dtype(), tensorflow::DT_FLOAT);
  EXPECT_EQ(input.tensor_shape().dim(0).size(), -1);
  message.add_metadata_field("other");
  EXPECT_SAYS(ask().error_message(), "other is not supported");

  const auto models = tfs::ModelService::NewStub(channel());
  tfs::GetModelStatusRequest which;
  tfs::GetModelStatusResponse states;
  which.mutable_model_spec()->set_name("m");
  ::grpc::ClientContext context;
  ASSERT_TRUE(models->GetModelStatus(&context, which, &states).ok());
  ASSERT_EQ(states.model_version_status_size(), 1);
  EXPECT_EQ(states.model_version_status(0).version(), 3);
  EXPECT_EQ(states.model_version_status(0).state(), tfs::ModelVersionStatus::AVAILABLE);
  EXPECT_EQ(states.model_version_status(0).status().error_code(), 0);
  ::grpc::ClientContext second;
  tfs::ReloadConfigResponse reloaded;
  EXPECT_EQ(models->HandleReloadConfigRequest(&second, {}, &reloaded).error_code(),
            StatusCode::PERMISSION_DENIED);
}

TEST_F(GrpcServer, SpeaksTheOpenInferenceProtocol) {
  const auto stub = inference::GRPCInferenceService::NewStub(channel());
  inference::ServerReadyResponse ready;
  inference::ServerMetadataResponse about;
  inference::ModelMetadataResponse model;
  inference::ModelReadyResponse has;
  inference::ModelReadyRequest which;
  which.set_name("m");
  which.set_version("x");
  ::grpc::ClientContext contexts[6];
  ASSERT_TRUE(stub->ServerReady(&contexts[0], {}, &ready).ok());
  EXPECT_TRUE(ready.ready());
  ASSERT_TRUE(stub->ServerMetadata(&contexts[1], {}, &about).ok());
  EXPECT_EQ(about.version(), "1.2.3");
  EXPECT_SAYS(stub->ModelReady(&contexts[2], which, &has).error_message(), "got 'x'");
  which.set_version("3");
  ASSERT_TRUE(stub->ModelReady(&contexts[3], which, &has).ok());
  EXPECT_TRUE(has.ready());
  inference::ModelMetadataRequest asked;
  asked.set_name("m");
  ASSERT_TRUE(stub->ModelMetadata(&contexts[4], asked, &model).ok());
  EXPECT_EQ(model.versions(0), "3");
  EXPECT_EQ(model.inputs(0).datatype(), "FP32");
  inference::ModelInferRequest message;
  message.set_model_name("m");
  message.set_id("one");
  auto& input = *message.add_inputs();
  input.set_name(model.inputs(0).name());
  input.set_datatype("FP32");
  for (const int64_t size : {1, 4}) input.add_shape(size);
  for (int i = 0; i < 4; ++i) input.mutable_contents()->add_fp32_contents(5);
  inference::ModelInferResponse response;
  ASSERT_TRUE(stub->ModelInfer(&contexts[5], message, &response).ok());
  EXPECT_EQ(response.id(), "one");
  EXPECT_EQ(response.model_version(), "3");
  EXPECT_EQ(response.outputs(0).contents().fp32_contents(3), 10);
}

TEST(GrpcServerOptions, TokensLimitsAndPorts) {
  SmallServer small({.max_message_bytes = 1000, .token = "secret"});
  const auto channel = ::grpc::CreateChannel(small.place(), ::grpc::InsecureChannelCredentials());
  const auto stub = inference::GRPCInferenceService::NewStub(channel);
  inference::ModelInferRequest message;
  message.set_model_name("m");
  inference::ModelInferResponse response;
  const auto infer = [&](const std::string& token) {
    ::grpc::ClientContext context;
    if (!token.empty()) context.AddMetadata("authorization", "Bearer " + token);
    return stub->ModelInfer(&context, message, &response).error_code();
  };
  EXPECT_EQ(infer(""), StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(infer("secrex"), StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(infer("secret"), StatusCode::INVALID_ARGUMENT);
  message.add_raw_input_contents(std::string(2000, 'x'));
  EXPECT_EQ(infer("secret"), StatusCode::RESOURCE_EXHAUSTED);
  ::grpc::ClientContext context;
  inference::ServerLiveResponse live;
  EXPECT_EQ(stub->ServerLive(&context, {}, &live).error_code(), StatusCode::UNAUTHENTICATED);

  ServerOptions taken;
  taken.port = small.server->port();
  EXPECT_SAYS(testing_support::error_of<IoError>([&] { Server(taken, *small.models); }),
              "cannot listen");
  taken.tls_certificate = taken.tls_key = "/nowhere.pem";
  EXPECT_SAYS(testing_support::error_of<IoError>([&] { Server(taken, *small.models); }),
              "/nowhere.pem");
}

TEST(GrpcServerOptions, ClientsMayReloadIfAllowed) {
  SmallServer small({.reload_base = serve::ServerConfig{}});
  const auto channel = ::grpc::CreateChannel(small.place(), ::grpc::InsecureChannelCredentials());
  const auto stub = tfs::ModelService::NewStub(channel);
  tfs::ReloadConfigRequest message;
  tfs::ReloadConfigResponse answer;
  const auto reload = [&] {
    ::grpc::ClientContext context;
    return stub->HandleReloadConfigRequest(&context, message, &answer);
  };
  EXPECT_SAYS(reload().error_message(), "model_config_list");
  auto& model = *message.mutable_config()->mutable_model_config_list()->add_config();
  model.set_name("../m");
  model.set_base_path(small.folder.path());
  EXPECT_EQ(reload().error_code(), StatusCode::INVALID_ARGUMENT);
  model.set_name("other");
  model.mutable_model_version_policy()->mutable_specific()->add_versions(3);
  ASSERT_TRUE(reload().ok());
  EXPECT_TRUE(small.models->await_ready(30s));
  EXPECT_TRUE(small.models->ready({.name = "other"}));
}

TEST_F(GrpcServer, TellsItsHealthToThoseWhoWatch) {
  namespace health = ::grpc::health::v1;
  using Answer = health::HealthCheckResponse;
  const auto stub = health::Health::NewStub(channel());
  health::HealthCheckRequest message;
  ::grpc::ClientContext all;
  const auto server = stub->Watch(&all, message);
  message.set_service("elsewhere");
  ::grpc::ClientContext unknown;
  const auto other = stub->Watch(&unknown, message);
  Answer state;
  ASSERT_TRUE(server->Read(&state));
  EXPECT_EQ(state.status(), Answer::SERVING);
  ASSERT_TRUE(other->Read(&state));
  EXPECT_EQ(state.status(), Answer::SERVICE_UNKNOWN);
  ::grpc::ClientContext once;
  EXPECT_EQ(stub->Check(&once, message, &state).error_code(), StatusCode::NOT_FOUND);
  small.models->begin_drain();
  ASSERT_TRUE(server->Read(&state));
  EXPECT_EQ(state.status(), Answer::NOT_SERVING);
  // Clients that watch do not keep the server from ending.
  EXPECT_TRUE(small.server->drain(20s));
  EXPECT_FALSE(server->Read(&state));
  EXPECT_EQ(server->Finish().error_code(), StatusCode::CANCELLED);
}

TEST_F(GrpcServer, LimitsThoseWhoWatch) {
  namespace health = ::grpc::health::v1;
  const auto stub = health::Health::NewStub(channel());
  std::deque<::grpc::ClientContext> contexts;
  std::vector<std::unique_ptr<::grpc::ClientReader<health::HealthCheckResponse>>> watchers;
  health::HealthCheckResponse state;
  int refused = 0;
  for (int i = 0; i < 70; ++i) {
    watchers.push_back(stub->Watch(&contexts.emplace_back(), {}));
    if (watchers.back()->Read(&state)) continue;
    EXPECT_EQ(watchers.back()->Finish().error_code(), StatusCode::RESOURCE_EXHAUSTED);
    ++refused;
  }
  EXPECT_EQ(refused, 70 - 64);
  for (auto& context : contexts) context.TryCancel();
  EXPECT_TRUE(predict(request()).ok());
}

TEST(GrpcServerOptions, DrainsWhatIsOpen) {
  SmallServer small;
  EXPECT_EQ(small.server->open_calls(), 0);
  EXPECT_TRUE(small.server->drain(5s));
  const auto channel = ::grpc::CreateChannel(small.place(), ::grpc::InsecureChannelCredentials());
  const auto stub = inference::GRPCInferenceService::NewStub(channel);
  ::grpc::ClientContext context;
  inference::ServerLiveResponse live;
  EXPECT_EQ(stub->ServerLive(&context, {}, &live).error_code(), StatusCode::UNAVAILABLE);
}

}  // namespace
}  // namespace pando::grpc
