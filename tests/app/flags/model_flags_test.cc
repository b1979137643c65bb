#include "pando/app/flags/model_flags.h"

#include <gtest/gtest.h>

#include "tests/app/parse_options.h"
#include "tests/app/test_folder.h"
#include "tests/support/expect_error.h"

namespace pando::app {
namespace {

using Lines = std::vector<std::string>;

TEST(ModelFlags, NormalisationByDefault) {
  const NormOptions norm = parse({}).norm();
  EXPECT_EQ(norm.name, "custom_batch_norm");
  EXPECT_EQ(norm.params.at("momentum"), 0.97);
  EXPECT_FALSE(norm.epsilon);  // that of the network
  EXPECT_TRUE(parse({}).warnings.empty());
}

TEST(ModelFlags, NormLayerByName) {
  const auto norm = [](const std::string& flag) {
    return parse({"--model=cifar_resnet8", "--synthetic-data=host", "--norm-layer", flag}).norm();
  };
  EXPECT_EQ(norm("{name: custom_batch_norm}").params.at("momentum"), 0.97);
  EXPECT_EQ(norm("{name: custom_batch_norm, momentum: 0.9}").params.at("momentum"), 0.9);
  EXPECT_EQ(norm("{name: batch_norm}").name, "batch_norm");
  EXPECT_TRUE(norm("{\"name\": \"batch_norm\", \"momentum\": 0.5}").params.empty());
  const NormOptions counted = norm("{name: group_norm, num_groups: 8}");
  EXPECT_EQ(counted.name, "group_norm");
  EXPECT_EQ(counted.params.at("num_groups"), 8);
  EXPECT_EQ(counted.params.at("strided"), 0);
  const NormOptions sized = norm("{name: group_norm, channels_per_group: 4, strided: true}");
  EXPECT_EQ(sized.params.at("channels_per_group"), 4);
  EXPECT_EQ(sized.params.at("strided"), 1);
}

TEST(ModelFlags, OneKeyOfNormLayer) {
  const TrainOptions options =
      parse({"--model=cifar_resnet8", "--synthetic-data=host", "--set", "norm-layer.momentum=0.5"});
  EXPECT_EQ(options.norm().name, "custom_batch_norm");
  EXPECT_EQ(options.norm().params.at("momentum"), 0.5);
}

TEST(ModelFlags, NormLayersThatCannotBe) {
  const auto wrong = [](const std::string& flag) { return error({"--norm-layer", flag}); };
  EXPECT_SAYS(wrong("{momentum: 0.9}"), "--norm-layer",
              "batch_norm, custom_batch_norm or group_norm");
  EXPECT_SAYS(wrong("{name: layer_norm}"), "unknown value 'layer_norm'");
  EXPECT_SAYS(wrong("{name: group_norm}"), "--norm-layer", "group_norm",
              "num_groups or channels_per_group");
  EXPECT_SAYS(wrong("{name: group_norm, num_groups: 2, channels_per_group: 2}"), "--norm-layer",
              "num_groups and channels_per_group");
  EXPECT_SAYS(wrong("{name: batch_norm, num_groups: 2}"), "--norm-layer", "batch_norm",
              "'num_groups'", "name, momentum");
  EXPECT_SAYS(wrong("{name: group_norm, num_groups: 2, momentum: 0.9}"), "group_norm",
              "'momentum'");
  EXPECT_SAYS(wrong("{name: batch_norm, momentum: 1.5}"), "at most 1");
  EXPECT_SAYS(wrong("{name: group_norm, num_groups: 0}"), "at least 1");
}

TEST(ModelFlags, IgnoredNormLayersAreTold) {
  EXPECT_EQ(parse({"--norm-layer={name: batch_norm}"}).warnings,
            (Lines{"--norm-layer: no effect on mnist_cnn, which has no normalisation"}));
  EXPECT_EQ(parse({"--model=cifar_resnet8", "--synthetic-data=host",
                   "--norm-layer={name: batch_norm, momentum: 0.5}"})
                .warnings,
            (Lines{"--norm-layer: the momentum of batch_norm is 0.99, the one given is ignored; "
                   "custom_batch_norm takes one"}));
}

TEST(ModelFlags, PrecisionByName) {
  EXPECT_EQ(parse({}).precision, Precision());
  EXPECT_EQ(parse({"--precision", "16.16"}).precision, (Precision{DType::f16, DType::f16}));
  EXPECT_EQ(parse({"--precision=16.32"}).precision, (Precision{DType::f16, DType::f32}));
  EXPECT_EQ(parse({"--precision=BF16.16"}).precision, (Precision{DType::bf16, DType::bf16}));
  EXPECT_EQ(parse({"--precision=bf16.32"}).precision, (Precision{DType::bf16, DType::f32}));
  EXPECT_TRUE(parse({"--precision=32.32"}).warnings.empty());
  const std::string message = error({"--precision=16.8"});
  EXPECT_SAYS(message, "--precision: ");
  for (const std::string& name : precision_names()) EXPECT_SAYS(message, name);
}

TEST(ModelFlags, WhatHalfPrecisionDoesIsTaken) {
  const TrainOptions options =
      parse({"--precision=16.16", "--half-partials", "--nanoo", "--stochastic-rounding=ri"});
  EXPECT_TRUE(options.warnings.empty());
  EXPECT_TRUE(options.half().half_partials);
  EXPECT_TRUE(options.half().nan_on_overflow);
  EXPECT_EQ(options.half().stochastic_rounding, StochasticRounding::replica_identical_only);
  EXPECT_EQ(describe_precision(options),
            "16.16, stochastic rounding in weight updates only, half partials, not-a-number on "
            "overflow");
  EXPECT_EQ(parse({"--precision=16.16"}).half().stochastic_rounding, StochasticRounding::on);
  EXPECT_EQ(describe_precision(parse({"--stochastic-rounding=OFF", "--fp-exceptions"})),
            "32.32, ends at floating-point exceptions");
  EXPECT_SAYS(error({"--stochastic-rounding=maybe"}), "--stochastic-rounding: ");
  EXPECT_EQ(parse({"--stochastic-rounding=true"}).stochastic_rounding, StochasticRounding::on);
  EXPECT_EQ(parse({"--stochastic-rounding=false"}).stochastic_rounding, StochasticRounding::off);
}

TEST(ModelFlags, WhatHasNoEffectWithoutItIsToldOnce) {
  EXPECT_EQ(parse({"--stochastic-rounding", "RI", "--nanoo", "--half-partials"}).warnings,
            (Lines{"--half-partials, --stochastic-rounding, --nanoo: no effect in 32.32"}));
  EXPECT_TRUE(parse({"--stochastic-rounding=on"}).warnings.empty());
  EXPECT_TRUE(parse({"--fp-exceptions"}).warnings.empty());
}

TEST(ModelFlags, PrecisionChoosesHowGradientsTravelAndAreAveraged) {
  const DeviceFlags half = parse({"--precision=16.32"}).devices;
  EXPECT_EQ(half.exchange_format, comm::WireFormat::f16);
  EXPECT_EQ(half.gradient_reduction, GradientReduction::running_mean);
  const DeviceFlags given =
      parse({"--precision=16.32", "--exchange-format=f32", "--gradient-reduction=sum"}).devices;
  EXPECT_EQ(given.exchange_format, comm::WireFormat::f32);
  EXPECT_EQ(given.gradient_reduction, GradientReduction::sum);
  EXPECT_EQ(parse({}).devices.exchange_format, comm::WireFormat::f32);
  EXPECT_EQ(parse({"--precision=bf16.16"}).devices.exchange_format, comm::WireFormat::bf16);
  EXPECT_SAYS(parse({"--precision=16.16"}).config_text, "chosen by --precision");
}

TEST(ModelFlags, WhatPrecisionChoseIsChosenAgainByARunFromItsConfiguration) {
  const TestFolder folder;
  const std::string chosen = folder.write("a.yml", parse({"--precision=16.16"}).config_text);
  EXPECT_EQ(parse({"--config-path", chosen}).devices.exchange_format, comm::WireFormat::f16);
  EXPECT_EQ(parse({"--config-path", chosen}).devices.gradient_reduction,
            GradientReduction::running_mean);
  const DeviceFlags full = parse({"--config-path", chosen, "--precision=32.32"}).devices;
  EXPECT_EQ(full.exchange_format, comm::WireFormat::f32);
  EXPECT_EQ(full.gradient_reduction, DeviceFlags().gradient_reduction);
  const std::string given =
      folder.write("b.yml", parse({"--precision=16.16", "--exchange-format=f16"}).config_text);
  EXPECT_EQ(parse({"--config-path", given, "--precision=32.32"}).devices.exchange_format,
            comm::WireFormat::f16);
}

TEST(ModelFlags, AnExceptionIsNotGoneBackFrom) {
  const Lines warnings = parse({"--fp-exceptions", "--on-nan=rollback"}).warnings;
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_SAYS(warnings[0], "--fp-exceptions", "--on-nan rollback");
}

TEST(ModelFlags, GroupsMustDivideTheChannelsOfTheModel) {
  const ZooEntry& entry = zoo_entry("cifar_resnet8");
  ModelFlags flags;
  flags.norm_layer.name = "group_norm";
  flags.norm_layer.params = {};
  flags.norm_layer.params.set("num_groups", ParameterRange::count, 32);
  const auto build = [&](const Shape& sample) {
    return testing_support::error_of([&] { build_model(entry, flags, sample, 10); });
  };
  EXPECT_SAYS(build({32, 32, 3}), "--norm-layer", "'conv1_gn'", "16");
  EXPECT_EQ(build({32}).find("--norm-layer"), std::string::npos);
  flags.norm_layer.params.set("num_groups", ParameterRange::count, 8);
  EXPECT_EQ(build_model(entry, flags, {32, 32, 3}, 10).parameters(), 75290);
}

TEST(ModelFlags, BuildsWithTheMomentum) {
  ModelFlags flags;
  flags.norm_layer.params.set("momentum", ParameterRange::share, 0.5);
  const Network network = build_model(zoo_entry("toy_model_bn"), flags, {32, 32, 3}, 10);
  EXPECT_EQ(network.layer("bn_0").weights[2].moving_momentum, 0.5);
}

}  // namespace
}  // namespace pando::app
