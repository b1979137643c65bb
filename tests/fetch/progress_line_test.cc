#include "pando/fetch/progress_line.h"

#include <sstream>

#include <gtest/gtest.h>

#include "tests/support/expect_error.h"

namespace pando::fetch {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

struct Fixture {
  std::ostringstream out;
  double now = 100;
  ProgressLine line;

  explicit Fixture(bool is_terminal)
      : line({.out = &out, .is_terminal = is_terminal, .clock = [this] { return now; }}) {}
  std::string take() {
    std::string text = out.str();
    out.str("");
    return text;
  }
};

TEST(ProgressLine, OneLineForAFileElsewhere) {
  Fixture fixture(false);
  fixture.line.begin("x.gz", 0, 8 * kMiB);
  fixture.now += 2;
  fixture.line.update(4 * kMiB);
  fixture.now += 2;
  fixture.line.update(8 * kMiB);
  EXPECT_EQ(fixture.take(), "");
  fixture.line.end();
  EXPECT_EQ(fixture.take(), "x.gz: 8.0 MiB in 4 s, 2.0 MiB/s\n");
}

TEST(ProgressLine, ABarOnATerminal) {
  Fixture fixture(true);
  fixture.line.begin("x.gz", 0, 8 * kMiB);
  EXPECT_EQ(fixture.take(), "\rx.gz [                        ] 0.0/8.0 MiB\x1b[K");
  fixture.now += 0.05;
  fixture.line.update(kMiB);
  EXPECT_EQ(fixture.take(), "") << "not redrawn too often";
  fixture.now += 1.95;
  fixture.line.update(2 * kMiB);
  EXPECT_EQ(fixture.take(),
            "\rx.gz [======                  ] 2.0/8.0 MiB, 1.0 MiB/s, 6 s left\x1b[K");
  fixture.now += 6;
  fixture.line.update(8 * kMiB);
  fixture.take();
  fixture.line.end();
  EXPECT_EQ(fixture.take(), "\rx.gz: 8.0 MiB in 8 s, 1.0 MiB/s\x1b[K\n");
}

TEST(ProgressLine, StaysOnOneLine) {
  Fixture fixture(true);
  fixture.line.begin("train-images-idx3-ubyte.gz", 0, 1000 * kMiB);
  fixture.now += 1;
  fixture.take();
  fixture.line.update(8 * kMiB);
  const std::string text = fixture.take();
  EXPECT_SAYS(text, "8.0/1000.0 MiB, 8.0 MiB/s, 2:04 min left");
  EXPECT_LT(text.size(), 80 + 1 + 3u);  // with the return and the sequence that clears the rest
  EXPECT_GT(text.size(), 70u);
}

TEST(ProgressLine, DoesNotCountWhatWasHere) {
  Fixture fixture(false);
  fixture.line.begin("x.gz", 6 * kMiB, 8 * kMiB);
  fixture.now += 2;
  fixture.line.update(8 * kMiB);
  fixture.line.end();
  EXPECT_EQ(fixture.take(), "x.gz: 8.0 MiB (6.0 MiB were already there) in 2 s, 1.0 MiB/s\n");
}

TEST(ProgressLine, CountsAllWhenTheServerStartsOver) {
  Fixture fixture(false);
  fixture.line.begin("x.gz", 6 * kMiB, 8 * kMiB);
  fixture.line.restart();
  fixture.now += 2;
  fixture.line.update(8 * kMiB);
  fixture.line.end();
  EXPECT_EQ(fixture.take(), "x.gz: 8.0 MiB in 2 s, 4.0 MiB/s\n");
}

TEST(ProgressLine, NotesStandBelowTheBar) {
  Fixture fixture(true);
  fixture.line.note("first");
  EXPECT_EQ(fixture.take(), "first\n");
  fixture.line.begin("x.gz", 0, 8);
  fixture.take();
  fixture.line.note("second");
  EXPECT_EQ(fixture.take(), "\nsecond\n");
}

TEST(ProgressLine, SilentWithoutAPlaceToWrite) {
  ProgressLine line({.out = nullptr, .is_terminal = true});
  line.begin("x.gz", 0, 8);
  line.note("nothing");
  line.update(8);
  line.end();
}

TEST(ProgressLine, Durations) {
  EXPECT_EQ(duration_text(0.2), "0 s");
  EXPECT_EQ(duration_text(59.4), "59 s");
  EXPECT_EQ(duration_text(125), "2:05 min");
  EXPECT_EQ(duration_text(3720), "1:02 h");
}

}  // namespace
}  // namespace pando::fetch
