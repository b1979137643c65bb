// Feeds the corpora of the server's fuzz targets to them, and damaged copies of their files.
// SPDX-License-Identifier: MIT
#include <filesystem>

#include <gtest/gtest.h>

#include "pando/base/random.h"
#include "pando/data/sources/gzip.h"
#include "tests/fuzz/targets.h"

namespace pando::fuzz {
namespace {

const std::filesystem::path kServerCorpus = PANDO_SOURCE_DIR "/tests/fuzz/server/corpus";
constexpr int kRounds = 300;  // per file

void replay(const std::string& name, void (*target)(Input input)) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kServerCorpus / name)) {
    const std::vector<uint8_t> bytes = data::read_file(entry.path().string());
    SCOPED_TRACE(entry.path().string());
    EXPECT_NO_THROW(target(bytes));
    for (size_t length = 0; length < bytes.size(); ++length) {
      EXPECT_NO_THROW(target(Input(bytes).first(length))) << length << " bytes";
    }
    RandomStream random(static_cast<uint64_t>(++files));
    for (int round = 0; round < kRounds; ++round) {
      std::vector<uint8_t> damaged = bytes;
      for (int i = 0; i <= round % 4; ++i) {
        const float place = random.next_uniform() * static_cast<float>(damaged.size());
        const auto at = std::min(static_cast<size_t>(place), damaged.size() - 1);
        damaged[at] = static_cast<uint8_t>(random.next_uniform() * 256);
      }
      EXPECT_NO_THROW(target(damaged)) << "round " << round;
    }
  }
  EXPECT_GT(files, 0);
}

TEST(ServerFuzz, BodiesOfHttp) { replay("http_body", http_body); }
TEST(ServerFuzz, FramesOfGrpc) { replay("grpc_frames", grpc_frames); }
TEST(ServerFuzz, FramesOfHttp2) { replay("h2_frames", h2_frames); }
TEST(ServerFuzz, RequestsOfGrpc) { replay("protobuf_request", protobuf_request); }

}  // namespace
}  // namespace pando::fuzz
