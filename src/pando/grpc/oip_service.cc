// The service of the Open Inference Protocol.
// SPDX-License-Identifier: MIT
#include <open_inference.pb.h>

#include "pando/base/json.h"
#include "pando/base/strings.h"
#include "pando/grpc/services_impl.h"

namespace pando::grpc {
namespace {

using serve::Code;
using serve::InferRequest;
using serve::InferResponse;
using serve::Result;
using serve::Status;

Result<serve::ModelSpec> oip_spec(const std::string& name, const std::string& version) {
  serve::ModelSpec spec;
  spec.name = name;
  if (version.empty()) return spec;
  spec.version = parse_int(version);
  if (!spec.version || *spec.version < 0) {
    return serve::failure(Code::invalid_argument, "model_version: expected a number, got '",
                          version, "'");
  }
  return spec;
}

void write_metadata(
    const std::vector<serve::TensorInfo>& infos,
    google::protobuf::RepeatedPtrField<inference::ModelMetadataResponse::TensorMetadata>& list) {
  for (const serve::TensorInfo& info : infos) {
    auto& to = *list.Add();
    to.set_name(info.name);
    to.set_datatype(std::string(oip_type(info.type)));
    to.mutable_shape()->Assign(info.shape.begin(), info.shape.end());
  }
}

Status tell_metadata(const serve::ModelServer& models,
                     const inference::ModelMetadataRequest& message,
                     inference::ModelMetadataResponse& answer) {
  const auto spec = oip_spec(message.name(), message.version());
  if (!spec) return spec.status();
  const auto servable = models.find(*spec);
  if (!servable) return servable.status();
  answer.set_name((*servable)->name());
  const auto status = models.status({.name = spec->name});
  for (const auto& version : status ? status->versions : std::vector<serve::VersionStatus>()) {
    if (version.state != serve::VersionState::available) continue;
    answer.add_versions(std::to_string(version.version));
  }
  answer.set_platform("pando");
  write_metadata((*servable)->inputs(), *answer.mutable_inputs());
  write_metadata((*servable)->outputs(), *answer.mutable_outputs());
  const std::vector<std::string>& labels = (*servable)->facts().labels;
  if (!labels.empty()) (*answer.mutable_properties())["labels"] = Json(labels).dump();
  return {};
}

Result<InferRequest> infer_request(const serve::ModelServer& models,
                                   const inference::ModelInferRequest& message,
                                   InputMemory& memory) {
  const auto spec = oip_spec(message.model_name(), message.model_version());
  if (!spec) return spec.status();
  const auto servable = models.find(*spec);
  if (!servable) return servable.status();
  auto tensors = tensors_of(message, memory);
  if (!tensors) return tensors.status();
  InferRequest request;
  request.servable = *servable;
  request.inputs = std::move(*tensors);
  for (const auto& output : message.outputs()) request.outputs.push_back(output.name());
  return request;
}

void write_answer(const inference::ModelInferRequest& message, const InferResponse& response,
                  inference::ModelInferResponse& answer) {
  answer.set_model_name(response.servable->name());
  answer.set_model_version(std::to_string(response.servable->version()));
  answer.set_id(message.id());
  write_outputs(response, message.raw_input_contents_size() > 0, answer);
}

std::string path_of(const char* method) {
  return concat("/inference.GRPCInferenceService/", method);
}

// What the protocol asks of the server itself.
std::vector<Method> state_methods(const std::shared_ptr<Shared>& shared) {
  return {answered_now<inference::ServerLiveRequest, inference::ServerLiveResponse>(
              path_of("ServerLive"),
              [shared](const auto&, auto& answer) {
                answer.set_live(shared->models.live());
                return Status();
              }),
          answered_now<inference::ServerReadyRequest, inference::ServerReadyResponse>(
              path_of("ServerReady"),
              [shared](const auto&, auto& answer) {
                answer.set_ready(shared->models.ready());
                return Status();
              }),
          answered_now<inference::ServerMetadataRequest, inference::ServerMetadataResponse>(
              path_of("ServerMetadata"), [shared](const auto&, auto& answer) {
                answer.set_name("pando");
                answer.set_version(shared->options.version);
                answer.add_extensions("binary_tensor_data");
                return Status();
              })};
}

}  // namespace

std::vector<Method> open_inference_methods(const std::shared_ptr<Shared>& shared) {
  std::vector<Method> methods = state_methods(shared);
  methods.push_back(answered_now<inference::ModelReadyRequest, inference::ModelReadyResponse>(
      path_of("ModelReady"), [shared](const auto& message, auto& answer) -> Status {
        const auto spec = oip_spec(message.name(), message.version());
        if (!spec) return spec.status();
        answer.set_ready(shared->models.ready(*spec));
        return {};
      }));
  methods.push_back(answered_now<inference::ModelMetadataRequest, inference::ModelMetadataResponse>(
      path_of("ModelMetadata"), [shared](const auto& message, auto& answer) {
        return tell_metadata(shared->models, message, answer);
      }));
  methods.push_back(answered_by_model<inference::ModelInferRequest, inference::ModelInferResponse>(
      path_of("ModelInfer"),
      [shared](const auto& message, InputMemory& memory) {
        return infer_request(shared->models, message, memory);
      },
      write_answer));
  return methods;
}

}  // namespace pando::grpc
