// SPDX-License-Identifier: MIT
#include "pando/data/tfrecord/compression.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>
#include <vector>

#include "pando/base/error.h"
#include "pando/data/deflate_impl.h"

namespace pando {

std::string_view to_string(Compression compression) {
  switch (compression) {
    case Compression::automatic: return "automatic";
    case Compression::none: return "none";
    case Compression::gzip: return "gzip";
    case Compression::zlib: return "zlib";
  }
  return "?";
}

namespace data {

namespace {

constexpr size_t kPiece = 1 << 16;

// The largest window, and the kind of header that zlib reads or writes.
int window_bits(Compression compression) { return compression == Compression::gzip ? 15 + 16 : 15; }

class InflatedInput : public ByteInput {
 public:
  InflatedInput(ByteInputPtr packed, Compression compression, std::string place)
      : packed_(std::move(packed)), compression_(compression), place_(std::move(place)) {
    PANDO_CHECK(inflateInit2(&stream_, window_bits(compression)) == Z_OK);
  }
  ~InflatedInput() override { inflateEnd(&stream_); }

  size_t read(std::span<uint8_t> to) override {
    size_t done = 0;
    while (done < to.size() && !ended_) {
      if (stream_.avail_in == 0) refill();
      const uInt wanted = clamp_to_uint(to.size() - done);
      stream_.next_out = to.data() + done;
      stream_.avail_out = wanted;
      const int status = inflate(&stream_, Z_NO_FLUSH);
      done += wanted - stream_.avail_out;
      if (status == Z_STREAM_END) {
        end_of_member();
      } else if (status == Z_BUF_ERROR) {  // no progress: there is no input left
        ended_ = true;
        cut_short_ = concat("the ", to_string(compression_), " data ends too early");
      } else if (status != Z_OK) {
        throw IoError(place_, ": damaged ", to_string(compression_), " data before byte ",
                      taken_ - stream_.avail_in, ": ",
                      stream_.msg != nullptr ? stream_.msg : "zlib gives no reason");
      }
    }
    return done;
  }
  uint64_t most_left() const override {
    if (ended_) return 0;
    const uint64_t left = packed_->most_left() + stream_.avail_in;
    return left > std::numeric_limits<uint64_t>::max() / (2 * kMostExpansion)
               ? std::numeric_limits<uint64_t>::max()
               : left * kMostExpansion + kMostBuffered;
  }
  bool exact() const override { return false; }
  std::string cut_short() const override { return cut_short_; }

 private:
  void refill() {
    const size_t count = packed_->read(piece_);
    taken_ += count;
    stream_.next_in = piece_.data();
    stream_.avail_in = static_cast<uInt>(count);
  }
  void end_of_member() {
    if (stream_.avail_in == 0) refill();
    if (stream_.avail_in == 0) {
      ended_ = true;
    } else if (compression_ == Compression::gzip && *stream_.next_in == 0x1f) {
      PANDO_CHECK(inflateReset(&stream_) == Z_OK);  // gzip allows another member
    } else {
      throw IoError(place_, ": expected the end of the file after the ", to_string(compression_),
                    " data, got more bytes at byte ", taken_ - stream_.avail_in);
    }
  }

  ByteInputPtr packed_;
  Compression compression_;
  std::string place_;
  z_stream stream_{};
  std::array<uint8_t, kPiece> piece_;
  uint64_t taken_ = 0;
  bool ended_ = false;
  std::string cut_short_;
};

}  // namespace

Compression sniff_compression(std::span<const uint8_t> front) {
  if (front.size() < 2) return Compression::none;
  if (front[0] == 0x1f && front[1] == 0x8b) return Compression::gzip;
  // zlib makes the two bytes of its header a multiple of 31.
  if (front[0] == 0x78 && (front[0] * 256 + front[1]) % 31 == 0) return Compression::zlib;
  return Compression::none;
}

ByteInputPtr inflated(ByteInputPtr packed, Compression compression, std::string place) {
  PANDO_CHECK(compression == Compression::gzip || compression == Compression::zlib);
  return std::make_unique<InflatedInput>(std::move(packed), compression, std::move(place));
}

struct Deflater::Stream {
  z_stream z{};
  std::array<uint8_t, kPiece> piece;
};

Deflater::Deflater(Compression compression, int level, Sink sink)
    : stream_(std::make_unique<Stream>()), sink_(std::move(sink)) {
  PANDO_CHECK(compression == Compression::gzip || compression == Compression::zlib);
  if (level < -1 || level > 9) {
    throw InvalidArgument("compression level is ", level,
                          ", expected 1 (fast) to 9 (small), or -1");
  }
  PANDO_CHECK(deflateInit2(&stream_->z, level, Z_DEFLATED, window_bits(compression), 8,
                           Z_DEFAULT_STRATEGY) == Z_OK);
}

Deflater::~Deflater() { deflateEnd(&stream_->z); }

void Deflater::write(std::span<const uint8_t> bytes) { pump(bytes, Z_NO_FLUSH); }

void Deflater::finish() { pump({}, Z_FINISH); }

void Deflater::pump(std::span<const uint8_t> bytes, int flush) {
  z_stream& z = stream_->z;
  do {
    const uInt offered = clamp_to_uint(bytes.size());
    z.next_in = const_cast<Bytef*>(bytes.data());  // zlib only reads it
    z.avail_in = offered;
    do {
      z.next_out = stream_->piece.data();
      z.avail_out = static_cast<uInt>(kPiece);
      const int status = deflate(&z, flush);
      PANDO_CHECK(status == Z_OK || status == Z_STREAM_END || status == Z_BUF_ERROR);
      sink_(std::span<const uint8_t>(stream_->piece).first(kPiece - z.avail_out));
    } while (z.avail_out == 0);
    bytes = bytes.subspan(offered);
  } while (!bytes.empty());
}

}  // namespace data

}  // namespace pando
