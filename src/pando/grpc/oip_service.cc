// The service of the Open Inference Protocol.
// SPDX-License-Identifier: MIT
#include <open_inference.grpc.pb.h>

#include "pando/base/strings.h"
#include "pando/grpc/services_impl.h"

namespace pando::grpc {
namespace {

using serve::Code;
using serve::InferRequest;
using serve::InferResponse;
using serve::Result;

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

using OpenInference = inference::GRPCInferenceService;

class OpenInferenceService
    : public OpenInference::WithAsyncMethod_ModelInfer<OpenInference::Service> {
 public:
  explicit OpenInferenceService(Shared& shared) : shared_(shared) {}

  void listen_at(::grpc::ServerCompletionQueue& queue) {
    listen<inference::ModelInferRequest, inference::ModelInferResponse>(
        shared_, queue,
        {.expect =
             [this](auto* context, auto* message, auto* responder, auto* own, void* tag) {
               RequestModelInfer(context, message, responder, own, own, tag);
             },
         .handle = [this](auto& call, const auto& message,
                          auto& answer) { infer(call, message, answer); }});
  }

  ::grpc::Status ServerLive(ServerContext* context, const inference::ServerLiveRequest*,
                            inference::ServerLiveResponse* answer) override {
    return answer_now(shared_, context, [&] {
      answer->set_live(shared_.models.live());
      return ::grpc::Status::OK;
    });
  }

  ::grpc::Status ServerReady(ServerContext* context, const inference::ServerReadyRequest*,
                             inference::ServerReadyResponse* answer) override {
    return answer_now(shared_, context, [&] {
      answer->set_ready(shared_.models.ready());
      return ::grpc::Status::OK;
    });
  }

  ::grpc::Status ModelReady(ServerContext* context, const inference::ModelReadyRequest* message,
                            inference::ModelReadyResponse* answer) override {
    return answer_now(shared_, context, [&] {
      const auto spec = oip_spec(message->name(), message->version());
      if (!spec) return to_grpc(spec.status());
      answer->set_ready(shared_.models.ready(*spec));
      return ::grpc::Status::OK;
    });
  }

  ::grpc::Status ServerMetadata(ServerContext* context, const inference::ServerMetadataRequest*,
                                inference::ServerMetadataResponse* answer) override {
    return answer_now(shared_, context, [&] {
      answer->set_name("pando");
      answer->set_version(shared_.options.version);
      answer->add_extensions("binary_tensor_data");
      return ::grpc::Status::OK;
    });
  }

  ::grpc::Status ModelMetadata(ServerContext* context,
                               const inference::ModelMetadataRequest* message,
                               inference::ModelMetadataResponse* answer) override {
    return answer_now(shared_, context, [&] {
      const auto spec = oip_spec(message->name(), message->version());
      if (!spec) return to_grpc(spec.status());
      const auto servable = shared_.models.find(*spec);
      if (!servable) return to_grpc(servable.status());
      answer->set_name((*servable)->name());
      const auto status = shared_.models.status({.name = spec->name});
      for (const auto& version : status ? status->versions : std::vector<serve::VersionStatus>()) {
        if (version.state != serve::VersionState::available) continue;
        answer->add_versions(std::to_string(version.version));
      }
      answer->set_platform("pando");
      write_metadata((*servable)->inputs(), *answer->mutable_inputs());
      write_metadata((*servable)->outputs(), *answer->mutable_outputs());
      return ::grpc::Status::OK;
    });
  }

 private:
  void infer(ModelCall& call, const inference::ModelInferRequest& message,
             inference::ModelInferResponse& answer) const {
    call.answer_later([&](InputMemory& memory) { return infer_request(message, memory); },
                      [&message, &answer](const InferResponse& response) {
                        answer.set_model_name(response.servable->name());
                        answer.set_model_version(std::to_string(response.servable->version()));
                        answer.set_id(message.id());
                        write_outputs(response, message.raw_input_contents_size() > 0, answer);
                        return ::grpc::Status::OK;
                      });
  }

  Result<InferRequest> infer_request(const inference::ModelInferRequest& message,
                                     InputMemory& memory) const {
    const auto spec = oip_spec(message.model_name(), message.model_version());
    if (!spec) return spec.status();
    const auto servable = shared_.models.find(*spec);
    if (!servable) return servable.status();
    auto tensors = tensors_of(message, memory);
    if (!tensors) return tensors.status();
    InferRequest request;
    request.servable = *servable;
    request.inputs = std::move(*tensors);
    for (const auto& output : message.outputs()) request.outputs.push_back(output.name());
    return request;
  }

  Shared& shared_;
};

}  // namespace

ServiceParts make_open_inference_service(Shared& shared) {
  auto service = std::make_unique<OpenInferenceService>(shared);
  const auto listen = [own = service.get()](auto& queue) { own->listen_at(queue); };
  return {.service = std::move(service), .listen = listen};
}

}  // namespace pando::grpc
