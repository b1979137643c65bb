// TensorFlow Serving's ModelService: states of versions, and new configurations.
// SPDX-License-Identifier: MIT
#include <tensorflow_serving.pb.h>

#include "pando/base/error.h"
#include "pando/grpc/services_impl.h"

namespace pando::grpc {
namespace {

namespace tfs = tensorflow::serving;
using serve::Code;
using serve::failure;
using serve::Status;

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

Status tell_states(const serve::ModelServer& models, const tfs::GetModelStatusRequest& message,
                   tfs::GetModelStatusResponse& answer) {
  const tfs::ModelSpec& asked = message.model_spec();
  if (asked.name().empty()) return failure(Code::invalid_argument, "Missing ModelSpec");
  serve::ModelSpec spec{.name = asked.name(),
                        .version = std::nullopt,
                        .label = asked.version_label(),
                        .signature_name = ""};
  if (asked.has_version()) spec.version = asked.version().value();
  const auto status = models.status(spec);
  if (!status) return status.status();
  for (const serve::VersionStatus& version : status->versions) {
    auto& to = *answer.add_model_version_status();
    to.set_version(version.version);
    to.set_state(static_cast<tfs::ModelVersionStatus::State>(version.state));
    to.mutable_status()->set_error_code(static_cast<int>(version.status.code));
    to.mutable_status()->set_error_message(version.status.message);
  }
  return {};
}

Status reload(const Shared& shared, const tfs::ReloadConfigRequest& message) {
  if (!shared.options.reload_base) {
    return failure(Code::permission_denied, "this server takes no configuration from clients");
  }
  if (!message.config().has_model_config_list()) {
    return failure(Code::invalid_argument, "expected config.model_config_list");
  }
  serve::ServerConfig config = *shared.options.reload_base;
  config.models.clear();
  for (const tfs::ModelConfig& model : message.config().model_config_list().config()) {
    config.models.push_back(config_of(model));
  }
  try {
    shared.models.reload(std::move(config));
  } catch (const Error& error) {
    return failure(Code::invalid_argument, error.what());
  }
  return {};
}

}  // namespace

std::vector<Method> model_methods(const std::shared_ptr<Shared>& shared) {
  const std::string service = "/tensorflow.serving.ModelService/";
  return {answered_now<tfs::GetModelStatusRequest, tfs::GetModelStatusResponse>(
              service + "GetModelStatus",
              [shared](const auto& message, auto& answer) {
                return tell_states(shared->models, message, answer);
              }),
          answered_now<tfs::ReloadConfigRequest, tfs::ReloadConfigResponse>(
              service + "HandleReloadConfigRequest", [shared](const auto& message, auto& answer) {
                Status status = reload(*shared, message);
                answer.mutable_status()->set_error_code(static_cast<int>(status.code));
                answer.mutable_status()->set_error_message(status.message);
                return status;
              })};
}

}  // namespace pando::grpc
