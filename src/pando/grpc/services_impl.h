// The services, made one by one so that each source compiles one family of generated code.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "pando/grpc/call_impl.h"

namespace pando::grpc {

std::unique_ptr<::grpc::Service> make_prediction_service(Shared& shared);
std::unique_ptr<::grpc::Service> make_model_service(Shared& shared);
std::unique_ptr<::grpc::Service> make_open_inference_service(Shared& shared);

}  // namespace pando::grpc
