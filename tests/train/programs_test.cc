#include "pando/train/programs.h"

#include "pando/ops/builder.h"
#include "pando/zoo/preprocessing.h"
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

TEST(RunMode, HasNames) {
  EXPECT_STREQ(to_string(RunMode::train), "train");
  EXPECT_STREQ(to_string(RunMode::evaluate), "evaluate");
  EXPECT_STREQ(to_string(RunMode::predict), "predict");
}

// The error of building a graph of `network` with `loss` for these fields.
std::string refusal(const Network& network, const Losses& loss, std::vector<Field> fields) {
  return error_of([&] { build_graph(network, {.batch = 2, .fields = fields, .loss = &loss}); });
}

const Field kX{"x", DType::f32, {6, 6, 1}};

TEST(BuildGraph, RefusesDataThatDoNotFit) {
  const Losses sparse = "sparse_categorical_crossentropy", one_hot = "categorical_crossentropy";
  const Network network = small_cnn();
  EXPECT_SAYS(refusal(network, sparse, {{"x", DType::f32, {5, 6, 1}}, {"y", DType::i32, {}}}),
              "x f32[5,6,1]", "takes f32[6,6,1]");
  EXPECT_SAYS(refusal(network, sparse, {{"x", DType::u8, {6, 6, 1}}, {"y", DType::i32, {}}}),
              "x u8[6,6,1]", "takes f32[6,6,1]");
  EXPECT_SAYS(refusal(network, sparse, {kX}), "no labels");
  EXPECT_SAYS(refusal(network, sparse, {kX, {"y", DType::f32, {3}}}), "categorical_crossentropy");
  EXPECT_SAYS(refusal(network, sparse, {kX, {"y", DType::f32, {}}}), "class numbers");
  EXPECT_SAYS(refusal(network, one_hot, {kX, {"y", DType::i32, {}}}), "one_hot()");
  EXPECT_SAYS(refusal(network, one_hot, {kX, {"y", DType::f32, {4}}}), "labels f32[3]",
              "got y f32[4]");
  EXPECT_SAYS(
      refusal(network, sparse, {kX, {"y", DType::i32, {}}, {"sample_weight", DType::f32, {2}}}),
      "sample_weight f32[2]", "one f32 number per sample");
}

Network flipping_cnn() {
  return with_preprocessing(small_cnn(), {.eight_bit = true, .flip = true});
}

TEST(BuildGraph, AuxiliaryInputsAreFieldsOfTheirNames) {
  const Losses loss = "sparse_categorical_crossentropy";
  const Metrics metrics;
  const Field x{"x", DType::u8, {6, 6, 1}}, y{"y", DType::i32, {}}, flip{"flip", DType::u8, {}};
  const Field weight{"sample_weight", DType::f32, {}};
  const Network network = flipping_cnn();
  const auto places = [&](RunMode mode, const std::vector<Field>& fields) {
    const ir::Graph graph = build_graph(
        network, {.mode = mode, .batch = 2, .fields = fields, .loss = &loss, .metrics = &metrics});
    return feed_fields(network, graph, fields);
  };
  using Places = std::vector<int>;
  EXPECT_EQ(places(RunMode::train, {x, y, flip}), (Places{0, 2, 1}));
  EXPECT_EQ(places(RunMode::train, {x, y, flip, weight}), (Places{0, 2, 1, 3}));
  EXPECT_EQ(places(RunMode::train, {x, y, weight, flip}), (Places{0, 3, 1, 2}));
  EXPECT_EQ(places(RunMode::train, {x, y, {"w", DType::f32, {}}, flip}), (Places{0, 3, 1, 2}));
  // Nothing is mirrored in inference, whether the data say so or not.
  EXPECT_EQ(places(RunMode::evaluate, {x, y, flip}), (Places{0, 1}));
  EXPECT_EQ(places(RunMode::evaluate, {x, y}), (Places{0, 1}));
  EXPECT_EQ(places(RunMode::predict, {x}), (Places{0}));
  EXPECT_SAYS(refusal(network, loss, {x, y}), "no field flip u8[]", "training",
              "x u8[6,6,1], y i32[]");
  EXPECT_SAYS(refusal(network, loss, {kX, y, flip}), "x f32[6,6,1]", "takes u8[6,6,1]");
  EXPECT_SAYS(refusal(network, loss, {x, y, {"flip", DType::f32, {}}}), "flip f32[]", "takes u8[]");
  EXPECT_SAYS(refusal(small_cnn(), loss, {kX, y, flip}), "flip u8[]", "does not take");
  EXPECT_SAYS(refusal(small_cnn(), loss, {kX, y, weight, {"more", DType::f32, {}}}), "more f32[]",
              "does not take");
}

// An auxiliary input that inference uses is zero if the data do not have it.
TEST(BuildGraph, AnAuxiliaryInputOfInferenceMayBeMissing) {
  const SymbolicTensor x = Input({2}), more = Input({2}, {.name = "more", .auxiliary = true});
  const Network network({x, more}, Add()({x, more}));
  const std::vector<Field> fields = {{"x", DType::f32, {2}}};
  const ir::Graph graph = build_graph(network, {.mode = RunMode::predict, .fields = fields});
  EXPECT_EQ(feed_fields(network, graph, fields), (std::vector<int>{0, -1}));
  Model model(network);
  const Tensor result = model.predict(Tensor::of_f32({1, 2}, {3, 4}));
  EXPECT_EQ(result.f32()[1], 4);
}

TEST(BuildGraph, OutputsOfTheModes) {
  const Losses loss = "sparse_categorical_crossentropy";
  const Metrics metrics = {"accuracy"};
  const Network network = small_cnn();
  const auto roles = [&](RunMode mode, std::set<std::string> frozen = {}) {
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
  EXPECT_EQ(roles(RunMode::predict), (std::map<Role, int>{{Role::result, 1}}));
  EXPECT_EQ(roles(RunMode::evaluate), (std::map<Role, int>{{Role::loss, 1}, {Role::metric, 1}}));
  EXPECT_EQ(roles(RunMode::train)[Role::gradient], 4);
  EXPECT_EQ(roles(RunMode::train, {"conv2d"})[Role::gradient], 2);
}

// One sample of the first node has 2 MiB: a slice of 2 samples stays in the cache.
TEST(Divide, SlicesOfInferenceFitIntoTheCache) {
  const auto divided = [](int64_t batch, int slices) {
    const SliceDivision coarse = divide(batch, slices);
    ir::Graph graph;
    ir::Value* x = graph.add_input("x", ir::InputRole::feed,
                                   ir::TensorType{DType::f32, {coarse.slice_batch, 256, 1024}});
    graph.add_output(ir::OutputRole::result, "y",
                     ops::append(graph, {.op = "relu", .inputs = {x}})->output());
    return fit_into_cache(coarse, batch, graph);
  };
  const auto expect = [&](int64_t batch, int slices, const SliceDivision& wanted) {
    const SliceDivision found = divided(batch, slices);
    EXPECT_EQ(found.slices, wanted.slices) << batch;
    EXPECT_EQ(found.slice_batch, wanted.slice_batch) << batch;
    EXPECT_EQ(found.division, wanted.division) << batch;
  };
  using compiler::Division;
  expect(16, 2, {8, 2, Division::batch});
  expect(15, 2, {8, 2, Division::batch});
  expect(4, 2, {2, 2, Division::batch});
  expect(2048, 2, {128, 16, Division::batch});  // no more than 64 slices for each worker
  expect(2, 2, {2, 1, Division::batch});
  expect(1, 2, {2, 1, Division::parts});
}

}  // namespace
}  // namespace pando::train
