// SPDX-License-Identifier: MIT
#include "pando/store/seal.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include "pando/base/error.h"
#include "pando/data/tfrecord/byte_input.h"

namespace pando::store {

namespace {

constexpr std::array<unsigned char, 8> kMark = {'\n', 'P', 'A', 'N', 'D', 'O', 'S', '1'};

// Each step is a bijection of the state for a given word and of the word for a given state.
class Checksum {
 public:
  explicit Checksum(uint64_t length) { add_word(length); }

  // Requires: all calls but the last give a multiple of 8 bytes.
  void add(std::span<const std::byte> bytes) {
    while (bytes.size() >= 8) {
      uint64_t word;
      std::memcpy(&word, bytes.data(), 8);
      add_word(word);
      bytes = bytes.subspan(8);
    }
    if (bytes.empty()) return;
    uint64_t rest = 0;
    std::memcpy(&rest, bytes.data(), bytes.size());
    add_word(rest);
  }
  uint64_t value() const { return state_ ^ (state_ >> 32); }

 private:
  void add_word(uint64_t word) {
    state_ = std::rotl((state_ ^ word) * 0x9E3779B97F4A7C15u, 29) + 0xD1B54A32D192ED03u;
  }
  uint64_t state_ = 0;
};

Seal make_seal(uint64_t length, uint64_t checksum) {
  static_assert(std::endian::native == std::endian::little);
  Seal seal;
  std::memcpy(seal.data(), kMark.data(), 8);
  std::memcpy(seal.data() + 8, &length, 8);
  std::memcpy(seal.data() + 16, &checksum, 8);
  return seal;
}

void read_exactly(const data::RandomAccessFile& file, uint64_t offset, std::span<std::byte> to,
                  const std::string& path) {
  const std::span bytes(reinterpret_cast<uint8_t*>(to.data()), to.size());
  if (file.read(offset, bytes) == to.size()) return;
  throw IoError("cannot read '", path, "': it became shorter while it was read");
}

}  // namespace

Seal seal_of(std::span<const std::byte> content) {
  Checksum checksum(content.size());
  checksum.add(content);
  return make_seal(content.size(), checksum.value());
}

bool check_seal(const std::string& path) {
  const data::RandomAccessFile file(path);
  const uint64_t size = file.size();
  Seal found;
  if (size < found.size()) return false;
  const uint64_t length = size - found.size();
  read_exactly(file, length, found, path);
  // A seal with another length does not belong to this content: something was cut off or appended.
  if (!std::equal(found.begin(), found.begin() + 16, make_seal(length, 0).begin())) return false;
  Checksum checksum(length);
  std::vector<std::byte> block(size_t{1} << 20);
  for (uint64_t done = 0; done < length; done += block.size()) {
    const auto part = std::span(block).first(std::min<uint64_t>(block.size(), length - done));
    read_exactly(file, done, part, path);
    checksum.add(part);
  }
  if (found != make_seal(length, checksum.value())) {
    throw IoError("cannot read '", path,
                  "': the file is damaged (its checksum differs); restore it from a copy");
  }
  return true;
}

}  // namespace pando::store
