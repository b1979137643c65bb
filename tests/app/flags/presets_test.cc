// Tests the presets that ship with the program: each one loads and gives the batch, the stages and
// the schedule of the table below.
// SPDX-License-Identifier: MIT
#include "pando/options/presets.h"

#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include "tests/app/parse_options.h"
#include "tests/support/expect_error.h"

namespace pando::app {
namespace {

struct Wanted {
  std::string model;
  std::string dataset;
  int64_t micro_batch = 0;
  int64_t accumulation = 0;
  int replicas = 1;
  int64_t global_batch = 0;
  int stages = 1;
  int devices_per_replica = 1;
  int64_t epochs = 1;
  std::string schedule = "polynomial";
};

const std::map<std::string, Wanted>& all_wanted() {
  static const std::map<std::string, Wanted> wanted = {
      {"resnet8_test", {"cifar_resnet8", "cifar10", 8, 1, 1, 8, 1, 1, 1, "const"}},
      {"resnet8_test_lars", {"cifar_resnet8", "cifar10", 8, 1, 1, 8, 1, 1, 50, "const"}},
      {"resnet8_16ipus_bn", {"cifar_resnet8", "cifar10", 25, 5, 16, 2000, 1, 1, 70, "cosine"}},
      {"resnet50_16ipus_16k_bn_pipeline",
       {"resnet50", "imagenet", 16, 256, 4, 16384, 4, 4, 100, "cosine"}},
      {"resnet50_16ipus_8k_bn_pipeline",
       {"resnet50", "imagenet", 16, 128, 4, 8192, 4, 4, 100, "cosine"}},
      {"resnet56_16ipus_8k_bn_pipeline",
       {"cifar_resnet56", "imagenet", 16, 128, 4, 8192, 4, 4, 100, "cosine"}},
      {"resnet50_16ipus_8k_gn_pipeline",
       {"resnet50", "imagenet", 16, 128, 4, 8192, 4, 4, 100, "cosine"}},
      {"resnet50_mlperf_bs16", {"resnet50", "imagenet", 16, 9, 16, 2304, 4, 1, 44}},
      {"resnet50_mlperf_pod16_bs20", {"resnet50", "imagenet", 20, 6, 16, 1920, 7, 1, 40}},
      {"resnet50_mlperf_pod4_bs20", {"resnet50", "imagenet", 20, 6, 4, 480, 7, 1, 40}},
      {"resnet50_mlperf_pod16_lars", {"resnet50", "imagenet", 18, 12, 16, 3456, 7, 1, 38}},
      {"resnet50_infer_base", {"resnet50", "imagenet", 1, 1, 1, 1, 1, 1, 1}},
      {"resnet50_infer_bs1", {"resnet50", "imagenet", 1, 1, 1, 1, 1, 1, 1}},
      {"resnet50_infer_bs16", {"resnet50", "imagenet", 16, 1, 1, 16, 1, 1, 1}},
      {"resnet50_infer_bs32", {"resnet50", "imagenet", 32, 1, 1, 32, 1, 1, 1}},
      {"resnet50_infer_test", {"resnet50", "imagenet", 1, 1, 1, 1, 1, 1, 1}},
      {"imagenet_resnet101", {"resnet101", "imagenet", 32, 8, 1, 256, 1, 1, 90, "cosine"}},
      {"imagenet_densenet121", {"densenet121", "imagenet", 32, 8, 1, 256, 1, 1, 90, "cosine"}},
      {"imagenet_vgg16", {"vgg16", "imagenet", 32, 8, 1, 256, 1, 1, 74, "cosine"}},
      {"imagenet_mobilenet_v2", {"mobilenet_v2", "imagenet", 32, 8, 1, 256, 1, 1, 300, "cosine"}},
      {"imagenet_efficientnet_b0",
       {"efficientnet_b0", "imagenet", 16, 16, 1, 256, 1, 1, 350, "cosine"}},
      {"imagenet_convnext_tiny",
       {"convnext_tiny", "imagenet", 16, 16, 1, 256, 1, 1, 300, "cosine"}},
      {"cifar10_wrn_16_4", {"cifar_wrn_16_4", "cifar10", 128, 1, 1, 128, 1, 1, 200, "stepped"}},
      {"folder_unet", {"unet", "image_folder", 4, 4, 1, 16, 1, 1, 60, "cosine"}},
      {"numpy_unet3d", {"unet3d", "numpy", 2, 8, 1, 16, 1, 1, 60, "cosine"}},
      {"fashion_speedrun",
       {"fast_resnet7", "fashion_mnist", 128, 1, 1, 128, 1, 1, 7, "polynomial"}},
      {"cosmoflow_sgd", {"cosmoflow", "cosmoflow", 4, 16, 1, 64, 1, 1, 128, "stepped"}},
  };
  return wanted;
}

TrainOptions load(const std::string& preset, std::vector<std::string> more = {}) {
  more.insert(more.begin(), {"--config", preset, "--synthetic-data=device"});
  return parse(more);
}

// An effective value by the name of its flag, as YAML.
std::string value_of(const TrainOptions& options, const std::string& flag) {
  const ConfigValue config = parse_yaml(options.config_text, "config");
  const ConfigValue* value = config.find(flag);
  EXPECT_NE(value, nullptr) << flag;
  return value == nullptr ? "" : to_yaml(*value);
}

TEST(Presets, AreThoseOfTheFile) {
  std::ifstream file(PANDO_SOURCE_DIR "/configs/presets.yml");
  std::ostringstream text;
  text << file.rdbuf();
  EXPECT_EQ(kPresetsText, text.str());
}

TEST(Presets, GiveTheBatchTheyAreKnownFor) {
  for (const auto& [name, wanted] : all_wanted()) {
    SCOPED_TRACE(name);
    const TrainOptions options = load(name);
    const BatchConfiguration batch = options.devices.batch(options.micro_batch_size);
    EXPECT_EQ(options.model, wanted.model);
    EXPECT_EQ(options.data.dataset, wanted.dataset);
    EXPECT_EQ(batch.micro_batch_size, wanted.micro_batch);
    EXPECT_EQ(batch.gradient_accumulation_count, wanted.accumulation);
    EXPECT_EQ(batch.replicas, wanted.replicas);
    EXPECT_EQ(batch.global_batch_size, wanted.global_batch);
    EXPECT_EQ(batch.warning.has_value(), name == "resnet50_mlperf_pod16_lars");
    EXPECT_EQ(options.devices.stages(), wanted.stages);
    EXPECT_EQ(options.devices.devices_per_replica(), wanted.devices_per_replica);
    EXPECT_EQ(options.num_epochs, wanted.epochs);
    EXPECT_EQ(value_of(options, "lr-schedule"), wanted.schedule);
  }
}

TEST(Presets, AllLoad) {
  for (const std::string& name : parse_yaml(kPresetsText, kPresetsSource).keys) {
    EXPECT_NO_THROW(load(name)) << name;
  }
}

// The products of initial_learning_rate and global batch are those that the comments name.
TEST(Presets, RatesOfTheGlobalBatch) {
  const std::map<std::string, double> rates = {{"imagenet_resnet101", 0.1},
                                               {"imagenet_densenet121", 0.1},
                                               {"imagenet_vgg16", 0.01},
                                               {"imagenet_mobilenet_v2", 0.045},
                                               {"imagenet_efficientnet_b0", 0.016},
                                               {"imagenet_convnext_tiny", 0.00025},
                                               {"folder_unet", 0.001},
                                               {"numpy_unet3d", 0.001},
                                               {"fashion_resnet20", 0.05},
                                               {"fashion_speedrun", 0.2}};
  for (const auto& [name, rate] : rates) {
    const TrainOptions options = load(name);
    const int64_t batch = options.devices.batch(options.micro_batch_size).global_batch_size;
    EXPECT_DOUBLE_EQ(*options.schedule.params.initial_learning_rate * static_cast<double>(batch),
                     rate)
        << name;
    const double whole =
        *options.schedule.params.epochs_to_total_decay + *options.schedule.warmup.warmup_epochs;
    EXPECT_EQ(whole, static_cast<double>(options.num_epochs)) << name;
  }
}

TEST(Presets, Mlperf) {
  const TrainOptions options = load("resnet50_mlperf_bs16");
  EXPECT_EQ(options.devices.pipeline_schedule, PipelineSchedule::sequential);
  EXPECT_EQ(options.devices.dbn_replica_group_size, 2);
  EXPECT_EQ(options.norm().params.at("momentum"), 0.9);
  EXPECT_TRUE(options.data.fused_preprocessing);
  EXPECT_EQ(options.counterparts.max_cross_replica_buffer_size, 52428800);
  EXPECT_EQ(value_of(options, "ckpts-per-epoch"), "1/4");
  EXPECT_EQ(value_of(options, "validation-micro-batch-size"), "108");
  EXPECT_EQ(value_of(options, "label-smoothing"), "0.1");
  EXPECT_EQ(value_of(options, "optimizer"), "sgd");
  const TrainOptions lars = load("resnet50_mlperf_pod16_lars");
  EXPECT_EQ(value_of(lars, "optimizer"), "lars");
  EXPECT_EQ(value_of(lars, "first-ckpt-epoch"), "2");
  EXPECT_EQ(value_of(lars, "validation-micro-batch-size"), "108");
  EXPECT_SAYS(lars.devices.batch(18).warning.value(), "3456");
}

TEST(Presets, PipelinesOfStages) {
  const TrainOptions batch = load("resnet50_16ipus_8k_bn_pipeline");
  EXPECT_EQ(batch.norm().name, "custom_batch_norm");
  EXPECT_EQ(value_of(batch, "lr-staircase"), "true");
  EXPECT_SAYS(value_of(batch, "lr-warmup-params"), "mask");
  EXPECT_EQ(load("resnet50_16ipus_8k_gn_pipeline").norm().params.at("num_groups"), 32);
  const TrainOptions small = load("resnet56_16ipus_8k_bn_pipeline");
  EXPECT_TRUE(small.devices.pipeline_validation_model);
  EXPECT_EQ(small.counterparts.available_memory_proportion, std::vector<double>{13.5});
}

TEST(Presets, Speedrun) {
  const TrainOptions options = load("fashion_speedrun");
  EXPECT_TRUE(options.phases.test_time_flip);
  EXPECT_FALSE(options.phases.validates_during());  // no pause before the last weight update
  EXPECT_EQ(options.weight_updates_per_epoch, 450);
  EXPECT_EQ(value_of(options, "ckpts-per-epoch"), "1/7");
  EXPECT_EQ(value_of(options, "label-smoothing"), "0.1");
  EXPECT_EQ(value_of(options, "random-flip"), "horizontal");
}

TEST(Presets, TheCommandLineWins) {
  const TrainOptions options = load("resnet8_test", {"--micro-batch-size=4", "--validation"});
  EXPECT_EQ(options.micro_batch_size, 4);
  EXPECT_EQ(options.num_epochs, 1);
  EXPECT_SAYS(options.config_text, "# preset resnet8_test, presets.yml:");
}

TEST(Presets, IgnoredFlagsAreToldOnce) {
  std::multiset<std::string> ignored;
  for (const std::string& warning : load("resnet50_mlperf_pod16_lars").warnings) {
    const size_t at = warning.find(" is ignored: ");
    if (at != std::string::npos) ignored.insert(warning.substr(0, at));
  }
  EXPECT_EQ(ignored.count("--optimizer-state-offloading"), 1u);
  EXPECT_EQ(ignored.size(), std::set<std::string>(ignored.begin(), ignored.end()).size());
}

TEST(Presets, UnknownNamesAreToldWithTheNearest) {
  const std::string message = error({"--config=resnet8_tset"});
  EXPECT_SAYS(message, "--config: ", "'resnet8_tset'", "'resnet8_test'?", "resnet50_infer_bs32");
}

}  // namespace
}  // namespace pando::app
