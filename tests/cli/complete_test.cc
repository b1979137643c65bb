#include <algorithm>
#include <sstream>

#include <gtest/gtest.h>

#include "pando/base/strings.h"
#include "pando/cli/program.h"

namespace pando::cli {
namespace {

std::vector<std::string> completed(const std::vector<std::string>& words) {
  std::ostringstream out;
  EXPECT_EQ(command_complete(words, out), 0);
  std::vector<std::string> lines = split(out.str(), '\n');
  lines.pop_back();
  return lines;
}

bool offers(const std::vector<std::string>& words, const std::string& word) {
  return std::ranges::count(completed(words), word) == 1;
}

TEST(Complete, CommandsAndVerbs) {
  EXPECT_TRUE(offers({""}, "train"));
  EXPECT_EQ(completed({"va"}), std::vector<std::string>{"validate"});
  EXPECT_EQ(completed({"data", "ver"}), std::vector<std::string>{"verify"});
  EXPECT_EQ(completed({"help", "mod"}), std::vector<std::string>{"models"});
}

TEST(Complete, WhatOnlyTheProgramUsesIsNotOffered) {
  EXPECT_TRUE(completed({"run-"}).empty());
  EXPECT_TRUE(completed({"comp"}).empty());
}

TEST(Complete, FlagsOfACommand) {
  EXPECT_EQ(completed({"train", "--micro-b"}), std::vector<std::string>{"--micro-batch-size"});
  EXPECT_TRUE(offers({"data", "show", "mnist", "--"}, "--columns"));
  EXPECT_TRUE(offers({"run", "--num-i"}, "--num-instances"));
}

TEST(Complete, ValuesOfAFlag) {
  EXPECT_TRUE(offers({"train", "--model", ""}, "mnist_cnn"));
  EXPECT_TRUE(offers({"train", "--config", "fashion"}, "fashion_resnet20"));
  EXPECT_TRUE(offers({"train", "--optimizer", "a"}, "adam"));
  EXPECT_FALSE(offers({"train", "--model", ""}, "--dataset"));
  // A boolean flag needs no value, so a flag may follow too.
  EXPECT_TRUE(offers({"train", "--shuffle", ""}, "false"));
  EXPECT_TRUE(offers({"train", "--shuffle", ""}, "--seed"));
  EXPECT_TRUE(completed({"train", "--run-dir", ""}).empty());
}

TEST(Complete, TheProgramInsideARunIsCompletedToo) {
  EXPECT_TRUE(offers({"run", "--num-instances", "2", "pando", "tra"}, "train"));
  EXPECT_TRUE(offers({"run", "./pando", "train", "--mod"}, "--model"));
}

TEST(Complete, WhatIsUnknownHasNoCompletion) {
  EXPECT_TRUE(completed({"nothing", ""}).empty());
  EXPECT_TRUE(completed({"data", "nothing", "-"}).empty());
  std::ostringstream out;
  EXPECT_EQ(command_complete({}, out), 0);
}

}  // namespace
}  // namespace pando::cli
