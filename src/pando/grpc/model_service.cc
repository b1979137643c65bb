// TensorFlow Serving's ModelService: states of versions, and new configurations.
// SPDX-License-Identifier: MIT
#include <tensorflow_serving.grpc.pb.h>

#include "pando/base/error.h"
#include "pando/grpc/services_impl.h"

namespace pando::grpc {
namespace {

namespace tfs = tensorflow::serving;

serve::ModelConfig config_of(const tfs::ModelConfig& message) {
  serve::ModelConfig config{.name = message.name(), .base_path = message.base_path()};
  const auto& policy = message.model_version_policy();
  if (policy.has_latest() && policy.latest().num_versions() > 0) {
    config.policy.num_versions = policy.latest().num_versions();
  }
  if (policy.has_all()) config.policy.kind = serve::VersionPolicy::Kind::all;
  if (policy.has_specific()) {
    config.policy.kind = serve::VersionPolicy::Kind::specific;
    const auto& versions = policy.specific().versions();
    config.policy.versions.assign(versions.begin(), versions.end());
  }
  for (const auto& [label, version] : message.version_labels()) config.labels[label] = version;
  return config;
}

class ModelService : public tfs::ModelService::Service {
 public:
  explicit ModelService(Shared& shared) : shared_(shared) {}

  ::grpc::Status GetModelStatus(ServerContext* context, const tfs::GetModelStatusRequest* message,
                                tfs::GetModelStatusResponse* answer) override {
    return answer_now(shared_, context, [&]() -> ::grpc::Status {
      const tfs::ModelSpec& asked = message->model_spec();
      if (asked.name().empty()) {
        return {::grpc::StatusCode::INVALID_ARGUMENT, "Missing ModelSpec"};
      }
      serve::ModelSpec spec{.name = asked.name(),
                            .version = std::nullopt,
                            .label = asked.version_label(),
                            .signature_name = ""};
      if (asked.has_version()) spec.version = asked.version().value();
      const auto status = shared_.models.status(spec);
      if (!status) return to_grpc(status.status());
      for (const serve::VersionStatus& version : status->versions) {
        auto& to = *answer->add_model_version_status();
        to.set_version(version.version);
        to.set_state(static_cast<tfs::ModelVersionStatus::State>(version.state));
        to.mutable_status()->set_error_code(static_cast<int>(version.status.code));
        to.mutable_status()->set_error_message(version.status.message);
      }
      return ::grpc::Status::OK;
    });
  }

  ::grpc::Status HandleReloadConfigRequest(ServerContext* context,
                                           const tfs::ReloadConfigRequest* message,
                                           tfs::ReloadConfigResponse* answer) override {
    return answer_now(shared_, context, [&] {
      const ::grpc::Status status = reload(*message);
      answer->mutable_status()->set_error_code(status.error_code());
      answer->mutable_status()->set_error_message(status.error_message());
      return status;
    });
  }

 private:
  ::grpc::Status reload(const tfs::ReloadConfigRequest& message) const {
    if (!shared_.options.reload_base) {
      return {::grpc::StatusCode::PERMISSION_DENIED,
              "this server takes no configuration from clients"};
    }
    if (!message.config().has_model_config_list()) {
      return {::grpc::StatusCode::INVALID_ARGUMENT, "expected config.model_config_list"};
    }
    serve::ServerConfig config = *shared_.options.reload_base;
    config.models.clear();
    for (const tfs::ModelConfig& model : message.config().model_config_list().config()) {
      config.models.push_back(config_of(model));
    }
    try {
      shared_.models.reload(std::move(config));
    } catch (const Error& error) {
      return {::grpc::StatusCode::INVALID_ARGUMENT, error.what()};
    }
    return ::grpc::Status::OK;
  }

  Shared& shared_;
};

}  // namespace

ServiceParts make_model_service(Shared& shared) {
  return {.service = std::make_unique<ModelService>(shared), .listen = {}};
}

}  // namespace pando::grpc
