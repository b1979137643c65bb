// Reads any bytes as a record file. The first byte, modulo 5, chooses how to read the rest: with
// compression automatic, none, gzip or zlib; or as payloads that are written, cut and read again
// (because a fuzzer cannot guess a crc).
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <vector>

#include "pando/base/error.h"
#include "pando/data/tfrecord/record_file.h"
#include "tests/fuzz/targets.h"

namespace pando {
namespace {

using Bytes = std::vector<uint8_t>;

void read_records(std::span<const uint8_t> content, Compression compression) {
  try {
    RecordReader reader(content, "input",
                        {.compression = compression, .most_record_bytes = 1 << 20});
    for (;;) {
      try {
        if (!reader.next()) break;
      } catch (const BadRecordError&) {
        if (reader.next_offset() == reader.record_offset()) break;
      }
    }
  } catch (const IoError&) {
  }
}

// Pieces of 0 to 30 bytes, each after a byte with its length.
std::vector<Bytes> cut_into_payloads(std::span<const uint8_t> input) {
  std::vector<Bytes> payloads;
  while (!input.empty()) {
    const size_t count = std::min<size_t>(input[0] % 31, input.size() - 1);
    payloads.emplace_back(input.begin() + 1,
                          input.begin() + 1 + static_cast<std::ptrdiff_t>(count));
    input = input.subspan(1 + count);
  }
  return payloads;
}

void read_part_of_file(std::span<const uint8_t> input) {
  if (input.size() < 2) return;
  const size_t kept_share = input[0] * 256u + input[1];
  const std::vector<Bytes> payloads = cut_into_payloads(input.subspan(2));
  Bytes file;
  std::vector<size_t> ends;
  for (const Bytes& payload : payloads) {
    for (const Bytes& part :
         {data::record_header(payload), payload, data::record_footer(payload)}) {
      file.insert(file.end(), part.begin(), part.end());
    }
    ends.push_back(file.size());
  }
  const size_t kept = file.size() * kept_share / 65535;
  const auto whole = static_cast<size_t>(std::ranges::upper_bound(ends, kept) - ends.begin());
  const bool at_end = kept == (whole == 0 ? 0 : ends[whole - 1]);
  const fuzz::Input part = std::span<const uint8_t>(file).first(kept);
  RecordReader reader(part, "input", {.compression = Compression::none});
  for (size_t i = 0; i < whole; ++i) {
    const auto payload = reader.next();
    PANDO_CHECK(payload && std::ranges::equal(*payload, payloads[i]));
  }
  bool ended_well = false;
  try {
    ended_well = !reader.next();
  } catch (const BadRecordError&) {
  }
  PANDO_CHECK(ended_well == at_end);
}

}  // namespace
}  // namespace pando

void pando::fuzz::tfrecord(Input input) {
  constexpr Compression kChoices[] = {Compression::automatic, Compression::none, Compression::gzip,
                                      Compression::zlib};
  if (input.empty()) return;
  const int mode = input[0] % 5;
  if (mode == 4) {
    read_part_of_file(input.subspan(1));
  } else {
    read_records(input.subspan(1), kChoices[mode]);
  }
}
