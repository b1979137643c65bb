// The services, made one by one so that each source compiles one family of generated code.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <memory>

#include "pando/grpc/call_impl.h"

namespace pando::grpc {

struct ServiceParts {
  std::unique_ptr<::grpc::Service> service;
  // Begins to take the calls that wait for a model, when the server runs. Empty: it has none.
  std::function<void(::grpc::ServerCompletionQueue& queue)> listen;
};

ServiceParts make_prediction_service(Shared& shared);
ServiceParts make_model_service(Shared& shared);
ServiceParts make_open_inference_service(Shared& shared);
ServiceParts make_health_service(Shared& shared);

}  // namespace pando::grpc
