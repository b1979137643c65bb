// Runs a list of passes in order, with verification, dumps and timing around each.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "pando/compiler/pass.h"

namespace pando::compiler {

struct PassRecord {
  std::string name;
  bool changed = false;
  bool disabled = false;
  double seconds = 0;
};

class PassPipeline {
 public:
  template <typename P>
  void add() {
    passes_.push_back(std::make_unique<P>());
  }
  const std::vector<std::unique_ptr<Pass>>& passes() const { return passes_; }

  // Runs the passes that are not disabled and verifies the graph after each; an error names the
  // pass. Throws InvalidArgument for an unknown or a required name in disabled_passes.
  std::vector<PassRecord> run(CompileState& state) const;
  void check_disabled(const std::set<std::string>& names) const;

 private:
  std::vector<std::unique_ptr<Pass>> passes_;
};

// All passes of the compiler, in order.
PassPipeline default_pipeline();

}  // namespace pando::compiler
