// How the oneDNN adapters handle the library's answers.
// SPDX-License-Identifier: MIT
#include <string>

#include <gtest/gtest.h>

#include "pando/kernels/onednn/post_ops_impl.h"

namespace pando::kernels::onednn {
namespace {

TEST(OneDnn, TellsPlainLoopsFromKernels) {
  EXPECT_TRUE(is_reference("ref:any"));
  EXPECT_TRUE(is_reference("gemm:ref"));
  EXPECT_FALSE(is_reference("jit:avx2"));
  EXPECT_FALSE(is_reference("x64:gemm:jit"));
  EXPECT_EQ(kernel_name("jit:avx2"), "onednn:jit:avx2");
}

TEST(OneDnn, RefusesPlainLoopsByName) {
  const KernelOffer offer = refuse_reference("ref:any");
  EXPECT_EQ(offer.kernel, nullptr);
  EXPECT_NE(offer.refusal.find("'ref:any'"), std::string::npos);
}

TEST(OneDnn, ErrorsOfTheLibraryAreRefusals) {
  const KernelOffer offer = refuse_errors([]() -> KernelOffer {
    throw dnnl::error(dnnl_unimplemented, "could not create a descriptor");
  });
  EXPECT_EQ(offer.kernel, nullptr);
  EXPECT_EQ(offer.refusal, "oneDNN: could not create a descriptor");
}

TEST(OneDnn, NothingIsPackedBetweenEqualLayouts) {
  using dnnl::memory;
  const memory::desc plain({4, 3}, memory::data_type::f32, memory::format_tag::ba);
  const memory::desc other({4, 3}, memory::data_type::f32, memory::format_tag::ab);
  EXPECT_TRUE(packings(1, plain, plain).empty());
  const std::vector<Packing> packed = packings(1, plain, other);
  ASSERT_EQ(packed.size(), 1u);
  EXPECT_EQ(packed[0].input, 1);
  EXPECT_EQ(packed[0].layout.elements, 12);
  EXPECT_NE(packed[0].layout.name, packings(1, other, plain)[0].layout.name);
  EXPECT_EQ(packed[0].layout.name, packings(1, plain, other)[0].layout.name);
}

}  // namespace
}  // namespace pando::kernels::onednn
