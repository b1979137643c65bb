#include <gtest/gtest.h>

#include "tests/compiler/pass_testing.h"

namespace pando::compiler {
namespace {

std::string scale_graph(const std::string& body) {
  return "graph(x: f32[2,8,8,4] feed, k: f32[1,1,4,4] variable, w: f32[3,3,4,4] variable,"
         "      b: f32[4] variable, m: f32[4] state) {" +
         body + "}";
}

TEST(FoldScale, BehindAConvolution) {
  expect_rewrite<FoldScale>(scale_graph(R"(
    c = conv(x, w, b) {padding="same"}
    a = scale(c) {factor=2.0}
    s = scale(a) {factor=3.0, offset=0.5}
    y = hard_swish(s)
    return result y=y)"),
                            scale_graph(R"(
    f, g = fold_scale(w, b) {factor=6.0, offset=0.5, of="result"}
    s = conv(x, f, g) {padding="same"}
    y = hard_swish(s)
    return result y=y)"));
}

TEST(FoldScale, InFrontOfAConvolution) {
  expect_rewrite<FoldScale>(scale_graph(R"(
    s = scale(x) {factor=3.0, offset=0.5}
    y = conv(s, k)
    return result y=y)"),
                            scale_graph(R"(
    f, g = fold_scale(k) {factor=3.0, offset=0.5, of="input"}
    y = conv(x, f, g)
    return result y=y)"));
  expect_rewrite<FoldScale>(scale_graph(R"(
    s = scale(x) {factor=3.0}
    y = conv(s, w) {padding="same"}
    return result y=y)"),
                            scale_graph(R"(
    f, g = fold_scale(w) {factor=3.0, offset=0.0, of="input"}
    y = conv(x, f, g) {padding="same"}
    return result y=y)"));
}

// A filter that was folded before is folded again.
TEST(FoldScale, BetweenTwoConvolutions) {
  expect_rewrite<FoldScale>(scale_graph(R"(
    h, i = fold_batch_norm(k, m, m, m, m)
    c = conv(x, h, i)
    r = relu(c)
    s = scale(r) {factor=3.0, offset=0.5}
    d = conv(s, k, b)
    y = scale(d) {factor=2.0}
    return result y=y)"),
                            scale_graph(R"(
    h, i = fold_batch_norm(k, m, m, m, m)
    c = conv(x, h, i)
    r = relu(c)
    f, g = fold_scale(k, b) {factor=3.0, offset=0.5, of="input"}
    n, o = fold_scale(f, g) {factor=2.0, offset=0.0, of="result"}
    y = conv(r, n, o)
    return result y=y)"));
}

TEST(FoldScale, LeavesWhatNoFilterCanDo) {
  // Padding in front of an offset, an activation between, other readers, a result, a computed
  // filter.
  for (const char* body :
       {"s = scale(x) {offset=0.5} y = conv(s, w) {padding=\"same\"} return result y=y",
        "c = conv(x, k) {activation=\"relu\"} y = scale(c) {factor=2.0} return result y=y",
        "c = conv(x, k) y = scale(c) {factor=2.0} z = relu(c) return result y=y, result z=z",
        "s = scale(x) {factor=2.0} y = conv(s, k) return result y=y, result s=s",
        "s = scale(x) {factor=2.0} t = scale(s) {factor=2.0} return result s=s, result t=t"}) {
    expect_unchanged<FoldScale>(scale_graph(body));
  }
}

}  // namespace
}  // namespace pando::compiler
