// Makes valid and invalid record files for the tests that read them.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pando/data/tfrecord/crc32c.h"
#include "pando/data/tfrecord/record_file.h"
#include "tests/data/idx_files.h"

namespace pando {

inline Bytes bytes_of(std::string_view text) { return Bytes(text.begin(), text.end()); }

inline Bytes record(const Bytes& payload) {
  return data::record_header(payload) + payload + data::record_footer(payload);
}

inline Bytes records(const std::vector<Bytes>& payloads) {
  Bytes all;
  for (const Bytes& payload : payloads) all = std::move(all) + record(payload);
  return all;
}

// A header with a valid crc and any length.
inline Bytes header_of_length(uint64_t length) {
  Bytes bytes;
  for (int i = 0; i < 8; ++i) bytes.push_back(static_cast<uint8_t>(length >> (8 * i)));
  const uint32_t crc = data::masked_crc32c(bytes);
  for (int i = 0; i < 4; ++i) bytes.push_back(static_cast<uint8_t>(crc >> (8 * i)));
  return bytes;
}

}  // namespace pando
