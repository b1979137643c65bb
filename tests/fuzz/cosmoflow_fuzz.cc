// Reads any bytes as a sample of CosmoFlow. Expects a volume or a BadRecordError. The first byte
// chooses whether the rest is the whole file or only the payload of its record, and how the counts
// are mapped.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "pando/base/error.h"
#include "pando/data/sources/cosmoflow.h"
#include "pando/data/tfrecord/record_file.h"
#include "tests/fuzz/targets.h"
#include "tests/support/temp_folder.h"

namespace pando {
namespace {

constexpr const char* kFile = "a.tfrecord";
const Shape kShape = {2, 2, 2, 4};

std::vector<uint8_t> as_record(fuzz::Input payload) {
  std::vector<uint8_t> file = data::record_header(payload);
  file.insert(file.end(), payload.begin(), payload.end());
  const std::vector<uint8_t> footer = data::record_footer(payload);
  file.insert(file.end(), footer.begin(), footer.end());
  return file;
}

void read_sample(const std::string& folder, bool apply_log) {
  const RecordDataset samples =
      open_cosmoflow(folder, {.shape = kShape, .targets = 4, .apply_log = apply_log});
  Tensor x(DType::f32, kShape);
  Tensor y(DType::f32, {4});
  std::array<std::byte*, 2> rows = {x.data(), y.data()};
  std::array<int64_t, 1> indices = {0};
  samples.data.source()->gather(0, indices, Rows(rows));
  const auto finite = [](float value) { return std::isfinite(value); };
  PANDO_CHECK(std::ranges::all_of(x.f32(), finite) && std::ranges::all_of(y.f32(), finite));
}

}  // namespace
}  // namespace pando

void pando::fuzz::cosmoflow(Input input) {
  if (input.empty()) return;
  static const testing_support::TempFolder folder;
  const Input rest = input.subspan(1);
  folder.write(kFile, (input[0] & 1) != 0 ? as_record(rest)
                                          : std::vector<uint8_t>(rest.begin(), rest.end()));
  try {
    read_sample(folder.path(), (input[0] & 2) != 0);
  } catch (const BadRecordError&) {
  }
}
