#include "pando/compiler/memory_map.h"

#include <gtest/gtest.h>

#include "tests/compiler/program_of.h"
#include "tests/compiler/split_networks.h"

namespace pando::compiler {
namespace {

bool meet(const MemoryBlock& a, const MemoryBlock& b) {
  const bool together = a.first <= b.last && b.first <= a.last;
  const bool apart = a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset;
  return a.region == b.region && a.stage == b.stage && together && !apart;
}

// Blocks that live at the same time must not overlap. The map is computed independently of the
// plan, so that each checks the other.
void expect_sound(const Program& program) {
  const MemoryMap map = memory_map(program);
  for (size_t i = 0; i < map.blocks.size(); ++i) {
    for (size_t j = i + 1; j < map.blocks.size(); ++j) {
      EXPECT_FALSE(meet(map.blocks[i], map.blocks[j]))
          << describe(map.blocks[i]) << " and " << describe(map.blocks[j]);
    }
  }
  for (const StageMap& stage : map.stages) {
    EXPECT_EQ(stage.live.size(), program.calls().size());
    EXPECT_LE(stage.peak_bytes, stage.bytes);
    EXPECT_EQ(stage.peak_bytes, *std::max_element(stage.live.begin(), stage.live.end()));
    size_t sum = 0;
    for (const MemoryBlock* block : live_at(map, stage.stage, stage.peak_call)) {
      sum += block->bytes;
    }
    EXPECT_EQ(sum, stage.peak_bytes);
  }
}

class MapOfPipeline : public testing::TestWithParam<SplitNetwork> {};

TEST_P(MapOfPipeline, NoTwoBlocksMeet) {
  for (const Recomputation mode : kModes) {
    SCOPED_TRACE(label_of(mode));
    expect_sound(*compile(training_graph(GetParam().build(), 4),
                          {.slices = 2, .pipelined = true, .recomputation = mode}));
  }
  expect_sound(*compile(graph_of(GetParam().build(), RunMode::predict, 4),
                        {.slices = 2, .pipelined = true}));
}

TEST_P(MapOfPipeline, NorWithoutAPipeline) {
  const TestNetwork whole = test_network(GetParam().network, GetParam().input_shape);
  expect_sound(*compile(training_graph(whole, 4), {.slices = 2}));
  expect_sound(*compile(training_graph(whole, 4), {.disabled_passes = {"plan-memory"}}));
}

INSTANTIATE_TEST_SUITE_P(Zoo, MapOfPipeline, testing::ValuesIn(split_networks()),
                         [](const auto& split) { return split.param.label; });

const MemoryBlock& block_of(const MemoryMap& map, const std::string& value) {
  for (const MemoryBlock& block : map.blocks) {
    for (const ir::Value* held : block.values) {
      if (held->name() == value) return block;
    }
  }
  throw std::runtime_error("no block of " + value);
}

TEST(MemoryMap, LifetimesAreCallsAndViewsLieInTheirSource) {
  const auto program = program_of(R"(graph(x: f32[4,2,2,4] feed) {
    a = softmax(x)
    v = reshape(a) {shape=[16]}
    b = softmax(x)
    c = softmax(v)
    d = reshape(c) {shape=[2,2,4]}
    e = add(d, b)
    return result e=e })");
  const MemoryMap map = memory_map(*program);  // calls: a b c e
  EXPECT_EQ(block_of(map, "x").first, -1);
  EXPECT_EQ(block_of(map, "x").last, 1);
  EXPECT_EQ(&block_of(map, "v"), &block_of(map, "a"));
  EXPECT_EQ(block_of(map, "a").first, 0);
  EXPECT_EQ(block_of(map, "a").last, 2);
  EXPECT_EQ(block_of(map, "e").last, 3);
  EXPECT_EQ(describe(block_of(map, "x")), "fed 'x' f32[4,2,2,4]");
  EXPECT_EQ(describe(block_of(map, "a")), "softmax 'softmax' f32[4,2,2,4]");
}

TEST(MemoryMap, WhatOtherSlicesReadLivesToTheEnd) {
  const auto program =
      program_of(R"(graph(x: f32[4,16] feed, g: f32[16] variable, b: f32[16] variable) {
    m = batch_moments(x)
    mean, variance, unbiased = combine_moments(m)
    y = batch_norm(x, mean, variance, g, b) {batch_statistics=1}
    z = softmax(y)
    return result z=z })",
                 {.slices = 2});
  EXPECT_EQ(block_of(memory_map(*program), "m").last, 3);
}

TEST(MemoryMap, WhatIsKeptLivesInAllCalls) {
  const auto program = program_of(R"(graph(x: f32[4,8] feed, dy: f32[4,2] feed,
                                           k: f32[8,2] variable) {
    y = dense(x, k)
    a = dense_filter_grad(x, dy)
    return gradient k=a, result y=y })");
  const MemoryBlock gradient = block_of(memory_map(*program), "a");
  EXPECT_EQ(gradient.region, Region::gradients);
  EXPECT_EQ(gradient.first, -1);
  EXPECT_EQ(gradient.last, 1);
}

TEST(MemoryPicture, ShowsBlocksOverCalls) {
  const auto program = program_of(R"(graph(x: f32[16,64] feed) {
    a = softmax(x)
    b = softmax(a)
    return result b=b })");
  const MemoryMap map = memory_map(*program);
  // x and b use the same memory below a, one after the other.
  EXPECT_EQ(memory_picture(*program, map, 0, {.rows = 2, .columns = 8}),
            "     8.0 KiB |CCCCCCCC|\n"
            "     4.0 KiB |AAAABBBB|\n"
            "              call 0 1\n"
            "    A    4.0 KiB  calls 0-0       fed 'x' f32[16,64]\n"
            "    B    4.0 KiB  calls 1-1       softmax 'softmax' f32[16,64]\n"
            "    C    4.0 KiB  calls 0-1       softmax 'softmax' f32[16,64]\n");
}

// The letters of the legend. Checks that all of them are in the picture.
std::string letters_of(const std::string& picture) {
  const size_t end = picture.rfind('|');
  std::string letters;
  for (size_t line = picture.find('\n', end); line + 5 < picture.size();
       line = picture.find('\n', line + 1)) {
    const char letter = picture[line + 5];
    if (picture.compare(line + 1, 4, "    ") != 0 || letter < 'A' || letter > 'Z') continue;
    letters += letter;
    EXPECT_LT(picture.find(letter, picture.find('|')), end) << letter << "\n" << picture;
  }
  return letters;
}

TEST(MemoryPicture, WhatIsSmallerThanARowIsShown) {
  const auto program = program_of(R"(graph(x: f32[16,64] feed, z: f32[4,64] feed) {
    a = softmax(x)
    b = softmax(z)
    c = softmax(a)
    d = softmax(b)
    return result c=c, result d=d })");
  const MemoryMap map = memory_map(*program);
  for (const int rows : {3, 4, 14}) {
    SCOPED_TRACE(rows);
    EXPECT_EQ(letters_of(memory_picture(*program, map, 0, {.rows = rows})), "ABCDEF");
  }
  // If there are fewer cells than blocks, some blocks have no letter, but no letter is skipped.
  const std::string little = memory_picture(*program, map, 0, {.rows = 1, .columns = 3});
  EXPECT_EQ(letters_of(little), "ABC") << little;
  EXPECT_NE(little.find("+ 3 other blocks"), std::string::npos) << little;
}

TEST_P(MapOfPipeline, EveryLetterIsInThePicture) {
  const TestNetwork whole = test_network(GetParam().network, GetParam().input_shape);
  const auto program = compile(training_graph(whole, 4), {.slices = 2});
  const std::string letters = letters_of(memory_picture(*program, memory_map(*program), 0));
  EXPECT_GE(letters.size(), 10u);
  EXPECT_EQ(letters, std::string("ABCDEFGHIJKLMNOP").substr(0, letters.size()));
}

// A cell is free only if nothing lives in it.
TEST(MemoryPicture, OccupiedMemoryNeverLooksFree) {
  const auto program = program_of(R"(graph(x: f32[16,64] feed) {
    a = softmax(x)
    b = softmax(a)
    return result b=b })");
  MemoryMap map = memory_map(*program);
  for (MemoryBlock& block : map.blocks) {
    block.bytes = 1024;  // a quarter of its row
  }
  const std::string text = memory_picture(*program, map, 0, {.rows = 2, .columns = 8});
  EXPECT_EQ(text.find("|."), std::string::npos) << text;
  EXPECT_EQ(text.find(".|"), std::string::npos) << text;
}

TEST(MemoryPicture, OfNothingIsEmpty) {
  const auto program = program_of("graph(x: f32[2,4] feed) { a = softmax(x) return result a=a }",
                                  {.pipelined = true, .stages = 2});
  EXPECT_EQ(memory_picture(*program, memory_map(*program), 1), "");
}

TEST(MemoryMap, RegionsHaveNames) {
  EXPECT_EQ(to_string(Region::activations), "activations");
  EXPECT_EQ(to_string(Region::held_sums), "held sums");
  EXPECT_EQ(to_string(Region::external), "variables");
  EXPECT_TRUE(is_working(Region::sums));
  EXPECT_FALSE(is_working(Region::held_activations));
}

}  // namespace
}  // namespace pando::compiler
