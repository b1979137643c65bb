#include "pando/app/model_flags.h"

#include <gtest/gtest.h>

#include "tests/app/parse_options.h"
#include "tests/support/expect_error.h"

namespace pando::app {
namespace {

using Lines = std::vector<std::string>;

TEST(ModelFlags, NormalisationByDefault) {
  const NormOptions norm = parse({}).norm();
  EXPECT_EQ(norm.kind, NormKind::custom_batch);
  EXPECT_EQ(norm.momentum, 0.97);
  EXPECT_EQ(norm.epsilon, 1.001e-5);
  EXPECT_TRUE(parse({}).warnings.empty());
}

TEST(ModelFlags, NormLayerByName) {
  const auto norm = [](const std::string& flag) {
    return parse({"--model=cifar_resnet8", "--synthetic-data=host", "--norm-layer", flag}).norm();
  };
  EXPECT_EQ(norm("{name: custom_batch_norm}").momentum, 0.97);
  EXPECT_EQ(norm("{name: custom_batch_norm, momentum: 0.9}").momentum, 0.9);
  EXPECT_EQ(norm("{name: batch_norm}").kind, NormKind::batch);
  EXPECT_EQ(norm("{name: batch_norm}").momentum, 0.99);
  EXPECT_EQ(norm("{\"name\": \"batch_norm\", \"momentum\": 0.5}").momentum, 0.99);
  const NormOptions counted = norm("{name: group_norm, num_groups: 8}");
  EXPECT_EQ(counted.kind, NormKind::group);
  EXPECT_EQ(counted.num_groups, 8);
  EXPECT_FALSE(counted.strided);
  const NormOptions sized = norm("{name: group_norm, channels_per_group: 4, strided: true}");
  EXPECT_EQ(sized.channels_per_group, 4);
  EXPECT_TRUE(sized.strided);
}

TEST(ModelFlags, OneKeyOfNormLayer) {
  const TrainOptions options =
      parse({"--model=cifar_resnet8", "--synthetic-data=host", "--set", "norm-layer.momentum=0.5"});
  EXPECT_EQ(options.norm().kind, NormKind::custom_batch);
  EXPECT_EQ(options.norm().momentum, 0.5);
}

TEST(ModelFlags, NormLayersThatCannotBe) {
  const auto wrong = [](const std::string& flag) { return error({"--norm-layer", flag}); };
  EXPECT_EQ(wrong("{momentum: 0.9}"),
            "--norm-layer: found no name, wanted batch_norm, custom_batch_norm or group_norm");
  EXPECT_SAYS(wrong("{name: layer_norm}"), "unknown value 'layer_norm'");
  EXPECT_EQ(wrong("{name: group_norm}"),
            "--norm-layer: group_norm without num_groups or channels_per_group, wanted one of "
            "them");
  EXPECT_EQ(wrong("{name: group_norm, num_groups: 2, channels_per_group: 2}"),
            "--norm-layer: found num_groups and channels_per_group, wanted only one of them");
  EXPECT_EQ(wrong("{name: batch_norm, num_groups: 2}"),
            "--norm-layer: 'num_groups' means nothing to batch_norm, wanted name, momentum");
  EXPECT_SAYS(wrong("{name: group_norm, num_groups: 2, momentum: 0.9}"),
              "'momentum' means nothing to group_norm");
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

TEST(ModelFlags, HalfPrecisionIsToldOnce) {
  const TrainOptions options = parse({"--precision", "16.16", "--half-partials", "True"});
  EXPECT_EQ(options.precision, Precision::p16_16);
  EXPECT_TRUE(options.half_partials);
  EXPECT_EQ(options.warnings, (Lines{"--precision, --half-partials: computes in 32.32 until half "
                                     "precision is there"}));
  EXPECT_EQ(parse({"--precision=16.32"}).precision, Precision::p16_32);
  EXPECT_TRUE(parse({"--precision=32.32"}).warnings.empty());
  EXPECT_SAYS(error({"--precision=32"}), "--precision: ");
  EXPECT_SAYS(error({"--precision=16.8"}), "did you mean '16.");
}

TEST(ModelFlags, RoundingAndExceptionsAreToldOnce) {
  const TrainOptions options = parse({"--stochastic-rounding", "RI", "--fp-exceptions", "--nanoo"});
  EXPECT_EQ(options.stochastic_rounding, StochasticRounding::replica_identical_only);
  EXPECT_EQ(options.warnings,
            (Lines{"--stochastic-rounding, --fp-exceptions, --nanoo: no effect in 32.32"}));
  EXPECT_TRUE(parse({"--stochastic-rounding=on", "--stable-norm"}).warnings.empty());
  EXPECT_SAYS(error({"--stochastic-rounding=maybe"}), "--stochastic-rounding: ");
}

TEST(ModelFlags, GroupsMustDivideTheChannelsOfTheModel) {
  const ZooEntry& entry = zoo_entry("cifar_resnet8");
  ModelFlags flags;
  flags.norm_layer = {.name = NormKind::group, .momentum = {}, .num_groups = 32};
  const auto build = [&](const Shape& sample) {
    return testing_support::error_of([&] { build_model(entry, flags, sample, 10); });
  };
  EXPECT_SAYS(build({32, 32, 3}), "--norm-layer: group norm 'conv1_gn': its 16 channels");
  EXPECT_EQ(build({32}).find("--norm-layer"), std::string::npos);
  flags.norm_layer.num_groups = 8;
  EXPECT_EQ(build_model(entry, flags, {32, 32, 3}, 10).parameters(), 75290);
}

TEST(ModelFlags, BuildsWithTheMomentum) {
  ModelFlags flags;
  flags.norm_layer.momentum = 0.5;
  const Network network = build_model(zoo_entry("toy_model_bn"), flags, {32, 32, 3}, 10);
  EXPECT_EQ(network.layer("bn_0").weights[2].moving_momentum, 0.5);
}

}  // namespace
}  // namespace pando::app
