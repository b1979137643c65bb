#include <gtest/gtest.h>

#include "tests/compiler/pass_testing.h"

namespace pando::compiler {
namespace {

TEST(EraseDead, RemovesChainsThatLeadNowhere) {
  expect_rewrite<EraseDead>(R"(graph(x: f32[2,3] feed) {
    a = relu(x)
    b = tanh(a)
    c = tanh(b)
    return result a=a })",
                            R"(graph(x: f32[2,3] feed) {
    a = relu(x)
    return result a=a })");
}

TEST(EraseDead, KeepsNodesWithOneUsedResult) {
  expect_unchanged<EraseDead>(R"(graph(x: f32[2,4,4,1] feed) {
    y, i = max_pool(x) {window=[2,2]}
    return result y=y })");
}

}  // namespace
}  // namespace pando::compiler
