// SPDX-License-Identifier: MIT
#include "pando/data/sources/gzip.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>

#include "pando/base/error.h"
#include "pando/base/memory_limit.h"
#include "pando/data/deflate_impl.h"
#include "pando/data/tfrecord/compression.h"

namespace pando::data {

namespace {

constexpr int kGzipOnly = 15 + 16;  // the largest window, gzip header required

bool is_gzip(std::span<const uint8_t> content) {
  return sniff_compression(content) == Compression::gzip;
}

}  // namespace

std::vector<uint8_t> read_file(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) {
    throw IoError(path, ": no such file",
                  std::filesystem::exists(path, error) ? " (it is not a regular file)" : "");
  }
  const uintmax_t size = std::filesystem::file_size(path, error);
  std::ifstream file(path, std::ios::binary);
  if (error || !file) throw IoError(path, ": cannot open: ", std::strerror(errno));
  require_memory(concat("the bytes of ", path), static_cast<int64_t>(size));
  std::vector<uint8_t> content(size);
  file.read(reinterpret_cast<char*>(content.data()), static_cast<std::streamsize>(size));
  if (static_cast<uintmax_t>(file.gcount()) != size) {
    throw IoError(path, ": read ", file.gcount(), " of ", size, " bytes");
  }
  return content;
}

struct PlainReader::Inflater {
  explicit Inflater(std::span<const uint8_t> content) : rest(content) {
    PANDO_CHECK(inflateInit2(&stream, kGzipOnly) == Z_OK);
  }
  ~Inflater() { inflateEnd(&stream); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  std::span<const uint8_t> rest;
  z_stream stream{};
  bool ended = false;
};

PlainReader::PlainReader(std::span<const uint8_t> content, std::string place)
    : content_(content), place_(std::move(place)) {
  if (is_gzip(content)) inflater_ = std::make_unique<Inflater>(content);
}

PlainReader::~PlainReader() = default;

size_t PlainReader::read(std::span<uint8_t> to) {
  if (compressed()) return read_compressed(to);
  const size_t count = std::min(to.size(), content_.size());
  std::copy_n(content_.begin(), count, to.begin());
  content_ = content_.subspan(count);
  return count;
}

uint64_t PlainReader::most_left() const {
  if (!compressed()) return content_.size();
  if (inflater_->ended) return 0;
  return inflater_->rest.size() * kMostExpansion + kMostBuffered;
}

size_t PlainReader::read_compressed(std::span<uint8_t> to) {
  Inflater& in = *inflater_;
  size_t done = 0;
  while (done < to.size() && !in.ended) {
    const uInt offered = clamp_to_uint(in.rest.size());
    const uInt wanted = clamp_to_uint(to.size() - done);
    in.stream.next_in = const_cast<Bytef*>(in.rest.data());  // zlib only reads it
    in.stream.avail_in = offered;
    in.stream.next_out = to.data() + done;
    in.stream.avail_out = wanted;
    const int status = inflate(&in.stream, Z_NO_FLUSH);
    in.rest = in.rest.subspan(offered - in.stream.avail_in);
    done += wanted - in.stream.avail_out;
    if (status == Z_STREAM_END) {
      end_of_member();
    } else if (status == Z_BUF_ERROR) {  // no progress: there is no input left
      throw IoError(place_, ": truncated: the gzip data ends too early");
    } else if (status != Z_OK) {
      throw IoError(place_, ": damaged gzip data: ",
                    in.stream.msg != nullptr ? in.stream.msg : "zlib gives no reason");
    }
  }
  return done;
}

// A gzip file may consist of several members, one after the other.
void PlainReader::end_of_member() {
  Inflater& in = *inflater_;
  if (in.rest.empty()) {
    in.ended = true;
  } else if (is_gzip(in.rest)) {
    PANDO_CHECK(inflateReset(&in.stream) == Z_OK);
  } else {
    throw IoError(place_, ": ", in.rest.size(), " bytes follow the end of the gzip data");
  }
}

}  // namespace pando::data
