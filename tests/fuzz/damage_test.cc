// Feeds damaged copies of the files of the corpora to the fuzz targets: bits flipped, bytes
// changed, parts cut off, left out or repeated. PANDO_DAMAGE_ROUNDS in the environment is the
// number of copies per target and per sealed file.
#include <cstdlib>
#include <fstream>
#include <random>

#include "pando/base/error.h"
#include "pando/store/weights_file.h"
#include "tests/fuzz/corpus.h"
#include "tests/support/temp_folder.h"

namespace pando {
namespace {

using Random = std::mt19937_64;
using FileBytes = std::vector<uint8_t>;

int damage_rounds() {
  const char* asked = std::getenv("PANDO_DAMAGE_ROUNDS");
  return asked == nullptr ? 100 : std::atoi(asked);
}

size_t below(Random& random, size_t limit) { return limit == 0 ? 0 : random() % limit; }

void flip_bit(FileBytes& bytes, Random& random) {
  if (!bytes.empty()) bytes[below(random, bytes.size())] ^= static_cast<uint8_t>(1 << random() % 8);
}

// One change, rarely several.
void damage(FileBytes& bytes, Random& random) {
  do {
    const auto at = bytes.begin() + static_cast<std::ptrdiff_t>(below(random, bytes.size()));
    const auto end =
        at + static_cast<std::ptrdiff_t>(below(random, static_cast<size_t>(bytes.end() - at)));
    switch (random() % 6) {
      case 0: bytes.erase(at, bytes.end()); break;
      case 1: bytes.erase(at, end); break;
      case 2:
        if (!bytes.empty()) *at = static_cast<uint8_t>(random());
        break;
      case 3: std::fill(at, std::min(end, at + 8), static_cast<uint8_t>(random() % 2 * 255)); break;
      default: flip_bit(bytes, random);
    }
  } while (random() % 4 == 0);
}

class Damage : public testing::TestWithParam<fuzz::Target> {};

TEST_P(Damage, NoCopyCrashesAReader) {
  const std::vector<fuzz::CorpusFile> files = fuzz::corpus_of(GetParam());
  for (int round = 0; round < damage_rounds(); ++round) {
    Random random(static_cast<uint64_t>(round));
    const fuzz::CorpusFile& file = files[static_cast<size_t>(round) % files.size()];
    FileBytes bytes = file.bytes;
    damage(bytes, random);
    ASSERT_NO_THROW(GetParam().run(bytes)) << file.path << ", round " << round;
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, Damage, testing::ValuesIn(fuzz::kTargets),
                         [](const auto& instance) { return instance.param.name; });

// Reads the file; false if it was refused with an error that names it.
bool is_read(const std::string& path) {
  try {
    store::read_weights_file(path);
    return true;
  } catch (const IoError& error) {
    EXPECT_NE(std::string(error.what()).find(path), std::string::npos) << error.what();
    return false;
  }
}

void write_file(const std::string& path, const FileBytes& bytes) {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
}

TEST(DamagedCheckpoint, EveryChangeOfSealedContentIsDetected) {
  constexpr size_t kSealBytes = 24;
  const testing_support::TempFolder dir;
  const std::string path = dir.path("a.h5");
  store::WeightsFile file;
  file.layers = {{"dense", {{"kernel", Tensor::of_f32({2, 2}, {1, 2, 3, 4})}}}};
  file.attributes["note"] = "text";
  store::write_weights_file(path, file);
  const FileBytes whole = data::read_file(path);
  int refused_without_seal = 0;
  for (int round = 0; round < damage_rounds(); ++round) {
    Random random(static_cast<uint64_t>(round));
    FileBytes sealed = whole;
    for (uint64_t flips = 1 + random() % 3; flips > 0; --flips) {
      const size_t at = below(random, whole.size() - kSealBytes);
      sealed[at] = static_cast<uint8_t>(sealed[at] + 1 + random() % 255);
    }
    if (sealed != whole) {
      write_file(path, sealed);
      ASSERT_FALSE(is_read(path)) << "round " << round;
    }
    FileBytes bare(whole.begin(), whole.end() - kSealBytes);
    damage(bare, random);
    write_file(path, bare);
    if (!is_read(path)) ++refused_without_seal;
  }
  EXPECT_GT(refused_without_seal, damage_rounds() / 4);
}

}  // namespace
}  // namespace pando
