// The services as lists of methods, made one by one so that each source compiles one family of
// messages.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <vector>

#include "pando/grpc/call_impl.h"

namespace pando::grpc {

std::vector<Method> prediction_methods(const std::shared_ptr<Shared>& shared);
std::vector<Method> model_methods(const std::shared_ptr<Shared>& shared);
std::vector<Method> open_inference_methods(const std::shared_ptr<Shared>& shared);
std::vector<Method> reflection_methods();

// Health; its thread follows the state of the models for clients that watch it. Calls keep it.
class HealthWatch;
std::shared_ptr<HealthWatch> start_health(std::shared_ptr<Shared> shared);
void stop_health(HealthWatch& watch);  // waits for the thread; before the last owner goes
std::vector<Method> health_methods(const std::shared_ptr<HealthWatch>& watch);

}  // namespace pando::grpc
