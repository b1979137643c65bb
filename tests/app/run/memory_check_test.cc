#include "pando/app/run/memory_check.h"

#include <filesystem>

#include "pando/base/memory_limit.h"
#include "pando/base/memory_use.h"
#include "pando/data/image/png.h"
#include "tests/app/training_run_fixture.h"
#include "tests/support/expect_error.h"

namespace pando::app {
namespace {

using testing_support::error_of;

constexpr int64_t kMiB = int64_t{1} << 20;

class MemoryCheck : public TrainingRunTest {
 protected:
  void TearDown() override { set_memory_limit(0); }

  // The table of a run, of its phase that takes most.
  std::string table(const TrainOptions& options) {
    TrainingSetup setup(options, out_);
    return check_memory(setup);
  }
  // A run whose validation takes more memory than its training.
  TrainOptions long_validation() const {
    TrainOptions given = options("run");
    given.phases.validation_micro_batch_size = 50 * given.micro_batch_size;
    return given;
  }
};

TEST_F(MemoryCheck, CountsAllThatTrainingHolds) {
  TrainOptions given = options("run");
  given.trace = (folder_.path / "trace.json").string();
  given.phases.validation_micro_batch_size = 1;
  const std::string text = table(given);
  for (const char* row :
       {"training: activations", "training: gradients and sums", "training: packed weights",
        "training: optimizer slots", "training: ", " batches ahead", "validation: activations",
        "copies of weights and optimizer slots, checkpoints", "trace", "total", "are left"}) {
    EXPECT_SAYS(text, row);
  }
  EXPECT_EQ(text.find("decoded images"), std::string::npos) << text;
}

TEST_F(MemoryCheck, CountsAllThatValidationHolds) {
  for (const ValidationTime time : {ValidationTime::during, ValidationTime::after}) {
    TrainOptions given = long_validation();
    given.phases.validation = time;
    EXPECT_SAYS(table(given), "training: activations", "validation: activations", " batches ahead",
                "a checkpoint that is read", "class report: program", "class report: outputs");
  }
  TrainOptions none = long_validation();
  none.phases.validation = ValidationTime::off;
  EXPECT_EQ(table(none).find("validation: "), std::string::npos);
}

TEST_F(MemoryCheck, CountsPicturesThatAreDecoded) {
  Image picture({32, 32});
  const std::vector<uint8_t> png = encode_png(picture.view());
  for (const char* place : {"train/a", "train/b", "validation/a", "validation/b"}) {
    std::filesystem::create_directories(folder_.path / place);
    for (int i = 0; i < 8; ++i) {
      folder_.write(concat(place, "/", i, ".png"), std::string(png.begin(), png.end()));
    }
  }
  TrainOptions given = options("run");
  given.model = "toy_model";
  given.data.dataset = "image_folder";
  given.data.image_size = 32;
  given.micro_batch_size = 4;
  EXPECT_SAYS(table(given), "decoded images");
}

TEST_F(MemoryCheck, RefusesWithWhatWouldFit) {
  TrainOptions given = options("run");
  given.micro_batch_size = 128;
  given.phases.validation = ValidationTime::off;
  // What the run already holds does not count.
  const auto check_in = [&](int64_t left) {
    set_memory_limit(0);
    TrainingSetup setup(given, out_);
    set_memory_limit(memory_use().resident + left);
    check_memory(setup);
  };
  const std::string text = error_of<OverMemoryLimit>([&] { check_in(8 * kMiB); });
  EXPECT_SAYS(text, "the run needs", "memory limit", "training: activations", "--memory-limit");
  const std::string words = "what would help: --micro-batch-size ";
  ASSERT_NE(text.find(words), std::string::npos) << text;
  const int64_t fitting = std::stoll(text.substr(text.find(words) + words.size()));
  EXPECT_GE(fitting, 8) << text;
  EXPECT_LT(fitting, 100) << text;
  given.micro_batch_size = fitting;
  EXPECT_NO_THROW(check_in(9 * kMiB)) << text;
}

TEST_F(MemoryCheck, ARefusedRunLeavesNothingBehind) {
  TrainOptions given = options("run");
  given.devices.memory_limit.bytes = 1;
  EXPECT_SAYS(error_of<OverMemoryLimit>([&] { run_training(given); }), "no micro-batch fits");
  EXPECT_FALSE(std::filesystem::exists(folder_.path / "run"));
}

}  // namespace
}  // namespace pando::app
