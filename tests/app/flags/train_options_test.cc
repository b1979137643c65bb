#include "pando/app/flags/train_options.h"

#include "pando/app/job/exit_code.h"
#include "pando/runtime/machine/topology.h"
#include "tests/app/parse_options.h"
#include "tests/app/test_folder.h"

namespace pando::app {
namespace {

std::string output(const std::vector<std::string>& args) {
  std::ostringstream out;
  EXPECT_EQ(parse_train_options(args, out), std::nullopt);
  return out.str();
}

TEST(TrainOptions, DefaultsTrainTheTutorial) {
  const TrainOptions options = parse({});
  EXPECT_EQ(options.model, "mnist_cnn");
  EXPECT_EQ(options.data.dataset, "fashion_mnist");
  EXPECT_EQ(options.micro_batch_size, 64);
  EXPECT_EQ(options.num_epochs, 3);
  EXPECT_EQ(options.optimizer.name, "sgd");
  EXPECT_EQ(options.schedule.learning_rate, 0.01);
  EXPECT_TRUE(options.data.shuffle);
  EXPECT_EQ(options.phases.validation, ValidationTime::during);
}

TEST(TrainOptions, TimingKernelsReplacesGivenChoices) {
  const std::vector<std::string> given = {"--kernel-choices", "conv/1=direct"};
  EXPECT_EQ(parse(given).kernel_choices, std::vector<std::string>{"conv/1=direct"});
  const TrainOptions tuned = parse({"--kernel-choices", "conv/1=direct", "--tune", "quick"});
  EXPECT_TRUE(tuned.kernel_choices.empty());
  ASSERT_EQ(tuned.warnings.size(), 1u);
  EXPECT_SAYS(tuned.warnings[0], "--tune", "--kernel-choices");
}

TEST(TrainOptions, TheSeedIsFixedAndRecorded) {
  const TrainOptions options = parse({});
  EXPECT_EQ(options.seed, parse({}).seed);
  EXPECT_NE(options.config_text.find(concat("seed: ", options.seed, " ")), std::string::npos);
  EXPECT_EQ(parse({"--seed", "5"}).seed, 5);
}

TEST(TrainOptions, SlicesAndRateAreChosenAndRecorded) {
  const TestFolder folder;
  const TrainOptions here = parse({"--batch-size=128"});
  EXPECT_EQ(here.slices, runtime::query_topology().usable_cores());
  EXPECT_EQ(here.schedule.learning_rate, 0.02);
  EXPECT_NE(here.config_text.find("# chosen by the optimizer and the batch size"),
            std::string::npos);
  EXPECT_EQ(parse({"--threads=3", "--slices=2"}).slices, 2);

  const TrainOptions three = parse({"--threads", "3"});
  EXPECT_EQ(three.slices, 3);
  EXPECT_NE(three.config_text.find("slices: 3 "), std::string::npos);
  EXPECT_NE(three.config_text.find("# chosen by the cores of a device"), std::string::npos);
  const std::string config = folder.write("config.yml", three.config_text);
  const TrainOptions again = parse({"--config-path", config, "--threads=5"});
  EXPECT_EQ(again.slices, 3);
  EXPECT_EQ(again.schedule.learning_rate, three.schedule.learning_rate);
  EXPECT_EQ(again.seed, three.seed);
}

TEST(TrainOptions, OtherOptimizersHaveTheRateOfKeras) {
  EXPECT_EQ(parse({"--optimizer=adam", "--batch-size=256"}).schedule.learning_rate, 0.001);
  EXPECT_EQ(parse({"--optimizer=adam", "--learning-rate=0.5"}).schedule.learning_rate, 0.5);
}

TEST(TrainOptions, TheRecordedConfigurationDoesNotSayWhereTheRunWas) {
  const TestFolder folder;
  const TrainOptions first = parse({"--run-dir", "a", "--quiet", "--seed=3"});
  EXPECT_EQ(first.run_dir, "a");
  const TrainOptions again =
      parse({"--config-path", folder.write("config.yml", first.config_text)});
  EXPECT_EQ(again.run_dir, "");
  EXPECT_FALSE(again.quiet);
  EXPECT_EQ(again.seed, 3);
}

TEST(TrainOptions, PrintConfigShowsWhatWouldRun) {
  EXPECT_NE(output({"--slices=4", "--print-config"}).find("learning-rate: 0.01 "),
            std::string::npos);
  EXPECT_SAYS(output({"--print-config"}),
              "optimizer-params: {momentum: 0.9, nesterov: false} # chosen by --optimizer",
              "gradient-accumulation-count: 1 ");
  EXPECT_SAYS(output({"--print-config", "--optimizer-params={momentum: 0.5}"}),
              "\noptimizer-params: {momentum: 0.5, nesterov: false} # command line");
  EXPECT_SAYS(output({"--print-config", "--auto-loss-scaling"}), "update_frequency: 8");
  EXPECT_SAYS(output({"--print-config", "--norm-layer={name: custom_batch_norm}"}),
              "norm-layer: {name: custom_batch_norm, momentum: 0.97}");
  EXPECT_SAYS(output({"--print-config", "--model=resnet18", "--synthetic-data=host"}),
              "image-size: 224 ");
}

TEST(TrainOptions, ARecordedConfigurationTakesAnotherOptimizer) {
  const TestFolder folder;
  const std::string file = folder.write("config.yml", output({"--print-config"}));
  const TrainOptions other = parse({"--config-path", file, "--optimizer=adam"});
  EXPECT_EQ(other.optimizer.params.get("beta_1"), 0.9);
  EXPECT_FALSE(other.optimizer.params.get("momentum"));
}

TEST(TrainOptions, PathsThatCannotBe) {
  const TestFolder folder;
  EXPECT_NE(message_of<UsageError>([] { parse({"--dataset=imagenet"}); }).find("--dataset-path"),
            std::string::npos);
  const std::string file = folder.write("file", "");
  EXPECT_NE(message_of<UsageError>([&] {
              parse({"--dump-ir", file});
            }).find("expected a folder"),
            std::string::npos);
}

TEST(TrainOptions, EveryFlagReachesItsField) {
  const TestFolder folder;
  const TrainOptions o = parse({"--model",
                                "cifar10_cnn",
                                "--dataset",
                                "mnist",
                                "--dataset-path",
                                folder.path.string(),
                                "--batch-size",
                                "32",
                                "--epochs",
                                "7",
                                "--optimizer",
                                "rmsprop",
                                "--optimizer-params",
                                "{rho: 0.8, momentum: 0.1, epsilon: 1e-6}",
                                "--learning-rate",
                                "1e-3",
                                "--shuffle",
                                "false",
                                "--seed",
                                "0",
                                "--run-dir",
                                "out",
                                "--threads",
                                "2",
                                "--slices",
                                "4",
                                "--validation",
                                "off",
                                "--disable-pass",
                                "fuse-post-ops",
                                "plan-memory",
                                "--dump-ir",
                                "-",
                                "--verify",
                                "--compile-report",
                                "--quiet",
                                "--dry-run"});
  EXPECT_EQ(o.model, "cifar10_cnn");
  EXPECT_EQ(o.data.dataset, "mnist");
  EXPECT_EQ(o.data.dataset_path, folder.path.string());
  EXPECT_EQ(o.micro_batch_size, 32);
  EXPECT_EQ(o.num_epochs, 7);
  EXPECT_EQ(o.optimizer.name, "rmsprop");
  EXPECT_EQ(o.optimizer.params.get("rho"), 0.8);
  EXPECT_EQ(o.optimizer.params.get("momentum"), 0.1);
  EXPECT_EQ(o.optimizer.params.get("epsilon"), 1e-6);
  EXPECT_EQ(o.schedule.learning_rate, 1e-3);
  EXPECT_FALSE(o.data.shuffle);
  EXPECT_EQ(o.seed, 0);
  EXPECT_EQ(o.run_dir, "out");
  EXPECT_EQ(o.threads, 2);
  EXPECT_EQ(o.slices, 4);
  EXPECT_EQ(o.phases.validation, ValidationTime::off);
  EXPECT_EQ(o.disable_pass, (std::vector<std::string>{"fuse-post-ops", "plan-memory"}));
  EXPECT_EQ(o.dump_ir, "-");
  EXPECT_TRUE(o.verify && o.compile_report && o.quiet && o.dry_run);
  EXPECT_TRUE(parse({"--verbose"}).verbose);
}

TEST(TrainOptions, UnknownNamesAreRefusedBeforeAnyWork) {
  EXPECT_SAYS(error({"--model", "mnist_cn"}), "--model: ", "'mnist_cn'", "'mnist_cnn'?");
  EXPECT_SAYS(error({"--disable-pass", "fuse-post-op"}), "--disable-pass: ", "'fuse-post-op'",
              "'fuse-post-ops'?");
  EXPECT_SAYS(error({"--disable-pass", "select-kernels"}), "--disable-pass: ", "optional passes");
}

TEST(TrainOptions, FlagsThatDoNotFitTogether) {
  EXPECT_SAYS(error({"--quiet", "--verbose"}), "--quiet", "--verbose");
  EXPECT_SAYS(error({"--model="}), "--model: ", "mnist_cnn", "got ''");
  EXPECT_NE(error({"--dataset-path", "/absent"}).find("--dataset-path: '/absent' does not exist"),
            std::string::npos);
}

TEST(TrainOptions, HelpShowsEveryGroupAndFlag) {
  const std::string help = output({"--help"});
  for (const char* group :
       {"Model:", "Data:", "Training:", "Optimizer:", "Learning rate:", "Loss:", "Executions:",
        "Phases and validation:", "Replication and accumulation:", "Pipeline:", "Devices:",
        "Machine and compiler:", "Precision:", "Output:", "Flags of other hardware:",
        "Configuration:"}) {
    EXPECT_NE(help.find(group), std::string::npos) << group;
  }
  for (const char* flag : {"model",
                           "dataset",
                           "dataset-path",
                           "micro-batch-size",
                           "num-epochs",
                           "optimizer",
                           "optimizer-params",
                           "weight-decay",
                           "l2-regularization",
                           "learning-rate",
                           "lr-schedule",
                           "lr-schedule-params",
                           "lr-warmup-params",
                           "lr-staircase",
                           "label-smoothing",
                           "loss-scaling",
                           "auto-loss-scaling",
                           "auto-loss-scaling-params",
                           "shuffle",
                           "seed",
                           "run-dir",
                           "threads",
                           "slices",
                           "validation",
                           "training",
                           "validation-micro-batch-size",
                           "validation-num-replicas",
                           "sweep",
                           "target-accuracy",
                           "mlperf-logging",
                           "disable-pass",
                           "dump-ir",
                           "verify",
                           "compile-report",
                           "quiet",
                           "verbose",
                           "config",
                           "config-path",
                           "set",
                           "print-config",
                           "dry-run",
                           "num-replicas",
                           "gradient-accumulation-count",
                           "global-batch-size",
                           "gradient-reduction",
                           "dbn-replica-group-size",
                           "pipeline-splits",
                           "pipeline-stages",
                           "device-mapping",
                           "pipeline-schedule",
                           "recomputation",
                           "pipeline-validation-model",
                           "steps-per-execution",
                           "weight-updates-per-epoch",
                           "logs-per-epoch",
                           "prefetch-depth",
                           "cores-per-device",
                           "core-sets",
                           "memory-per-device",
                           "trace",
                           "profile",
                           "help"}) {
    const std::string start = std::string("\n  --") + flag;
    EXPECT_TRUE(help.find(start + " ") != std::string::npos) << flag;
  }
}

TEST(TrainOptions, PrintedConfigLoadsAgainAndTellsOrigins) {
  const TestFolder folder;
  const std::string text = output({"--seed", "5", "--print-config"});
  EXPECT_NE(text.find("seed: 5 "), std::string::npos);
  EXPECT_NE(text.find("# command line"), std::string::npos);
  EXPECT_NE(text.find("# default"), std::string::npos);
  const TrainOptions again = parse({"--config-path", folder.write("config.yml", text)});
  EXPECT_EQ(again.seed, 5);
  EXPECT_EQ(again.num_epochs, 3);
  EXPECT_NE(again.config_text.find("config.yml:"), std::string::npos);
}

// Every letter of every flag dropped in turn, every two neighbours swapped: each is refused, with
// the word as it was written, unless what is left is the beginning of one name.
TEST(TrainOptions, MisspeltFlagsAreRefusedByName) {
  TrainOptions options;
  OptionTable table;
  add_train_options(table, options);
  int refused = 0;
  for (const Option& option : table.options()) {
    const std::string& name = option.name;
    for (size_t i = 0; i + 1 < name.size(); ++i) {
      std::string dropped = name;
      dropped.erase(i, 1);
      std::string swapped = name;
      std::swap(swapped[i], swapped[i + 1]);
      for (const std::string& typo : {dropped, swapped}) {
        if (name.starts_with(typo) || table.find_exact(typo) != nullptr) continue;
        const std::string message = message_of<UsageError>([&] { table.find(typo, "--" + typo); });
        EXPECT_EQ(message.rfind("--" + typo + ": ", 0), 0u) << typo << " -> " << message;
        ++refused;
      }
    }
  }
  EXPECT_GE(refused, 200);
}

// Values that do not fit: each is refused with the flag's name, from the command line and from a
// file.
TEST(TrainOptions, WrongValuesAreRefusedByName) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> cases = {
      {"dataset", {"cifar", "imagenet", "fashion-mnist", "", "1", "mnis"}},
      {"micro-batch-size",
       {"0", "-1", "1.5", "abc", "", "1e3", "99999999999", "0x10", "6 4", "nan"}},
      {"num-epochs", {"-1", "2.5", "x", "", "three", "1/2"}},
      {"seed", {"-1", "a", "", "1.0", "99999999999999999999", "true"}},
      {"optimizer", {"sdg", "", "adm", "sgd,adam", "SGDM"}},
      {"optimizer-params",
       {"5", "[1]", "{momentum: x}", "{momentum: 2}", "{momentun: 1}", "{beta_1: 1}", "{a",
        "{momentum: -1}", "{nesterov: maybe}", "{momentum: [1]}"}},
      {"learning-rate", {"0", "-0.1", "nan", "inf", "x", "", "1/0", "1,5"}},
      {"weight-decay", {"-1", "x", "", "nan"}},
      {"l2-regularization", {"-1", "x", "", "inf"}},
      {"lr-schedule", {"", "cos", "constant", "linear", "steps"}},
      {"lr-schedule-params",
       {"5", "[1]", "{initial_learning_rate: 0}", "{initial_learning_rate: x}", "{rate: 1}",
        "{power: 2}", "{initial_learning_rate: [1]}", "{"}},
      {"lr-warmup-params",
       {"5", "{warmup_mode: shift}", "{warmup_epochs: 5}", "{warmup_mode: shft, warmup_epochs: 5}",
        "{warmup_mode: mask, warmup_epochs: -1}", "{warmup: 1}"}},
      {"lr-staircase", {"maybe", "2", ""}},
      {"label-smoothing", {"-0.1", "1.1", "x"}},
      {"loss-scaling", {"-1", "x", "", "nan", "inf", "1e-300"}},
      {"auto-loss-scaling", {"maybe", "2"}},
      {"auto-loss-scaling-params",
       {"5", "{increase_factor: 3}", "{initial_loss_scaling_factor: 0}", "{frequency: 8}",
        "{update_frequency: 0}", "{update_frequency: 1.5}", "{ratio_threshold: 1}",
        "{lpf_alpha: 1}", "{histogram_bin_edge: 0}", "{histogram_bin_edge: 65504}",
        "{captured_grads_only: true}", "{max_loss_scaling_factor: 2}",
        "{initial_loss_scaling_factor: 32768}"}},
      {"shuffle", {"maybe", "2", "", "tru", "-1", "yess"}},
      {"validation", {"maybe", "2", "", "x"}},
      {"verify", {"maybe", "2", "", "x"}},
      {"compile-report", {"maybe", "2", "x"}},
      {"quiet", {"maybe", "2", "x"}},
      {"verbose", {"maybe", "2", "x"}},
      {"threads", {"-1", "5000", "1.5", "", "all"}},
      {"slices", {"-1", "5000", "1.5", "", "all"}},
      {"dataset-path", {"/absent/folder"}},
      {"model", {""}},
  };
  const TestFolder folder;
  for (const auto& [flag, values] : cases) {
    for (const std::string& value : values) {
      const std::string message = error({"--" + flag + "=" + value});
      EXPECT_NE(message.find("--" + flag), std::string::npos) << flag << "=" << value << message;
      const std::string line = flag + ": " + to_yaml(ConfigValue::scalar(value)) + "\n";
      const std::string from_file = error({"--config-path", folder.write("c.yml", line)});
      EXPECT_NE(from_file.find(flag), std::string::npos) << line << from_file;
    }
  }
}

}  // namespace
}  // namespace pando::app
