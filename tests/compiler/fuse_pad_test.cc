#include <gtest/gtest.h>

#include "tests/compiler/pass_testing.h"

namespace pando::compiler {
namespace {

std::string pad_graph(const std::string& body) {
  return "graph(x: f32[2,8,8,4] feed, k: f32[3,3,4,4] variable, d: f32[3,3,1,4] variable,"
         "      o: f32[1,1,4,4] variable, c: f32[3,3,5,4] variable) {" +
         body + "}";
}

TEST(FusePad, BecomesPaddingOfTheConvolution) {
  expect_rewrite<FusePad>(pad_graph(R"(
    p = pad(x) {low=[0,0,0,0], high=[0,1,1,0]}
    y = conv(p, k) {strides=[2,2]}
    return result y=y)"),
                          pad_graph(R"(
    y = conv(x, k) {padding="explicit", pads=[0,0,1,1], strides=[2,2]}
    return result y=y)"));
}

TEST(FusePad, AddsToThePaddingOfEachReader) {
  expect_rewrite<FusePad>(pad_graph(R"(
    p = pad(x) {low=[0,1,1,0], high=[0,1,0,0]}
    a = conv(p, k) {padding="explicit", pads=[0,1,1,1]}
    b = conv(p, d) {groups=4}
    return result a=a, result b=b)"),
                          pad_graph(R"(
    a = conv(x, k) {padding="explicit", pads=[1,2,2,1]}
    b = conv(x, d) {groups=4, padding="explicit", pads=[1,1,1,0]}
    return result a=a, result b=b)"));
}

TEST(FusePad, LeavesWhatIsNotPaddingOfConvolutions) {
  // Channels, other readers, a result, padding as wide as the window.
  for (const char* body : {"p = pad(x) {low=[0,1,1,0], high=[0,0,0,1]} y = conv(p, c)"
                           "return result y=y",
                           "p = pad(x) {low=[0,1,1,0], high=[0,0,0,0]} y = conv(p, k)"
                           "z = relu(p) return result y=y, result z=z",
                           "p = pad(x) {low=[0,1,1,0], high=[0,0,0,0]} y = conv(p, k)"
                           "return result y=y, result p=p",
                           "p = pad(x) {low=[0,1,1,0], high=[0,1,1,0]} y = conv(p, o)"
                           "return result y=y",
                           "p = pad(x) {low=[0,1,1,0], high=[0,1,1,0]}"
                           "y, i = max_pool(p) {window=[3,3]} return result y=y"}) {
    expect_unchanged<FusePad>(pad_graph(body));
  }
}

}  // namespace
}  // namespace pando::compiler
