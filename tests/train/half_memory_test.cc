// The memory of training in 16 bits, without allocating it.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "pando/runtime/program/device_memory.h"
#include "pando/train/programs.h"
#include "pando/zoo/zoo.h"

namespace pando::train {
namespace {

struct Case {
  std::string model;
  Shape image;
  int64_t classes = 10;
  int64_t batch = 32;
};

// Bytes of a device of two workers that trains the model.
double arena_of(const Case& one, const std::string& precision) {
  const Network network = zoo_entry(one.model).build(one.image, one.classes);
  const Losses loss = "sparse_categorical_crossentropy";
  const Metrics metrics = {"accuracy"};
  const SliceDivision division = divide(one.batch, 2);
  const std::vector<Field> fields = {{"x", DType::f32, one.image}, {"y", DType::i32, Shape{}}};
  ir::Graph graph = build_graph(
      network,
      {.batch = division.slice_batch, .fields = fields, .loss = &loss, .metrics = &metrics});
  const auto program = compiler::compile(
      std::move(graph), {.slices = division.slices, .precision = parse_precision(precision)});
  const runtime::DeviceLoad load = runtime::device_load(*program, {}, 0, 2);
  return static_cast<double>(runtime::memory_use(*program, load).total());
}

TEST(HalfMemory, AnArenaShrinksToSixTenths) {
  const std::vector<Case> cases = {{.model = "cifar_resnet20", .image = {32, 32, 3}},
                                   {"resnet50", {224, 224, 3}, 1000, 16}};
  for (const Case& one : cases) {
    const double whole = arena_of(one, "32.32");
    for (const char* half : {"16.16", "bf16.16"}) {
      EXPECT_LE(arena_of(one, half), 0.6 * whole) << one.model << " in " << half;
    }
    EXPECT_LT(arena_of(one, "16.32"), 0.7 * whole) << one.model;
  }
}

}  // namespace
}  // namespace pando::train
