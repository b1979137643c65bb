// Which devices a model runs on. A model made within the scope of a strategy runs on its devices;
// the description of the model does not change.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace pando {

struct DeviceStrategyOptions {
  // The cores that this process may use are divided among this many devices. If there are more
  // devices than cores, devices share cores; results are the same.
  int devices = 1;
  int cores_per_device = 0;  // 0: an even division
  // Instead of cores_per_device: the hardware threads of each device, as the system numbers them.
  std::vector<std::vector<int>> core_sets;
  // A program that needs more than this on one device is refused; 0: no limit.
  int64_t memory_per_device = 0;  // bytes
};

// Cheap to copy.
class DeviceStrategy {
 public:
  // Throws InvalidArgument for numbers out of range.
  explicit DeviceStrategy(DeviceStrategyOptions options = {});

  const DeviceStrategyOptions& options() const { return *options_; }
  int devices() const { return options_->devices; }

  // While it exists, models made by this thread belong to the strategy.
  class Scope {
   public:
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    friend class DeviceStrategy;
    explicit Scope(std::shared_ptr<const DeviceStrategyOptions> options);
    std::shared_ptr<const DeviceStrategyOptions> previous_;
  };
  [[nodiscard]] Scope scope() const { return Scope(options_); }

  // The strategy whose scope this thread is in; null: none.
  static std::shared_ptr<const DeviceStrategyOptions> current();

 private:
  std::shared_ptr<const DeviceStrategyOptions> options_;
};

}  // namespace pando
