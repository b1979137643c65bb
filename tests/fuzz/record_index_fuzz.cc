// Reads any bytes as a record file whose records are looked up, and as the stored index of another
// file. The records found must fit into the file. The first byte, modulo 3, chooses: a record file,
// an index, or the entries of an index with a correct checksum (because a fuzzer cannot guess a
// crc).
// SPDX-License-Identifier: MIT
#include <string>
#include <vector>

#include "pando/base/error.h"
#include "pando/data/tfrecord/crc32c.h"
#include "pando/data/tfrecord/record_index.h"
#include "tests/fuzz/targets.h"
#include "tests/support/temp_folder.h"

namespace pando {
namespace {

using Bytes = std::vector<uint8_t>;

void look_up(const testing_support::TempFolder& folder, fuzz::Input file) {
  const std::string path = folder.write("other", {file.begin(), file.end()});
  try {
    const data::FileIndex index = data::index_records({path}, {}).at(0);
    const uint64_t around = data::kRecordHeaderBytes + data::kRecordFooterBytes;
    uint64_t bytes = 0;
    for (const uint64_t length : index.lengths) bytes += length + around;
    PANDO_CHECK(index.bad ? bytes <= file.size() : bytes == file.size());
  } catch (const IoError&) {  // compressed
  }
}

// A file of one record with 3 bytes, and the path of its index.
struct Kept {
  testing_support::TempFolder folder;
  std::string path = folder.write("records", one_record());
  std::string index = data::index_path(folder.path(), {path});
  Bytes sound;  // the correct index

  Kept() {
    look();
    const std::string text = folder.read(index.substr(folder.path().size() + 1));
    sound.assign(text.begin(), text.end());
  }
  static Bytes one_record() {
    const Bytes payload = {1, 2, 3};
    Bytes file = data::record_header(payload);
    file.insert(file.end(), payload.begin(), payload.end());
    const Bytes footer = data::record_footer(payload);
    file.insert(file.end(), footer.begin(), footer.end());
    return file;
  }
  data::FileIndex look() const {
    return data::index_records({path}, {.folder = folder.path()}).at(0);
  }
  void put(const Bytes& bytes) const {
    folder.write(index.substr(folder.path().size() + 1), bytes);
  }
};

// The index up to the entry of the file, which is [count][length]; then the bytes of the input.
Bytes sealed(Bytes index, fuzz::Input input) {
  index.resize(index.size() - 2 * 8 - 4);
  index.insert(index.end(), input.begin(), input.end());
  const uint32_t crc = data::crc32c(index);
  for (int i = 0; i < 4; ++i) index.push_back(static_cast<uint8_t>(crc >> (8 * i)));
  return index;
}

}  // namespace
}  // namespace pando

void pando::fuzz::record_index(Input input) {
  if (input.empty()) return;
  static const Kept kept;
  const Input rest = input.subspan(1);
  const int mode = input[0] % 3;
  if (mode == 0) return look_up(kept.folder, rest);
  kept.put(mode == 1 ? Bytes(rest.begin(), rest.end()) : sealed(kept.sound, rest));
  PANDO_CHECK(kept.look() == data::FileIndex{.lengths = {3}});
}
