#include "pando/benchmark/spec.h"

#include <gtest/gtest.h>

#include "pando/options/usage_error.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_folder.h"

namespace pando::benchmark {
namespace {

using testing_support::error_of;
using testing_support::says_all;
using testing_support::TempFolder;

class SpecTest : public testing::Test {
 protected:
  std::vector<Benchmark> load(const std::string& text) {
    return load_specs({folder_.write_text("b.yml", text)});
  }
  std::string wrong(const std::string& text) {
    return error_of<UsageError>([&] { load(text); });
  }

  TempFolder folder_;
};

TEST_F(SpecTest, ReadsAllKeys) {
  const auto all = load(R"(---
common_options: &common
  data:
    throughput: {regexp: 'rate ([0-9]+)', skip: 2}
    accuracy: {reduction_type: final, regexp: 'accuracy: *(.*?) \%', skip: 1}
  output:
    - [samples/sec, throughput]
  requirements_path: requirements.txt
train_real:
  <<: *common
  description: trains
  cmd: >-
    pando train
      --model x
  parameters: {batch: '1,32', lr: [0.1, 0.2]}
  derived:
    per_core: {expr: '{throughput} / 4', reduction_type: value}
  env: {A: 1, B: two words}
  timeout: 2.5
  location: sub
  allow_wandb: true
  reference_directory: x
serve_synth:
  cmd: pando request
  parameters:
    - [a, b]
    - [1, 2]
    - [3, 4]
flagged: {cmd: x, generated: true, needs: [a, ./b]}
)");
  ASSERT_EQ(all.size(), 4u);
  EXPECT_EQ(all[0].cmd, "");
  const Benchmark& train = all[1];
  EXPECT_EQ(train.name, "train_real");
  EXPECT_EQ(train.path, folder_.path("b.yml"));
  EXPECT_TRUE(train.place.ends_with("b.yml:9:1")) << train.place;
  EXPECT_EQ(train.cmd, "pando train\n  --model x");
  EXPECT_EQ(train.parameters.names, (std::vector<std::string>{"batch", "lr"}));
  EXPECT_EQ(train.parameters.choices,
            (std::vector<std::vector<std::string>>{{"1", "32"}, {"0.1", "0.2"}}));
  ASSERT_EQ(train.metrics.data.size(), 2u);
  EXPECT_EQ(train.metrics.data[0].skip, 2);
  EXPECT_STREQ(train.metrics.data[0].reduction->name, "mean");
  EXPECT_STREQ(train.metrics.data[1].reduction->name, "final");
  ASSERT_EQ(train.metrics.derived.size(), 1u);
  EXPECT_EQ(train.metrics.derived[0].reduction, "value");
  EXPECT_EQ(train.env, (Settings{{"A", "1"}, {"B", "two words"}}));
  EXPECT_EQ(train.timeout, 2.5);
  EXPECT_EQ(train.location, "sub");
  EXPECT_TRUE(train.allow_wandb);
  EXPECT_TRUE(train.needs_datasets);
  ASSERT_EQ(train.notes.size(), 3u);
  EXPECT_TRUE(says_all(train.notes[0], {"requirements_path", "ignored"}));
  EXPECT_TRUE(says_all(train.notes[1], {"reference_directory", "ignored", "location"}));
  EXPECT_TRUE(says_all(train.notes[2], {"output", "ignored", "--csv-metrics"}));
  EXPECT_EQ(all[2].parameters.rows,
            (std::vector<std::vector<std::string>>{{"1", "2"}, {"3", "4"}}));
  EXPECT_FALSE(all[2].needs_datasets);
  EXPECT_FALSE(all[3].needs_datasets);
  EXPECT_EQ(all[3].needs, (std::vector<std::string>{"a", "./b"}));
}

TEST_F(SpecTest, RunsNotebooksByJupyter) {
  const auto all = load(
      "a: {notebook: {file: x.ipynb, working_directory: w, timeout: 9}}\n"
      "b: {notebook: y.ipynb}\n");
  EXPECT_TRUE(says_all(all[0].cmd, {"jupyter nbconvert", "--execute", "'x.ipynb'"}));
  EXPECT_EQ(all[0].location, "w");
  EXPECT_EQ(all[0].timeout, 9);
  EXPECT_TRUE(says_all(all[1].cmd, {"'y.ipynb'"}));
  EXPECT_TRUE(says_all(wrong("a: {cmd: x, notebook: y}"), {"cmd and notebook"}));
  EXPECT_TRUE(says_all(wrong("a: {notebook: {fil: y}}"), {"'fil'", "did you mean 'file'"}));
  EXPECT_TRUE(says_all(wrong("a: {notebook: {timeout: 1}}"), {"the key file"}));
}

TEST_F(SpecTest, NamesTheNearestKey) {
  EXPECT_TRUE(says_all(wrong("a:\n  comand: x\n"),
                       {"b.yml:2:3", "unknown key 'comand'", "did you mean 'cmd'"}));
  EXPECT_TRUE(says_all(wrong("a: {cmd: x, data: {t: {regex: x}}}"), {"did you mean 'regexp'"}));
  EXPECT_TRUE(says_all(wrong("a: {cmd: x, derived: {t: {exp: x}}}"), {"did you mean 'expr'"}));
  EXPECT_TRUE(says_all(wrong("common_options: {dta: {}}"), {"did you mean 'data'"}));
}

TEST_F(SpecTest, RefusesWrongValues) {
  EXPECT_TRUE(says_all(wrong("[a, b]"), {"b.yml", "names of benchmarks"}));
  EXPECT_TRUE(says_all(wrong(""), {"b.yml", "names of benchmarks"}));
  EXPECT_TRUE(says_all(wrong("a: x"), {"b.yml:1:1", "keys with values", "got text"}));
  EXPECT_TRUE(says_all(wrong("a: {cmd: [x]}"), {"cmd", "expected text", "a list"}));
  EXPECT_TRUE(says_all(wrong("a: {data: [x]}"), {"data", "a list"}));
  EXPECT_TRUE(says_all(wrong("a: {data: {t: x}}"), {"t: expected keys"}));
  EXPECT_TRUE(says_all(wrong("a: {data: {t: {skip: 1}}}"), {"'t' has no regexp"}));
  EXPECT_TRUE(says_all(wrong("a: {data: {t: {regexp: x, skip: -1}}}"), {"skip", "'-1'"}));
  EXPECT_TRUE(says_all(wrong("a: {data: {t: {regexp: '(x', skip: 1}}}"), {"regexp '(x'"}));
  EXPECT_TRUE(says_all(wrong("a: {data: {t: {regexp: x, reduction_type: sum}}}"),
                       {"unknown reduction_type 'sum'"}));
  EXPECT_TRUE(
      says_all(wrong("a: {data: {t: {regexp: x, better: up}}}"), {"lower or higher", "up"}));
  EXPECT_TRUE(says_all(wrong("a: {derived: {t: x}}"), {"expected keys"}));
  EXPECT_TRUE(says_all(wrong("a: {derived: {t: {skip: 1}}}"), {"'t' has no expr"}));
  EXPECT_TRUE(says_all(wrong("a: {env: [x]}"), {"env"}));
  EXPECT_TRUE(says_all(wrong("a: {env: {'A=B': x}}"), {"'A=B'"}));
  EXPECT_TRUE(says_all(wrong("a: {timeout: 0}"), {"timeout", "more than 0"}));
  EXPECT_TRUE(says_all(wrong("a: {timeout: soon}"), {"timeout", "soon"}));
  EXPECT_TRUE(says_all(wrong("a: {synthetic: maybe}"), {"synthetic", "true or false", "maybe"}));
  EXPECT_TRUE(says_all(wrong("a: {parameters: x}"), {"parameters", "got text"}));
  EXPECT_TRUE(says_all(wrong("a: {parameters: [[x, y]]}"), {"rows of values"}));
  EXPECT_TRUE(says_all(wrong("a: {parameters: [[x, y], [1]]}"), {"expected 2 values", "got 1"}));
  EXPECT_TRUE(says_all(wrong("a: {parameters: [x]}"), {"expected a list"}));
  EXPECT_TRUE(says_all(wrong("a: {parameters: {n: []}}"), {"n: expected at least one value"}));
  EXPECT_TRUE(says_all(wrong("a: {parameters: {'x{': 1}}"), {"'x{'", "name of a parameter"}));
}

TEST_F(SpecTest, RefusesNamesThatOccurTwice) {
  EXPECT_TRUE(says_all(wrong("a: {cmd: x}\na: {cmd: y}\n"), {"b.yml:2:1", "occurs twice"}));
  const std::string first = folder_.write_text("1.yml", "a: {cmd: x}");
  const std::string second = folder_.write_text("2.yml", "b: {cmd: x}\na: {cmd: x}");
  EXPECT_TRUE(says_all(error_of<UsageError>([&] {
                         load_specs({first, second});
                       }),
                       {"2.yml:2:1", "'a' occurs twice", "1.yml:1:1"}));
  EXPECT_TRUE(says_all(error_of<UsageError>([&] { load_specs({folder_.path("none.yml")}); }),
                       {"none.yml", "cannot open"}));
}

TEST_F(SpecTest, ReadsCustomMetrics) {
  const Metrics metrics = load_custom_metrics(
      folder_.write_text("m.yml", "data: {peak_memory: {regexp: x}}\nderived: {d: {expr: '1'}}"));
  ASSERT_EQ(metrics.data.size(), 1u);
  EXPECT_FALSE(metrics.data[0].required);
  EXPECT_TRUE(metrics.data[0].lower_is_better);
  EXPECT_FALSE(metrics.derived.at(0).required);
  const std::string bad = folder_.write_text("n.yml", "dat: {}");
  EXPECT_TRUE(
      says_all(error_of<UsageError>([&] { load_custom_metrics(bad); }), {"did you mean 'data'"}));
}

TEST(Spec, KnowsWhatIsBetterLow) {
  for (const char* name : {"latency", "p99_latency", "val_loss", "Total_Time", "peak_memory"}) {
    EXPECT_TRUE(is_lower_better(name)) << name;
  }
  for (const char* name : {"throughput", "accuracy", "samples_per_second_x"}) {
    EXPECT_FALSE(is_lower_better(name)) << name;
  }
}

}  // namespace
}  // namespace pando::benchmark
