#include "pando/train/programs.h"

#include "tests/train/train_support.h"

namespace pando::train {
namespace {

TEST(Divide, SlicesOfTheBatch) {
  const auto expect = [](int64_t batch, int slices, const SliceDivision& wanted) {
    const SliceDivision found = divide(batch, slices);
    EXPECT_EQ(found.slices, wanted.slices) << batch << " in " << slices;
    EXPECT_EQ(found.slice_batch, wanted.slice_batch) << batch << " in " << slices;
    EXPECT_EQ(found.division, wanted.division) << batch << " in " << slices;
  };
  expect(64, 1, {1, 64, compiler::Division::batch});
  expect(64, 4, {4, 16, compiler::Division::batch});
  expect(5, 2, {2, 3, compiler::Division::batch});
  expect(9, 4, {3, 3, compiler::Division::batch});  // a fourth slice would be empty
  expect(4, 4, {4, 1, compiler::Division::batch});
  expect(3, 4, {4, 3, compiler::Division::parts});
  expect(1, 1, {1, 1, compiler::Division::batch});
}

TEST(Mode, HasAName) {
  EXPECT_EQ(to_string(Mode::train), "train");
  EXPECT_EQ(to_string(Mode::evaluate), "evaluate");
  EXPECT_EQ(to_string(Mode::predict), "predict");
}

// What the graph of `network` with `loss` says to these fields.
std::string refusal(const Network& network, const Loss& loss, std::vector<Field> fields) {
  const std::vector<Metric> metrics;
  return error_of([&] {
    build_graph(network, {.batch = 2, .fields = fields, .loss = &loss, .metrics = &metrics});
  });
}

const Field kX{"x", DType::f32, {6, 6, 1}};

TEST(BuildGraph, RefusesDataThatDoNotFit) {
  const Loss sparse = "sparse_categorical_crossentropy", one_hot = "categorical_crossentropy";
  const Network network = small_cnn();
  EXPECT_SAYS(refusal(network, sparse, {{"x", DType::f32, {5, 6, 1}}, {"y", DType::i32, {}}}),
              "x f32[5,6,1], the network takes f32[6,6,1]");
  EXPECT_SAYS(refusal(network, sparse, {{"x", DType::u8, {6, 6, 1}}, {"y", DType::i32, {}}}),
              "x u8[6,6,1]");
  EXPECT_SAYS(refusal(network, sparse, {kX}), "no labels");
  EXPECT_SAYS(refusal(network, sparse, {kX, {"y", DType::f32, {3}}}), "categorical_crossentropy");
  EXPECT_SAYS(refusal(network, sparse, {kX, {"y", DType::f32, {}}}), "class numbers");
  EXPECT_SAYS(refusal(network, one_hot, {kX, {"y", DType::i32, {}}}), "one_hot()");
  EXPECT_SAYS(refusal(network, one_hot, {kX, {"y", DType::f32, {4}}}), "wants labels f32[3]");
  EXPECT_SAYS(
      refusal(network, sparse, {kX, {"y", DType::i32, {}}, {"sample_weight", DType::f32, {2}}}),
      "sample_weight f32[2], wanted one f32 number per sample");
}

TEST(BuildGraph, SeveralInputsAreNotSupportedYet) {
  const SymbolicTensor a = Input({4}), b = Input({4});
  const Network network({a, b}, Add()({a, b}));
  const Loss loss = "mse";
  EXPECT_SAYS(error_of<Unsupported>([&] {
                build_graph(network, {.fields = {{"x", DType::f32, {4}}}, .loss = &loss});
              }),
              "2 inputs");
}

TEST(BuildGraph, OutputsOfTheModes) {
  const Loss loss = "sparse_categorical_crossentropy";
  const std::vector<Metric> metrics = {"accuracy"};
  const Network network = small_cnn();
  const auto roles = [&](Mode mode, std::set<std::string> frozen = {}) {
    std::map<ir::OutputRole, int> count;
    const ir::Graph graph = build_graph(network, {.mode = mode,
                                                  .batch = 2,
                                                  .fields = {kX, {"y", DType::i32, {}}},
                                                  .loss = &loss,
                                                  .metrics = &metrics,
                                                  .frozen = std::move(frozen)});
    for (const ir::Output& output : graph.outputs()) ++count[output.role];
    return count;
  };
  using Role = ir::OutputRole;
  EXPECT_EQ(roles(Mode::predict), (std::map<Role, int>{{Role::result, 1}}));
  EXPECT_EQ(roles(Mode::evaluate), (std::map<Role, int>{{Role::loss, 1}, {Role::metric, 1}}));
  EXPECT_EQ(roles(Mode::train)[Role::gradient], 4);
  EXPECT_EQ(roles(Mode::train, {"conv2d"})[Role::gradient], 2);
}

}  // namespace
}  // namespace pando::train
