// Runs `pando benchmark` on a file that the test writes, within the test process.
// SPDX-License-Identifier: MIT
#pragma once

#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "pando/base/json.h"
#include "pando/benchmark/suite.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_folder.h"

namespace pando::benchmark {

class SuiteTest : public testing::Test {
 protected:
  struct Done {
    int code = 0;
    std::string out;
  };

  // The log folder is "log" in the folder of the test.
  Done run(const std::string& spec, const std::vector<std::string>& flags = {}) {
    const std::string path = folder_.write_text("benchmarks.yml", spec);
    std::vector<std::string> args = {"--spec", path, "--log-dir", folder_.path("log")};
    args.insert(args.end(), flags.begin(), flags.end());
    std::ostringstream out;
    const auto options = parse_benchmark_options(args, out);
    const int code = run_benchmarks(*options, out, out);
    return {code, out.str()};
  }

  std::string log(const std::string& name) const { return folder_.read("log/" + name); }
  Json results() const { return Json::parse(log("benchmark_results.json")); }
  size_t benchmarks() const {  // that have results
    const Json all = results();
    return all.members().size();
  }
  Json variant(const std::string& benchmark) const { return results().at(benchmark).items()[0]; }

  testing_support::TempFolder folder_;
};

}  // namespace pando::benchmark
