#include "pando/app/record/checkpoint_store.h"

#include <filesystem>
#include <limits>
#include <memory>

#include <gtest/gtest.h>

#include "pando/nn/layers.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_folder.h"

namespace pando::app {
namespace {

namespace fs = std::filesystem;
using testing_support::error_of;
using testing_support::TempFolder;

TEST(CheckpointStore, SavesNoWeightsThatAreNoNumbers) {
  const TempFolder folder;
  Model model(Sequential({2}, {Dense({.units = 1, .name = "d"})}));
  std::vector<Tensor> weights = model.get_weights();
  weights[0].f32()[1] = std::numeric_limits<float>::infinity();
  model.set_weights(weights);
  CheckpointStore store({.folder = folder.path("new")});
  EXPECT_SAYS(error_of<NonFiniteLoss>([&] { store.save(model, {}); }), "d/kernel");
  EXPECT_TRUE(store.last().empty());
  EXPECT_TRUE(checkpoints_in(folder.path("new")).empty());
}

TEST(CheckpointStore, OfAnotherInstanceOnlyRemembers) {
  const TempFolder folder;
  const Model model(Sequential({2}, {Dense({.units = 1, .name = "d"})}));
  CheckpointStore store({.folder = folder.path("new"), .writes = false});
  store.save(model, {});
  store.save_best(model, {});
  EXPECT_EQ(store.last(), fs::path(folder.path("new")) / "epoch_0.0.h5");
  EXPECT_FALSE(fs::exists(folder.path("new")));
}

TEST(CheckpointStore, AFolderThatCannotBeMade) {
  EXPECT_SAYS(error_of<IoError>([] { CheckpointStore({.folder = "/proc/none"}); }),
              "--checkpoint-output-dir");
}

TEST(CheckpointStore, HasOneWriterAtATime) {
  const TempFolder folder;
  auto first = std::make_unique<CheckpointStore>(CheckpointStoreOptions{.folder = folder.path()});
  const auto second = [&] { CheckpointStore({.folder = folder.path(), .continues = true}); };
  EXPECT_SAYS(error_of<ResourceError>(second), folder.path(), "another run",
              "--checkpoint-output-dir");
  first.reset();
  second();
  EXPECT_EQ(folder.entries(), 0);
}

TEST(CheckpointStore, RefusesTheCheckpointsOfAnotherRun) {
  const TempFolder folder;
  const Model model(Sequential({2}, {Dense({.units = 1, .name = "d"})}));
  {
    CheckpointStore store({.folder = folder.path()});
    store.claim({.id = "1", .directory = "/runs/first"});
    store.save(model, {});
  }
  const auto open = [&] { CheckpointStore({.folder = folder.path()}); };
  EXPECT_SAYS(error_of<InvalidArgument>(open), folder.path(), "epoch_0.0.h5", "/runs/first",
              "--checkpoint-output-dir", "--resume");
  EXPECT_EQ(mark_in(folder.path()).id, "1");
  CheckpointStore({.folder = folder.path(), .continues = true});
  fs::rename(folder.path("epoch_0.0.h5"), folder.path("best.h5"));
  EXPECT_SAYS(error_of<InvalidArgument>(open), "best.h5");
  fs::rename(folder.path("best.h5"), folder.path("mine.h5"));
  open();
}

TEST(CheckpointStore, CleaningTakesCheckpointsAndNothingElse) {
  const TempFolder folder;
  const fs::path mixed = folder.path("mixed");
  for (const bool has_more : {true, false}) {
    CheckpointStore store({.folder = mixed});
    store.claim({.id = "1"});
    folder.write_text("mixed/epoch_1.0.h5", "x");
    folder.write_text("mixed/epoch_2.5.h5", "x");
    if (has_more) folder.write_text("mixed/notes.txt", "x");
    store.clean(checkpoints_in(mixed));
    EXPECT_EQ(fs::exists(mixed), has_more);
    if (!has_more) continue;
    EXPECT_EQ(std::distance(fs::directory_iterator(mixed), fs::directory_iterator()), 1);
    fs::remove(mixed / "notes.txt");
  }
  // A folder of that name that is not empty cannot be removed.
  CheckpointStore store({.folder = folder.path()});
  fs::create_directories(folder.path("epoch_4.0.h5/x"));
  EXPECT_SAYS(error_of<IoError>([&] {
                store.clean({{folder.path("epoch_4.0.h5"), 4}});
              }),
              "--clean-dir", "epoch_4.0.h5");
}

TEST(RunMark, SaysWhoseAFolderIs) {
  const TempFolder folder;
  for (const char* name : {"a", "b"}) fs::create_directory(folder.path(name));
  EXPECT_FALSE(are_of_different_runs(folder.path("a"), folder.path("b")));
  write_mark(folder.path("a"), {.id = "1", .directory = "/x y"});
  EXPECT_EQ(mark_in(folder.path("a")).directory, "/x y");
  EXPECT_FALSE(are_of_different_runs(folder.path("a"), folder.path("b")));
  write_mark(folder.path("b"), {.id = "2"});
  EXPECT_TRUE(are_of_different_runs(folder.path("a"), folder.path("b")));
  write_mark(folder.path("b"), {.id = "1"});
  EXPECT_FALSE(are_of_different_runs(folder.path("a"), folder.path("b")));
  EXPECT_NE(new_run_id(), new_run_id());
}

}  // namespace
}  // namespace pando::app
