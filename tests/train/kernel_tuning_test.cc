// Models whose kernels are chosen by measurement. Times differ from run to run, so the tests change
// the file in which choices are kept.
// SPDX-License-Identifier: MIT
#include <fstream>

#include "pando/base/json.h"
#include "tests/support/thread_instances.h"
#include "tests/train/train_support.h"

namespace pando {
namespace {

using testing_support::on_instances;
using testing_support::TempFolder;

Network wide_cnn() {
  return Sequential(
      {6, 6, 1},
      {Conv2D({.filters = 16, .kernel = {3, 3}, .padding = "same"}), UpSampling2D({.size = {4, 4}}),
       Conv2D({.filters = 16, .kernel = {3, 3}, .padding = "same", .name = "wide"}), Flatten(),
       Dense({.units = 3, .activation = "softmax"})});
}

Model tunable(const std::string& folder, Tuning tuning = Tuning::quick) {
  return compiled(
      wide_cnn(),
      classifier(SGD(), {.slices = 1, .tuning = tuning, .tuning_folder = std::string(folder)}));
}

std::string only_file(const std::string& folder) {
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".json") return entry.path().string();
  }
  ADD_FAILURE() << "no file in " << folder;
  return "";
}

std::string read_text(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Makes `candidate` the choice for the forward convolution of layer 'wide', the table's choice for
// all others.
void choose_for_wide(const std::string& path, const std::string& candidate) {
  const Json old = Json::parse(read_text(path));
  Json changed = Json::object();
  for (const Json::Member& member : old.members()) changed[member.key] = member.value;
  changed["layers"] = Json::array();
  for (const Json& layer : old.at("layers").items()) {
    Json copy = layer;
    const bool is_it = layer.get<std::string>("layer").starts_with("conv/4x24x24x16/");
    copy["kernel"] = is_it ? candidate : layer.get<std::string>("table");
    changed["layers"].push_back(copy);
  }
  std::ofstream(path) << changed.dump(1);
}

const Dataset& data() {
  static const Dataset all = image_data(8);
  return all;
}

TEST(KernelTuning, MeasuresOncePerMachine) {
  const TempFolder folder;
  Model first = tunable(folder.path());
  const std::vector<std::string> lines = first.tune(4, data().fields());
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_SAYS(lines[0], "--tune quick: ", " timed in ", " from the table");
  EXPECT_EQ(first.tune(4, data().fields()), std::vector<std::string>());  // is compiled
  Model second = tunable(folder.path());
  const std::vector<std::string> again = second.tune(4, data().fields());
  ASSERT_EQ(again.size(), 1u);
  EXPECT_SAYS(again[0], " timed earlier");
  EXPECT_EQ(second.kernel_choices(), first.kernel_choices());
}

TEST(KernelTuning, AChoiceIsUsedReportedAndRepeated) {
  const TempFolder folder;
  tunable(folder.path()).tune(4, data().fields());
  choose_for_wide(only_file(folder.path()), "direct");
  Model tuned = tunable(folder.path());
  tuned.fit(data(), {.epochs = 2, .batch_size = 4, .verbose = 0});
  ASSERT_EQ(tuned.kernel_choices().size(), 1u);
  EXPECT_EQ(tuned.kernel_choices().begin()->second, "direct");
  const std::string report = tuned.compile_report(4, data().fields());
  EXPECT_SAYS(report, "timed: direct ", " ms, error ", "; winograd4 ");
  // A model with the choices of the first has its bits.
  Model repeated = compiled(
      wide_cnn(), classifier(SGD(), {.slices = 1, .kernel_choices = tuned.kernel_choices()}));
  repeated.fit(data(), {.epochs = 2, .batch_size = 4, .verbose = 0});
  EXPECT_TRUE(same_bits(tuned.get_weights(), repeated.get_weights()));
  EXPECT_SAYS(repeated.compile_report(4, data().fields()), "given: direct");
  Model plain = compiled(wide_cnn(), classifier(SGD(), {.slices = 1}));
  plain.fit(data(), {.epochs = 2, .batch_size = 4, .verbose = 0});
  EXPECT_FALSE(same_bits(tuned.get_weights(), plain.get_weights()));
  EXPECT_TRUE(tuned.verify(4, data().fields()).ok);
}

TEST(KernelTuning, WithoutItNothingIsMeasuredOrKept) {
  const TempFolder folder;
  Model model = tunable(folder.path(), Tuning::off);
  EXPECT_EQ(model.tune(4, data().fields()), std::vector<std::string>());
  model.fit(data(), {.batch_size = 4, .verbose = 0});
  EXPECT_EQ(folder.entries(), 0);
  EXPECT_TRUE(model.kernel_choices().empty());
  EXPECT_EQ(model.compile_report(4, data().fields()).find("timed:"), std::string::npos);
}

TEST(KernelTuning, ChoicesCanBeReplaced) {
  const TempFolder folder;
  tunable(folder.path()).tune(4, data().fields());
  choose_for_wide(only_file(folder.path()), "direct");
  Model model = tunable(folder.path());
  model.tune(4, data().fields());
  ASSERT_EQ(model.kernel_choices().size(), 1u);
  model.set_kernel_choices({});
  EXPECT_TRUE(model.kernel_choices().empty());
  const std::string report = model.compile_report(4, data().fields());
  EXPECT_EQ(report.find("timed:"), std::string::npos);
  model.set_kernel_choices({{"nonsense", "nobody"}});
  model.fit(data(), {.batch_size = 4, .verbose = 0});
}

TEST(KernelTuning, EvaluationUsesTheFixedOrder) {
  const TempFolder folder;
  tunable(folder.path()).tune(4, data().fields());
  choose_for_wide(only_file(folder.path()), "direct");
  Model tuned = tunable(folder.path());
  tuned.tune(4, data().fields());
  Model plain = compiled(wide_cnn(), classifier(SGD(), {.slices = 1}));
  const Tensor x = images(4).x;
  EXPECT_TRUE(same_bits(tuned.predict(x, 4), plain.predict(x, 4)));
}

TEST(KernelTuning, ADamagedFileIsANotice) {
  const TempFolder folder;
  tunable(folder.path()).tune(4, data().fields());
  std::ofstream(only_file(folder.path())) << "{";
  Model model = tunable(folder.path());
  const std::vector<std::string> lines = model.tune(4, data().fields());
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_SAYS(lines[0], "are ignored");
}

TEST(KernelTuning, FeaturesHaveTheKernelsOfTraining) {
  const TempFolder folder;
  tunable(folder.path()).tune(4, data().fields());
  choose_for_wide(only_file(folder.path()), "direct");
  Model model = tunable(folder.path());
  model.tune(4, data().fields());
  const auto features = [&](Model& of) {
    const Dataset made = of.features(data(), {.layer = "wide", .batch_size = 4});
    return made.take(4).batch(4);
  };
  Model plain = compiled(wide_cnn(), classifier(SGD(), {.slices = 1}));
  Batch tuned_batch;
  Batch plain_batch;
  BatchStream tuned_stream = features(model);
  BatchStream plain_stream = features(plain);
  ASSERT_TRUE(tuned_stream.next(tuned_batch));
  ASSERT_TRUE(plain_stream.next(plain_batch));
  EXPECT_FALSE(same_bits(tuned_batch.fields[0], plain_batch.fields[0]));
}

// Instances that measure for themselves could compute different bits.
TEST(KernelTuning, AllInstancesHaveTheChoicesOfTheFirst) {
  const TempFolder first;
  const TempFolder second;
  for (const TempFolder* folder : {&first, &second}) {
    on_instances(2, [&](comm::Communicator& own) {
      Model model = tunable(own.rank() == 0 ? folder->path() : "");
      if (own.rank() == 0) model.tune(4, data().fields());
    });
  }
  choose_for_wide(only_file(first.path()), "direct");
  choose_for_wide(only_file(second.path()), "winograd");
  std::vector<KernelChoices> found(2);
  on_instances(2, [&](comm::Communicator& own) {
    Model model = tunable(own.rank() == 0 ? first.path() : second.path());
    model.prepare(RunMode::train, 4, data().fields());  // does not measure
    model.fit(data(), {.epochs = 2, .batch_size = 4, .verbose = 0});
    model.fit(data(), {.epochs = 1, .batch_size = 4, .verbose = 0});
    found[static_cast<size_t>(own.rank())] = model.kernel_choices();
  });
  ASSERT_EQ(found[0].size(), 1u);
  EXPECT_EQ(found[0].begin()->second, "direct");
  EXPECT_EQ(found[1], found[0]);
}

}  // namespace
}  // namespace pando
