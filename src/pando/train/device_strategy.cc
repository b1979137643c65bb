// SPDX-License-Identifier: MIT
#include "pando/train/device_strategy.h"

#include <utility>

#include "pando/base/error.h"

namespace pando {

namespace {

thread_local std::shared_ptr<const DeviceStrategyOptions> current_options;

}  // namespace

DeviceStrategy::DeviceStrategy(DeviceStrategyOptions options) {
  if (options.devices < 1) {
    throw InvalidArgument("DeviceStrategy: devices: expected at least 1, got ", options.devices);
  }
  if (options.cores_per_device < 0) {
    throw InvalidArgument("DeviceStrategy: cores_per_device: expected 0 or more, got ",
                          options.cores_per_device);
  }
  if (options.memory_per_device < 0) {
    throw InvalidArgument("DeviceStrategy: memory_per_device: expected 0 or more bytes, got ",
                          options.memory_per_device);
  }
  if (!options.core_sets.empty() && options.devices == 1) {
    options.devices = static_cast<int>(options.core_sets.size());
  }
  options_ = std::make_shared<const DeviceStrategyOptions>(std::move(options));
}

DeviceStrategy::Scope::Scope(std::shared_ptr<const DeviceStrategyOptions> options)
    : previous_(std::exchange(current_options, std::move(options))) {}

DeviceStrategy::Scope::~Scope() { current_options = std::move(previous_); }

std::shared_ptr<const DeviceStrategyOptions> DeviceStrategy::current() { return current_options; }

}  // namespace pando
