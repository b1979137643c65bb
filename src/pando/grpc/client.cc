// SPDX-License-Identifier: MIT
#include "pando/grpc/client.h"

#include <algorithm>

#include <grpcpp/grpcpp.h>
#include <open_inference.grpc.pb.h>
#include <tensorflow_serving.grpc.pb.h>

#include "pando/base/error.h"
#include "pando/grpc/tensors_impl.h"

namespace pando::grpc {
namespace {

namespace tfs = tensorflow::serving;
using serve::Code;
using serve::ElementType;

serve::Status status_of_call(const ::grpc::Status& status) {
  return {.code = static_cast<Code>(status.error_code()), .message = status.error_message()};
}

std::optional<ElementType> element_type_of(tensorflow::DataType type) {
  for (const auto known : {ElementType::f32, ElementType::f16, ElementType::bf16, ElementType::u8,
                           ElementType::i32, ElementType::bytes}) {
    if (tf_type(known) == type) return known;
  }
  return std::nullopt;
}

std::shared_ptr<::grpc::Channel> channel_to(const ClientOptions& options) {
  ::grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // a connection of its own
  arguments.SetMaxReceiveMessageSize(-1);
  return ::grpc::CreateCustomChannel(concat(options.host, ":", options.port),
                                     ::grpc::InsecureChannelCredentials(), arguments);
}

}  // namespace

struct Client::Impl {
  explicit Impl(ClientOptions options_in)
      : options(std::move(options_in)),
        channel(channel_to(options)),
        predictions(tfs::PredictionService::NewStub(channel)),
        inference(inference::GRPCInferenceService::NewStub(channel)) {}

  void set_up(::grpc::ClientContext& context, std::chrono::duration<double> at_most) const {
    context.set_deadline(std::chrono::system_clock::now() +
                         std::chrono::duration_cast<std::chrono::microseconds>(at_most));
    if (!options.token.empty()) context.AddMetadata("authorization", "Bearer " + options.token);
  }

  const ClientOptions options;
  std::shared_ptr<::grpc::Channel> channel;
  std::unique_ptr<tfs::PredictionService::Stub> predictions;
  std::unique_ptr<inference::GRPCInferenceService::Stub> inference;
  tfs::PredictRequest tf_request;
  inference::ModelInferRequest oip_request;
};

Client::Client(ClientOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}
Client::~Client() = default;

serve::Result<Signature> Client::signature(std::chrono::duration<double> at_most) {
  ::grpc::ClientContext context;
  impl_->set_up(context, at_most);
  context.set_wait_for_ready(true);
  tfs::GetModelMetadataRequest request;
  request.mutable_model_spec()->set_name(impl_->options.model);
  request.add_metadata_field("signature_def");
  tfs::GetModelMetadataResponse response;
  const ::grpc::Status status = impl_->predictions->GetModelMetadata(&context, request, &response);
  if (!status.ok()) return status_of_call(status);
  tfs::SignatureDefMap map;
  const auto found = response.metadata().find("signature_def");
  if (found == response.metadata().end() || !found->second.UnpackTo(&map) ||
      map.signature_def().empty()) {
    return serve::failure(Code::internal, "the server tells no signature");
  }
  Signature signature{.version = response.model_spec().version().value()};
  for (const auto& [name, info] : map.signature_def().begin()->second.inputs()) {
    const auto type = element_type_of(info.dtype());
    if (!type) return serve::failure(Code::unimplemented, "input '", name, "' has another type");
    serve::TensorInfo to{.name = name, .type = *type};
    for (const auto& dim : info.tensor_shape().dim()) to.shape.push_back(dim.size());
    signature.inputs.push_back(std::move(to));
  }
  return signature;
}

void Client::prepare(const serve::InputTensor& input) {
  const bool is_encoded = input.type == ElementType::bytes;
  impl_->tf_request.Clear();
  impl_->oip_request.Clear();
  if (impl_->options.open_inference) {
    impl_->oip_request.set_model_name(impl_->options.model);
    auto& to = *impl_->oip_request.add_inputs();
    to.set_name(input.name);
    to.set_datatype(std::string(oip_type(input.type)));
    to.mutable_shape()->Assign(input.shape.begin(), input.shape.end());
    for (const auto& element : input.elements) {
      to.mutable_contents()->add_bytes_contents(std::string(element));
    }
    if (!is_encoded) {
      impl_->oip_request.add_raw_input_contents(input.data.data(), input.data.size());
    }
    return;
  }
  impl_->tf_request.mutable_model_spec()->set_name(impl_->options.model);
  tensorflow::TensorProto& to = (*impl_->tf_request.mutable_inputs())[input.name];
  to.set_dtype(tf_type(input.type));
  for (const int64_t size : input.shape) to.mutable_tensor_shape()->add_dim()->set_size(size);
  for (const auto& element : input.elements) to.add_string_val(std::string(element));
  if (!is_encoded) to.set_tensor_content(input.data.data(), input.data.size());
}

serve::Status Client::infer(std::chrono::duration<double> at_most) {
  ::grpc::ClientContext context;
  impl_->set_up(context, at_most);
  if (impl_->options.open_inference) {
    inference::ModelInferResponse response;
    return status_of_call(impl_->inference->ModelInfer(&context, impl_->oip_request, &response));
  }
  tfs::PredictResponse response;
  return status_of_call(impl_->predictions->Predict(&context, impl_->tf_request, &response));
}

serve::Result<std::vector<std::pair<std::string, float>>> Client::classify(
    const std::string& picture, std::chrono::duration<double> at_most) {
  ::grpc::ClientContext context;
  impl_->set_up(context, at_most);
  tfs::ClassificationRequest request;
  request.mutable_model_spec()->set_name(impl_->options.model);
  auto& example = *request.mutable_input()->mutable_example_list()->add_examples();
  auto& feature = (*example.mutable_features()->mutable_feature())["input"];
  feature.mutable_bytes_list()->add_value(picture);
  tfs::ClassificationResponse response;
  const ::grpc::Status status = impl_->predictions->Classify(&context, request, &response);
  if (!status.ok()) return status_of_call(status);
  std::vector<std::pair<std::string, float>> classes;
  if (response.result().classifications_size() > 0) {
    for (const auto& one : response.result().classifications(0).classes()) {
      classes.emplace_back(one.label(), one.score());
    }
  }
  std::ranges::stable_sort(classes, std::greater<>(), &std::pair<std::string, float>::second);
  return classes;
}

}  // namespace pando::grpc
