// Reads any bytes as a tar archive, plain or gzip, and unpacks two files. Expects an IoError, or
// these files and no others. Corrects the checksums of the headers first: otherwise few inputs
// would pass them.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "pando/base/error.h"
#include "pando/fetch/extract.h"
#include "tests/fuzz/targets.h"
#include "tests/support/temp_folder.h"

namespace pando {
namespace {

namespace fs = std::filesystem;

constexpr size_t kBlock = 512;
const std::vector<fetch::ArchivedFile> kWanted = {
    {.path = "set/batch.bin", .bytes = 5},
    {.path = "set/readme.txt", .bytes = 100, .optional = true},
};

// Bytes 148 to 155 of a header are the octal sum of its bytes, computed with blanks in place of the
// sum.
void repair_checksum(std::span<uint8_t> header) {
  const auto field = header.subspan(148, 8);
  std::ranges::fill(field, uint8_t{' '});
  unsigned sum = 0;
  for (const uint8_t byte : header) sum += byte;
  for (size_t i = 6; i-- > 0; sum /= 8) field[i] = static_cast<uint8_t>('0' + sum % 8);
  field[6] = 0;
}

// Every block that is not empty may be a header; the requested files have one block of content.
void repair_header_sums(std::vector<uint8_t>& file) {
  for (size_t at = 0; at + kBlock <= file.size(); at += kBlock) {
    const auto block = std::span(file).subspan(at, kBlock);
    if (block[257] == 'u' && block[258] == 's') repair_checksum(block);
  }
}

std::set<std::string> files_in(const fs::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_directory()) names.insert(fs::relative(entry.path(), folder));
  }
  return names;
}

void unpack(const testing_support::TempFolder& around) {
  const std::string folder = around.path("inside");
  fs::create_directory(folder);
  std::set<std::string> unpacked;
  try {
    for (const auto& file : fetch::extract(around.path("archive"), kWanted, folder)) {
      unpacked.insert(file.path);
    }
    PANDO_CHECK(unpacked.contains(kWanted[0].path));
    PANDO_CHECK(files_in(folder) == unpacked);
    PANDO_CHECK(fs::file_size(fs::path(folder) / kWanted[0].path) == 5);
  } catch (const IoError&) {
    for (const std::string& name : files_in(folder)) {
      PANDO_CHECK(name == kWanted[0].path || name == kWanted[1].path);
    }
  }
  PANDO_CHECK(around.entries() == 2);
  fs::remove_all(folder);
}

}  // namespace
}  // namespace pando

void pando::fuzz::archive(Input input) {
  static const testing_support::TempFolder folder;
  std::vector<uint8_t> file(input.begin(), input.end());
  repair_header_sums(file);
  folder.write("archive", file);
  unpack(folder);
}
