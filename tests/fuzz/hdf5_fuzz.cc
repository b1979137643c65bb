// Reads any bytes as an HDF5 file: all groups, attributes and datasets. If the first byte is odd,
// checksums of metadata may be wrong, because a fuzzer cannot guess them. Expects values or an
// IoError.
// SPDX-License-Identifier: MIT
#include "pando/base/error.h"
#include "pando/store/hdf5_reader.h"
#include "tests/fuzz/targets.h"

namespace pando {
namespace {

template <typename Call>
void expect_values(const Call& call) {
  try {
    call();
  } catch (const IoError&) {
  }
}

void read_object(store::Hdf5Reader& file, const std::string& path, int depth) {
  expect_values([&] { file.string_attributes(path); });
  expect_values([&] {
    for (const std::string& name : file.attribute_names(path)) {
      expect_values([&] { file.read_strings(path, name); });
      expect_values([&] { file.read_numbers(path, name); });
    }
  });
  expect_values([&] { file.read_tensor(path); });
  if (depth == 0) return;
  expect_values([&] {
    int count = 0;
    for (const std::string& name : file.children(path)) {
      if (++count > 8) break;  // a group may contain itself
      PANDO_CHECK(file.exists(path));
      read_object(file, path + "/" + name, depth - 1);
    }
  });
}

}  // namespace
}  // namespace pando

void pando::fuzz::hdf5(Input input) {
  if (input.empty()) return;
  expect_values([&] {
    store::Hdf5Reader file(input.subspan(1), "input",
                           {.check_sums = input[0] % 2 == 0, .most_bytes = 1 << 20});
    read_object(file, "", 3);
  });
}
