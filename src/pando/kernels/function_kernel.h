// A kernel that wraps a function, for kernels whose constants fit into a lambda capture.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "pando/kernels/kernel.h"

namespace pando::kernels {

using KernelFunction = std::function<void(const KernelArgs&, const StepArgs&)>;

struct FunctionTraits {
  bool splits = false;
  size_t scratch_bytes = 0;
};

class FunctionKernel : public Kernel {
 public:
  FunctionKernel(std::string name, KernelFunction function, FunctionTraits traits)
      : name_(std::move(name)), function_(std::move(function)), traits_(traits) {}
  std::string name() const override { return name_; }
  size_t scratch_bytes() const override { return traits_.scratch_bytes; }
  bool splits() const override { return traits_.splits; }
  void run(const KernelArgs& args, const StepArgs& step) const override { function_(args, step); }

 private:
  std::string name_;
  KernelFunction function_;
  FunctionTraits traits_;
};

inline KernelOffer offer_function(std::string name, KernelFunction function,
                                  FunctionTraits traits = {}) {
  return offer(std::make_shared<FunctionKernel>(std::move(name), std::move(function), traits));
}

}  // namespace pando::kernels
