// Checks the list of kernels against the list of ops.
// SPDX-License-Identifier: MIT
#include <map>

#include <gtest/gtest.h>

#include "pando/base/error.h"
#include "pando/kernels/kernel.h"
#include "pando/ops/op.h"

namespace pando::kernels {
namespace {

// Ops that need no kernel besides the reference, and why.
const std::map<std::string, std::string>& plain_ops() {
  static const std::map<std::string, std::string> ops = {
      {"checkpoint", "a view: nothing runs"},
      {"loss_seed", "one number per sample"},
      {"reshape", "a view: nothing runs"},
      {"sum_slices", "a few numbers per channel"},
      {"weigh", "one number per sample"},
      {"sum_losses", "one number per sample"},
      {"class_counts", "a metric"},
      {"score_counts", "a metric"},
      {"target_sums", "a metric"},
      {"math", "functions that few networks have, once or twice"},
      {"math_grad", "as math"},
      {"to_power", "as math"},
      {"pick", "copies runs of numbers, as fast as memory"},
      {"pick_grad", "adds runs of numbers, as fast as memory"},
      {"select", "as math"},
      {"spread", "copies whole constants"},
      {"spread_sums", "adds whole constants"},
  };
  return ops;
}

TEST(Catalog, EveryOpHasAReferenceKernelLast) {
  for (const ops::OpDef& op : ops::builtin_ops().all()) {
    if (op.name == "pack") continue;  // its kernel comes from the kernel that needs the layout
    const std::vector<Candidate>& list = candidates(op.name);
    ASSERT_FALSE(list.empty()) << op.name;
    EXPECT_EQ(list.back().name, "reference") << op.name;
  }
}

TEST(Catalog, EveryOpHasAFastKernel) {
  for (const ops::OpDef& op : ops::builtin_ops().all()) {
    if (op.name == "pack" || plain_ops().contains(op.name)) continue;
    EXPECT_GE(candidates(op.name).size(), 2u) << op.name;
  }
}

TEST(Catalog, AnUnknownOpIsAnError) { EXPECT_THROW(candidates("no_such_op"), InvalidArgument); }

}  // namespace
}  // namespace pando::kernels
