#include "pando/train/run_memory.h"

#include "pando/base/memory_use.h"
#include "tests/train/train_support.h"

namespace pando {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

class RunMemoryTest : public ::testing::Test {
 protected:
  void TearDown() override { set_memory_limit(0); }

  static Network wide() {
    return Sequential({64, 64, 3}, {Conv2D({.filters = 32, .kernel = {3, 3}}), Flatten(),
                                    Dense({.units = 2, .activation = "softmax"})});
  }
  static std::vector<Field> fields() {
    return {{"x", DType::f32, {64, 64, 3}}, {"y", DType::i32, {}}};
  }
  static int64_t bytes_of(const RunMemory& memory, const std::string& word) {
    int64_t bytes = 0;
    for (const MemoryItem& item : memory.items) {
      if (item.what.find(word) != std::string::npos) bytes += item.bytes;
    }
    return bytes;
  }
};

TEST_F(RunMemoryTest, CountsProgramsSlotsAndBatchesBeforeTheyAreTaken) {
  Model model = compiled(wide(), classifier(Adam()));
  const RunPart part{.mode = RunMode::train, .batch_size = 64, .fields = fields()};
  const RunMemory plan = model.memory_of(part);
  EXPECT_EQ(bytes_of(plan, "optimizer slots"), 2 * plan.state / 3);  // of Adam: two per weight
  EXPECT_GE(bytes_of(plan, "batches"), 4 * 64 * 64 * 64 * 3 * 4);
  EXPECT_GT(bytes_of(plan, "activations"), 0);
  EXPECT_EQ(plan.total(), plan.held + plan.to_come());
  EXPECT_SAYS(to_text(plan, memory_limits()), "training: activations", "total", "are left");
  // A larger batch needs more, and what is bound is not needed again.
  EXPECT_GT(model.memory_of({.batch_size = 128, .fields = fields()}).to_come(), plan.to_come());
  const int64_t before = memory_use().resident;
  model.prepare(RunMode::train, 64, fields());
  const RunMemory after = model.memory_of(part);
  EXPECT_EQ(bytes_of(after, "activations"), 0);
  EXPECT_EQ(after.to_come(), bytes_of(plan, "batches"));
  const auto planned = static_cast<double>(plan.to_come() - after.to_come());
  EXPECT_NEAR(static_cast<double>(memory_use().resident - before), planned, 0.25 * planned);
}

TEST_F(RunMemoryTest, RefusesBeforeAnythingIsTaken) {
  Model model = compiled(wide(), classifier());
  const int64_t before = memory_use().resident;
  set_memory_limit(before + 40 * kMiB);
  const std::string text =
      error_of<OverMemoryLimit>([&] { model.prepare(RunMode::train, 512, fields()); });
  EXPECT_SAYS(text, "memory limit", "are left", "training: activations", "batch_size");
  EXPECT_LT(memory_use().resident, before + 20 * kMiB);
  // Batches alone may be too much.
  const Dataset data = Dataset::generate(1024, fields(), [](const SampleView&) {});
  set_memory_limit(memory_use().resident + 40 * kMiB);
  EXPECT_SAYS(error_of<OverMemoryLimit>(
                  [&] { model.fit(data, {.batch_size = 16, .prefetch_depth = 64, .verbose = 0}); }),
              "batches ahead");
  EXPECT_NO_THROW(model.fit(data.take(32), {.batch_size = 4, .prefetch_depth = 1, .verbose = 0}));
}

TEST_F(RunMemoryTest, WeightsAndCachesAreRefusedToo) {
  EXPECT_SAYS(error_of<OverMemoryLimit>(
                  [] { Model(Sequential({1 << 20}, {Dense({.units = int64_t{1} << 22})})); }),
              "the weights of the model need", "are left");
  const Dataset large = Dataset::generate(int64_t{1} << 32, fields(), [](const SampleView&) {});
  EXPECT_SAYS(error_of<OverMemoryLimit>([&] { large.cache(); }), "cache", "are left");
}

}  // namespace
}  // namespace pando
