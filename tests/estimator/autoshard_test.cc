#include "pando/estimator/autoshard.h"

#include <gtest/gtest.h>

#include "pando/base/random.h"
#include "pando/nn/layers.h"
#include "tests/support/expect_error.h"
#include "tests/support/training_graphs.h"

namespace pando::estimator {
namespace {

using testing_support::error_of;
using Names = std::vector<std::string>;

// Tries all choices, in the order of combinations.
std::vector<int> brute_force(const std::vector<int64_t>& costs, int parts) {
  const auto count = static_cast<int>(costs.size());
  std::vector<int> cuts, best;
  for (int i = 1; i < parts; ++i) cuts.push_back(i);
  std::pair<int64_t, int64_t> least{-1, 0};
  while (true) {
    std::vector<int64_t> sums(static_cast<size_t>(parts), 0);
    for (int i = 0, part = 0; i < count; ++i) {
      if (part < parts - 1 && cuts[static_cast<size_t>(part)] == i) ++part;
      sums[static_cast<size_t>(part)] += costs[static_cast<size_t>(i)];
    }
    std::pair<int64_t, int64_t> found{0, 0};
    for (const int64_t sum : sums) {
      found.first = std::max(found.first, sum);
      found.second += sum * sum;
    }
    if (least.first < 0 || found < least) least = found, best = cuts;
    int at = parts - 2;
    while (at >= 0 && cuts[static_cast<size_t>(at)] == count - (parts - 1 - at)) --at;
    if (at < 0) return best;
    ++cuts[static_cast<size_t>(at)];
    for (int i = at + 1; i < parts - 1; ++i) {
      cuts[static_cast<size_t>(i)] = cuts[static_cast<size_t>(i) - 1] + 1;
    }
  }
}

TEST(ChooseCuts, IsWhatLookingAtAllChoicesGives) {
  int differing = 0;
  for (uint64_t round = 0; round < 400; ++round) {
    RandomStream random(round);
    std::vector<int64_t> costs(1 + random.next_below(10));
    // Small numbers make ties likely, and zeros stand for layers without memory.
    for (int64_t& cost : costs) {
      cost = static_cast<int64_t>(random.next_below(round % 2 == 0 ? 4 : 1000));
    }
    const auto parts = static_cast<int>(1 + random.next_below(costs.size()));
    const std::vector<int> cuts = choose_cuts(costs, parts);
    EXPECT_EQ(cuts, brute_force(costs, parts)) << "round " << round;
    differing += cuts.size() > 1 ? 1 : 0;
  }
  EXPECT_GT(differing, 100);
}

TEST(ChooseCuts, TheLargestPartComesFirstThenVarianceThenOrder) {
  EXPECT_EQ(choose_cuts({1, 2, 3, 4}, 2), std::vector<int>{3});
  // The largest part is 6 either way; 6 1 3 has a greater variance than 6 2 2.
  EXPECT_EQ(choose_cuts({6, 1, 1, 2}, 3), (std::vector<int>{1, 3}));
  EXPECT_EQ(choose_cuts({5, 0, 5}, 2), std::vector<int>{1});  // both cuts are equally good
  EXPECT_EQ(choose_cuts({7}, 1), std::vector<int>{});
  EXPECT_THROW(choose_cuts({7}, 2), InternalError);
}

ShardRequest request_for(const Network& network, int shards, int64_t batch = 1) {
  return {.shards = shards,
          .batch = batch,
          .fields = {{"x", DType::f32, network.inputs()[0].shape},
                     {"y", DType::f32, network.outputs()[0].shape}},
          .loss = "mse",
          .optimizer = SGD({.learning_rate = 0.1, .momentum = 0.9})};
}

Network dense_chain() {
  return Sequential({8}, {Dense({.units = 16, .name = "a"}), Dense({.units = 4, .name = "b"}),
                          Dense({.units = 4, .name = "c"})});
}

// Parameters of a: 8 * 16 + 16 = 144, of b: 68, of c: 20; each with a slot. Backward reads the
// results of a and b for the gradients of kernels and the result of c for the loss: 16, 4 and 4
// numbers per sample. The features are fed, so they do not count.
TEST(Autoshard, CountsWeightsSlotsAndSavedResults) {
  const Network network = dense_chain();
  const Sharding three = choose_shards(network, request_for(network, 3, 10));
  EXPECT_EQ(three.first_layers, (Names{"b", "c"}));
  EXPECT_EQ(three.shard_of, (std::vector<int>{0, 1, 2}));
  ASSERT_EQ(three.memory.size(), 3u);
  EXPECT_EQ(three.memory[0].parameters, 2 * 144 * 4);
  EXPECT_EQ(three.memory[0].activations, 10 * 16 * 4);
  EXPECT_EQ(three.memory[1].parameters, 2 * 68 * 4);
  EXPECT_EQ(three.memory[1].activations, 10 * 4 * 4);
  EXPECT_EQ(three.memory[2].parameters, 2 * 20 * 4);
  EXPECT_EQ(three.memory[2].activations, 10 * 4 * 4);
  EXPECT_EQ(three.memory[2].total(), 2 * 20 * 4 + 10 * 4 * 4);

  const Sharding two = choose_shards(network, request_for(network, 2, 10));
  EXPECT_EQ(two.first_layers, Names{"b"});
  EXPECT_EQ(two.memory[1].total(), three.memory[1].total() + three.memory[2].total());
}

TEST(Autoshard, CountsTheSlotsOfTheOptimizer) {
  const Network network = dense_chain();
  ShardRequest request = request_for(network, 3, 10);
  request.optimizer = Adam();
  EXPECT_EQ(choose_shards(network, request).memory[0].parameters, 3 * 144 * 4);
  request.optimizer = SGD({.learning_rate = 0.1});
  EXPECT_EQ(choose_shards(network, request).memory[0].parameters, 144 * 4);
}

TEST(Autoshard, TheBatchDecidesWhetherWeightsOrResultsMatter) {
  const auto conv = [](const char* name) {
    return Conv2D(
        {.filters = 8, .kernel = {3, 3}, .padding = "same", .activation = "relu", .name = name});
  };
  const Network network =
      Sequential({8, 8, 1}, {conv("conv"), conv("conv2"), GlobalAveragePooling2D({.name = "pool"}),
                             Dense({.units = 64, .name = "dense"})});
  EXPECT_EQ(choose_shards(network, request_for(network, 2, 1)).first_layers, Names{"pool"});
  EXPECT_EQ(choose_shards(network, request_for(network, 2, 100)).first_layers, Names{"conv2"});
}

TEST(Autoshard, ViewsAndPooledActivationsCountOnce) {
  const Network network =
      Sequential({4, 4, 1}, {Conv2D({.filters = 8,
                                     .kernel = {3, 3},
                                     .padding = "same",
                                     .activation = "relu",
                                     .name = "conv"}),
                             MaxPooling2D({.pool = {2, 2}, .name = "pool"}),
                             Flatten({.name = "flatten"}), Dense({.units = 2, .name = "dense"})});
  const Sharding sharding = choose_shards(network, request_for(network, 4, 1));
  ASSERT_EQ(sharding.memory.size(), 4u);
  EXPECT_EQ(sharding.memory[0].activations, 0);            // backward reads the pooled values
  EXPECT_EQ(sharding.memory[1].activations, 32 * 4 + 32);  // and their positions, in one byte each
  EXPECT_EQ(sharding.memory[2].activations, 0);  // a view of the result of the layer before
  EXPECT_EQ(sharding.memory[3].activations, 2 * 4);
}

SymbolicTensor residual_block(const SymbolicTensor& x, const std::string& name) {
  SymbolicTensor y = Dense({.units = 4, .activation = "relu", .name = name + "_1"})(x);
  y = Dense({.units = 4, .name = name + "_2"})(y);
  return Add({.name = name + "_add"})({x, y});
}

TEST(Autoshard, NoCutIsInsideAResidualBlock) {
  const SymbolicTensor input = Input({4});
  SymbolicTensor x = Dense({.units = 4, .name = "stem"})(input);
  for (const char* name : {"one", "two", "three"}) x = residual_block(x, name);
  const Network network(input, Dense({.units = 2, .name = "head"})(x));
  // The edge into a block is not a cut, since another edge leads into the sum; the edge out of the
  // last block is a cut.
  const std::string message = error_of([&] { choose_shards(network, request_for(network, 9)); });
  EXPECT_SAYS(message, "9 shards");
  EXPECT_SAYS(message, "at most 2 (cuts before head)");
  EXPECT_SAYS(message, "num_shards 2");
}

TEST(Autoshard, ALayerBetweenBlocksMakesRoomForACut) {
  const SymbolicTensor input = Input({4});
  SymbolicTensor x = Dense({.units = 4, .name = "stem"})(input);
  for (const char* name : {"one", "two"}) {
    x = ReLU({.name = std::string(name) + "_relu"})(x);
    x = residual_block(x, name);
  }
  const Network network(input, Dense({.units = 4, .name = "head"})(x));
  EXPECT_EQ(choose_shards(network, request_for(network, 4)).first_layers,
            (Names{"one_relu", "two_relu", "head"}));
  const Sharding sharding = choose_shards(network, request_for(network, 2));
  const Network sharded = shard(network, sharding);
  EXPECT_TRUE(to_text(sharding).starts_with("autosharding: shard 0 from the input ("))
      << to_text(sharding);
  EXPECT_EQ(sharded.stages(), 2);
}

TEST(Autoshard, NoCutIsWhereALayerIsSharedAcrossIt) {
  const SymbolicTensor input = Input({4});
  const Layer shared = Dense({.units = 4, .name = "shared"});
  SymbolicTensor x = Dense({.units = 4, .name = "a"})(input);
  x = shared(x);
  x = Dense({.units = 4, .name = "b"})(x);
  x = shared(x);
  x = Dense({.units = 4, .name = "c"})(x);
  const Network network(input, x);
  const Sharding sharding = choose_shards(network, request_for(network, 3));
  EXPECT_EQ(sharding.first_layers, (Names{"shared", "c"}));
  EXPECT_EQ(sharding.shard_of, (std::vector<int>{0, 1, 1, 1, 2}));
  EXPECT_EQ(sharding.memory[1].parameters, 2 * (20 + 20) * 4);  // the shared weights once
  EXPECT_EQ(sharding.memory[1].activations, 3 * 4 * 4);         // the results of both calls
  EXPECT_SAYS(error_of([&] { shard(network, choose_shards(network, request_for(network, 4))); }),
              "at most 3 (cuts before shared, c)");
}

TEST(Autoshard, AnEdgeThatIsThereTwiceIsNoCut) {
  const SymbolicTensor input = Input({4});
  const SymbolicTensor a = Dense({.units = 4, .name = "a"})(input);
  const Network network(input, Add({.name = "twice"})({a, a}));
  EXPECT_SAYS(error_of([&] { shard(network, choose_shards(network, request_for(network, 2))); }),
              "at most 1 (");
}

TEST(Autoshard, TheFeaturesMayBeReadByTheFirstShardOnly) {
  const SymbolicTensor input = Input({4});
  SymbolicTensor x = Dense({.units = 4, .name = "a"})(input);
  x = Dense({.units = 4, .name = "b"})(x);
  x = Add({.name = "skip"})({input, x});
  x = Dense({.units = 4, .name = "c"})(x);
  const Network network(input, x);
  EXPECT_EQ(choose_shards(network, request_for(network, 2)).first_layers, Names{"c"});
  EXPECT_SAYS(error_of([&] { shard(network, choose_shards(network, request_for(network, 3))); }),
              "at most 2 (");
}

TEST(Autoshard, AuxiliaryInputsReachEveryShard) {
  const SymbolicTensor input = Input({4});
  const SymbolicTensor gate = Input({4}, {.name = "gate", .auxiliary = true});
  SymbolicTensor x = Dense({.units = 4, .name = "a"})(input);
  x = Multiply({.name = "gated"})({x, gate});
  x = Dense({.units = 4, .name = "b"})(x);
  x = Multiply({.name = "gated_again"})({x, gate});
  const Network network({input, gate}, x);
  ShardRequest request = request_for(network, 4);
  request.fields.push_back({"gate", DType::f32, {4}});
  EXPECT_EQ(choose_shards(network, request).first_layers, (Names{"gated", "b", "gated_again"}));
}

TEST(Autoshard, OneShardIsTheNetworkAsItIs) {
  const Network network = dense_chain();
  const Network same = shard(network, choose_shards(network, request_for(network, 1)));
  EXPECT_EQ(same.stages(), 1);
  EXPECT_EQ(same.stage_assignment()[0].pipeline_stage, -1);
  EXPECT_SAYS(error_of([&] { shard(network, choose_shards(network, request_for(network, 0))); }),
              "got 0");
}

TEST(Autoshard, StagesOfTheUserExcludeIt) {
  const Network network = dense_chain();
  const std::string message = error_of([&] {
    shard(network.with_splits({"b"}),
          choose_shards(network.with_splits({"b"}), request_for(network, 2)));
  });
  EXPECT_SAYS(message, "autosharding: ");
  EXPECT_SAYS(message, "layer 'a' is in stage 0");
}

struct ZooCase {
  const char* name;
  int64_t batch;
  int shards;
  double largest_share;  // of all memory; for even shards it is 1 / shards
};
void PrintTo(const ZooCase& param, std::ostream* out) { *out << param.name; }

class AutoshardZoo : public testing::TestWithParam<ZooCase> {};

TEST_P(AutoshardZoo, ShardsAreNearlyEven) {
  const ZooCase& param = GetParam();
  const TestNetwork test = test_network(param.name, zoo_entry(param.name).input_shape);
  const ShardRequest request{.shards = param.shards,
                             .batch = param.batch,
                             .fields = training_fields(test),
                             .loss = test.loss,
                             .optimizer = SGD({.learning_rate = 0.1, .momentum = 0.9})};
  const Sharding sharding = choose_shards(test.network, request);
  int64_t sum = 0, largest = 0;
  std::string shards;
  for (size_t i = 0; i < sharding.memory.size(); ++i) {
    const ShardMemory& memory = sharding.memory[i];
    sum += memory.total();
    largest = std::max(largest, memory.total());
    shards += concat(i > 0 ? sharding.first_layers[i - 1] : "input", " ", memory.parameters, " + ",
                     memory.activations, "; ");
  }
  EXPECT_LT(static_cast<double>(largest) / static_cast<double>(sum), param.largest_share) << shards;
  EXPECT_EQ(shard(test.network, sharding).stages(), param.shards);
}

INSTANTIATE_TEST_SUITE_P(Zoo, AutoshardZoo,
                         testing::Values(ZooCase{"cifar10_cnn", 32, 2, 0.52},
                                         ZooCase{"cifar_resnet56", 32, 4, 0.27},
                                         ZooCase{"resnet50", 4, 4, 0.29}),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace pando::estimator
