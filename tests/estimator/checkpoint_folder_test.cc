// SPDX-License-Identifier: MIT
#include "pando/estimator/checkpoint_folder.h"

#include <cmath>

#include "tests/train/train_support.h"

namespace pando::estimator {
namespace {

namespace fs = std::filesystem;

TrainingState state_of(float value = 1) {
  TrainingState state;
  Tensor weight(DType::f32, {2});
  weight.f32()[0] = value;
  state.weights.layers = {{"dense", {{"kernel", weight}}}};
  state.optimizer = "sgd";
  return state;
}

// Without the lock.
std::vector<std::string> files_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    names.push_back(entry.path().filename().string());
  }
  std::erase(names, ".lock");
  std::ranges::sort(names);
  return names;
}

TEST(CheckpointFolder, NamesTellTheStep) {
  EXPECT_EQ(checkpoint_name(300), "model.ckpt-300.h5");
  EXPECT_EQ(step_of("model.ckpt-300.h5"), 300);
  for (const char* other : {"model.ckpt-.h5", "model.ckpt-3", "ckpt-3.h5", "model.ckpt-3x.h5"}) {
    EXPECT_FALSE(step_of(other)) << other;
  }
}

TEST(CheckpointFolder, KeepsTheLastOnes) {
  const TempFolder folder;
  {
    CheckpointFolder checkpoints(folder.path("out/model"), {.most = 2});
    for (const int64_t step : {10, 20, 30}) checkpoints.save(state_of(), step);
  }
  EXPECT_EQ(files_in(folder.path("out/model")),
            (std::vector<std::string>{"checkpoint", "model.ckpt-20.h5", "model.ckpt-30.h5"}));
  EXPECT_EQ(newest_checkpoint(folder.path("out/model"), {})->global_step, 30);
  // Another run finds them too.
  CheckpointFolder(folder.path("out/model"), {.most = 2}).save(state_of(), 40);
  EXPECT_EQ(files_in(folder.path("out/model")),
            (std::vector<std::string>{"checkpoint", "model.ckpt-30.h5", "model.ckpt-40.h5"}));
}

TEST(CheckpointFolder, HasOneWriterAtATime) {
  const TempFolder folder;
  CheckpointFolder first(folder.path(), {});
  first.save(state_of(), 1);
  EXPECT_SAYS(error_of<ResourceError>([&] { CheckpointFolder second(folder.path(), {}); }),
              "model_dir", folder.path());
  first.save(state_of(), 2);
  EXPECT_EQ(newest_checkpoint(folder.path(), {})->global_step, 2);
}

TEST(CheckpointFolder, KeepsAllWithoutALimit) {
  const TempFolder folder;
  {
    CheckpointFolder checkpoints(folder.path(), {.most = 0});
    for (int64_t step = 0; step < 8; ++step) checkpoints.save(state_of(), step);
  }
  EXPECT_EQ(files_in(folder.path()).size(), 9);
}

TEST(CheckpointFolder, KeepsOneOfSoManyHours) {
  const TempFolder folder;
  double hour = 0;
  CheckpointFolder checkpoints(folder.path(),
                               {.most = 1, .one_of_hours = 2, .clock = [&] { return hour; }});
  for (; hour < 6; hour += 1) checkpoints.save(state_of(), static_cast<int64_t>(hour));
  EXPECT_EQ(files_in(folder.path()),
            (std::vector<std::string>{"checkpoint", "model.ckpt-2.h5", "model.ckpt-4.h5",
                                      "model.ckpt-5.h5"}));
}

TEST(CheckpointFolder, GoesOnFromTheOneThatTheIndexNames) {
  const TempFolder folder;
  CheckpointFolder checkpoints(folder.path(), {});
  checkpoints.save(state_of(), 10);
  checkpoints.save(state_of(), 20);
  folder.write_text("checkpoint", "model_checkpoint_path: \"model.ckpt-10.h5\"\n");
  EXPECT_EQ(newest_checkpoint(folder.path(), {})->global_step, 10);
  fs::remove(folder.path("checkpoint"));
  EXPECT_EQ(newest_checkpoint(folder.path(), {})->global_step, 20);
}

TEST(CheckpointFolder, LeavesAloneWhatTheIndexOfAnotherProgramNames) {
  const TempFolder folder;
  folder.write_text("theirs", "");
  folder.write_text("checkpoint",
                    "model_checkpoint_path: \"theirs\"\nall_model_checkpoint_paths: \"theirs\"\n");
  std::vector<std::string> lines;
  EXPECT_FALSE(
      newest_checkpoint(folder.path(), [&](std::string_view line) { lines.emplace_back(line); }));
  EXPECT_TRUE(lines.empty());
  CheckpointFolder checkpoints(folder.path(), {.most = 1});
  checkpoints.save(state_of(), 10);
  EXPECT_EQ(files_in(folder.path()),
            (std::vector<std::string>{"checkpoint", "model.ckpt-10.h5", "theirs"}));
}

TEST(CheckpointFolder, PassesOverADamagedOneAndSaysSo) {
  const TempFolder folder;
  CheckpointFolder checkpoints(folder.path(), {});
  checkpoints.save(state_of(), 10);
  checkpoints.save(state_of(), 20);
  fs::resize_file(folder.path("model.ckpt-20.h5"), 1000);
  std::vector<std::string> lines;
  const auto tell = [&](std::string_view line) { lines.emplace_back(line); };
  EXPECT_EQ(newest_checkpoint(folder.path(), tell)->global_step, 10);
  ASSERT_EQ(lines.size(), 1);
  EXPECT_SAYS(lines[0], "warning: ");
  EXPECT_SAYS(lines[0], "model.ckpt-20.h5: ");
  EXPECT_FALSE(newest_checkpoint(folder.path("nowhere"), tell));
  fs::resize_file(folder.path("model.ckpt-10.h5"), 1000);
  const std::string message = error_of<IoError>([&] { newest_checkpoint(folder.path(), {}); });
  EXPECT_SAYS(message, folder.path());
  EXPECT_SAYS(message, "2 checkpoints (model.ckpt-20.h5: ");
}

TEST(CheckpointFolder, RefusesWhatNobodyCouldGoOnFrom) {
  const TempFolder folder;
  CheckpointFolder checkpoints(folder.path(), {});
  EXPECT_SAYS(error_of<NonFiniteLoss>([&] { checkpoints.save(state_of(NAN), 10); }),
              "dense/kernel");
  EXPECT_TRUE(files_in(folder.path()).empty());
  save_training_state(folder.path("model.ckpt-5.h5"), state_of());
  EXPECT_SAYS(error_of<IoError>([&] { read_checkpoint(folder.path("model.ckpt-5.h5")); }),
              "global step");
  folder.write_text("file", "");
  EXPECT_SAYS(error_of<IoError>([&] { CheckpointFolder(folder.path("file/model"), {}); }),
              "file/model");
}

TEST(CheckpointFolder, TellsWhatItCannotRemove) {
  const TempFolder folder;
  CheckpointFolder checkpoints(folder.path(), {.most = 1});
  const fs::path first = checkpoints.save(state_of(), 1);
  fs::remove(first);
  fs::create_directories(first / "not empty");
  EXPECT_SAYS(error_of<IoError>([&] { checkpoints.save(state_of(), 2); }), "model.ckpt-1.h5: ");
  EXPECT_TRUE(fs::exists(folder.path("model.ckpt-2.h5")));
}

}  // namespace
}  // namespace pando::estimator
