// The data sets that can be verified, measured and shown: the only list of them.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pando/data/tools/benchmark.h"
#include "pando/data/tools/show.h"
#include "pando/data/tools/verify.h"

namespace pando {

namespace data {
struct Pipeline;
struct Showing;
}  // namespace data

struct DataFormat {
  std::string name;
  std::string files;  // what lies at the path, for --help
  VerifyReport (*verify)(const std::string& path, const VerifyOptions& options);
  data::Pipeline (*pipeline)(const std::string& path, const DataBenchmarkOptions& options);
  data::Showing (*show)(const std::string& path, const ShowOptions& options);
};

const std::vector<DataFormat>& data_formats();
std::vector<std::string> data_format_names();
// Throws InvalidArgument with the known names.
const DataFormat& find_data_format(std::string_view name);

}  // namespace pando
