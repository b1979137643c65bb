#include "pando/benchmark/variants.h"

#include <gtest/gtest.h>

#include "pando/options/usage_error.h"
#include "tests/support/expect_error.h"

namespace pando::benchmark {
namespace {

using testing_support::error_of;
using testing_support::says_all;
using Names = std::vector<std::string>;

Names names_of(const Benchmark& benchmark) {
  Names names;
  for (const Variant& one : make_variants(benchmark)) names.push_back(one.name);
  return names;
}

Benchmark with_choices(Names names, std::vector<Names> choices) {
  return {.name = "b",
          .place = "f.yml:1:1",
          .parameters = {.names = std::move(names), .rows = {}, .choices = std::move(choices)}};
}

TEST(Variants, CombineEveryChoiceTheFirstNameFastest) {
  EXPECT_EQ(names_of({.name = "b"}), Names{"b"});
  EXPECT_EQ(names_of(with_choices({"z", "a"}, {{"1", "2"}, {"x", "y"}})),
            (Names{"b_a_x_z_1", "b_a_x_z_2", "b_a_y_z_1", "b_a_y_z_2"}));
}

TEST(Variants, TakeRowsAsTheyAre) {
  Benchmark benchmark{.name = "b"};
  benchmark.parameters = {.names = {"m", "g"}, .rows = {{"3", "150"}, {"4", "120"}}, .choices = {}};
  EXPECT_EQ(names_of(benchmark), (Names{"b_g_150_m_3", "b_g_120_m_4"}));
  EXPECT_EQ(make_variants(benchmark)[0].parameters, (Settings{{"g", "150"}, {"m", "3"}}));
}

TEST(Variants, HaveALimitAndDifferentNames) {
  const Names many(100, "x");
  const Benchmark endless =
      with_choices({"a", "b", "c", "d", "e", "f"}, {many, many, many, many, many, many});
  EXPECT_TRUE(says_all(error_of<UsageError>([&] { make_variants(endless); }),
                       {"f.yml:1:1", "'b'", "more than 1,000", "fewer"}));
  Benchmark rows{.name = "b"};
  rows.parameters = {.names = {"a"}, .rows = std::vector<Names>(1001, Names{"x"}), .choices = {}};
  EXPECT_TRUE(says_all(error_of<UsageError>([&] { make_variants(rows); }), {"1,001 variants"}));
  EXPECT_TRUE(says_all(error_of<UsageError>([] {
                         names_of(with_choices({"a"}, {{"1", "1"}}));
                       }),
                       {"two variants 'b_a_1'"}));
}

TEST(Variants, FillParametersIntoTheCommand) {
  const Benchmark benchmark{.name = "b",
                            .place = "f.yml:1:1",
                            .path = "/s/f.yml",
                            .cmd =
                                "pando train\n   --n {n} --x '{{a: {n}}}' --wandb "
                                "--wandb-tags a b --wandb-run-name=c --y",
                            .location = "sub"};
  const Variant variant{.name = "b_n_8", .parameters = {{"n", "8"}}};
  EXPECT_EQ(command_of(benchmark, variant, {}), "pando train --n 8 --x '{a: 8}' --y");
  EXPECT_EQ(command_of(benchmark, variant, {.allow_wandb = true, .compile_only = true}),
            "pando train --n 8 --x '{a: 8}' --wandb --wandb-tags a b --wandb-run-name=c --y "
            "--compile-only");
  const Benchmark script{
      .name = "b", .path = "/s/f.yml", .cmd = "python3 train.py train.py", .location = "sub"};
  EXPECT_EQ(command_of(script, variant, {}), "python3 /s/sub/train.py train.py");
  EXPECT_EQ(command_of({.name = "b", .cmd = "python3 -m x"}, variant, {}), "python3 -m x");
}

TEST(Variants, RefuseCommandsThatCannotBeFilledIn) {
  const auto wrong = [](const std::string& cmd) {
    return error_of<UsageError>(
        [&] { command_of({.name = "b", .place = "f.yml:1:1", .cmd = cmd}, {.name = "b"}, {}); });
  };
  EXPECT_TRUE(says_all(wrong("x {y}"), {"f.yml:1:1", "'b'", "no parameter 'y'", "{{"}));
  EXPECT_TRUE(says_all(wrong("x {y"), {"'{' stands alone"}));
  EXPECT_TRUE(says_all(wrong("x y}"), {"'}' stands alone"}));
  EXPECT_TRUE(says_all(wrong(""), {"has no cmd"}));
  EXPECT_TRUE(says_all(wrong("  "), {"got nothing"}));
}

TEST(Variants, ExpandVariablesThatHaveAValue) {
  const auto expand = [](const std::string& text) {
    return expand_variables(text, [](const std::string& name) {
      return name == "A" ? std::optional<std::string>("x y") : std::nullopt;
    });
  };
  EXPECT_EQ(expand("$A/${A}/$B ${B} $ ${ $A_ a$A"), "x y/x y/$B ${B} $ ${ $A_ ax y");
  EXPECT_EQ(expand("${A"), "${A");
  EXPECT_EQ(expand(""), "");
}

TEST(Variants, CountTheProcessesOfMpirun) {
  EXPECT_EQ(processes_of("mpirun --tag-output --np 4 python x"), 4);
  EXPECT_EQ(processes_of("mpirun --np=4 python x"), 4);
  EXPECT_EQ(processes_of("mpirun --np= x"), 1);
  EXPECT_EQ(processes_of("mpirun -n 2 x"), 2);
  EXPECT_EQ(processes_of("pando run --np 4 x"), 1);
  EXPECT_EQ(processes_of("mpirun --np x"), 1);
  EXPECT_EQ(processes_of("mpirun --np"), 1);
}

}  // namespace
}  // namespace pando::benchmark
