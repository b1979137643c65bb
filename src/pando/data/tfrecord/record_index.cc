// SPDX-License-Identifier: MIT
#include "pando/data/tfrecord/record_index.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <span>
#include <string_view>
#include <system_error>

#include <sys/stat.h>

#include "pando/base/little_endian.h"
#include "pando/base/new_file.h"
#include "pando/base/random.h"
#include "pando/data/parallel.h"
#include "pando/data/sources/gzip.h"
#include "pando/data/tfrecord/byte_input.h"
#include "pando/data/tfrecord/crc32c.h"

namespace pando::data {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMagic = "pando record index 1\n";
constexpr size_t kSealBytes = 4;

void refuse_compressed(const std::string& path, std::span<const uint8_t> front) {
  const Compression found = sniff_compression(front);
  if (found == Compression::none) return;
  throw IoError(path, ": expected plain records, which can be read in any order, got a ",
                to_string(found),
                " stream; decompress the file or read it in sequence with RecordReader");
}

FileIndex scan_headers(const std::string& path, uint64_t most_record_bytes) {
  const RandomAccessFile file(path);
  file.expect_jumps();
  FileIndex index;
  const auto stop = [&](uint64_t offset, const std::string& why) {
    index.bad = BadRecord{path, offset, why};
  };
  std::array<uint8_t, kRecordHeaderBytes> bytes{};
  for (uint64_t offset = 0; offset < file.size() && !index.bad;) {
    Truncation cut{.records = static_cast<int64_t>(index.lengths.size()), .record_offset = offset};
    const size_t found = file.read(offset, bytes);
    const bool whole = found == bytes.size();
    const auto header = whole ? parse_record_header(bytes, most_record_bytes)
                              : RecordHeader{.length = 0, .error = "cut"};
    if (offset == 0 && !header.error.empty()) {
      refuse_compressed(path, std::span(bytes).first(found));
    }
    if (!whole) {
      cut.in_header = true;
      cut.wanted = bytes.size();
      cut.found = found;
      stop(offset, to_string(cut));
    } else if (!header.error.empty()) {
      stop(offset, concat("record ", cut.records, " at byte ", offset, ": ", header.error));
    } else {
      cut.wanted = header.length + kRecordFooterBytes;
      cut.found = file.size() - std::min(file.size(), offset + kRecordHeaderBytes);
      if (cut.wanted > cut.found) stop(offset, to_string(cut));
    }
    if (index.bad) break;
    index.lengths.push_back(header.length);
    offset += kRecordHeaderBytes + cut.wanted;
  }
  return index;
}

std::string full_path(const std::string& path) {
  std::error_code error;
  const fs::path full = fs::absolute(path, error);
  return error ? path : full.lexically_normal().string();
}

// Describes the files of an index, one line for each; nothing if a file is missing.
std::optional<std::string> describe_files(const std::vector<std::string>& paths,
                                          uint64_t most_record_bytes) {
  std::string text = concat("at most ", most_record_bytes, "\n");
  for (const std::string& path : paths) {
    struct stat status = {};
    if (::stat(path.c_str(), &status) != 0) return std::nullopt;
    text += concat(status.st_size, " ", status.st_mtim.tv_sec, ".", status.st_mtim.tv_nsec, " ",
                   full_path(path), "\n");
  }
  return text;
}

void append_text(std::vector<uint8_t>& to, std::string_view text) {
  to.insert(to.end(), text.begin(), text.end());
}

// [magic][length of the description][description], then for each file [count][lengths ...], then
// the crc32c of all of it. Numbers have 8 bytes, the lowest first.
std::vector<uint8_t> encode(const std::vector<FileIndex>& files, const std::string& description) {
  std::vector<uint8_t> bytes(kMagic.begin(), kMagic.end());
  append_little(bytes, description.size(), 8);
  append_text(bytes, description);
  for (const FileIndex& file : files) {
    append_little(bytes, file.lengths.size(), 8);
    for (const uint64_t length : file.lengths) append_little(bytes, length, 8);
  }
  append_little(bytes, crc32c(bytes), kSealBytes);
  return bytes;
}

// Reads what encode() wrote; for anything else failed() becomes true.
class IndexDecoder {
 public:
  explicit IndexDecoder(std::span<const uint8_t> bytes) : rest_(bytes) {}

  uint64_t number(size_t count = 8) { return load_little(take(count)); }
  bool expect(std::string_view text) {
    const auto bytes = take(text.size());
    return std::equal(bytes.begin(), bytes.end(), text.begin(), text.end(),
                      [](uint8_t a, char b) { return a == static_cast<uint8_t>(b); });
  }
  uint64_t left() const { return rest_.size(); }
  bool failed() const { return failed_; }

 private:
  std::span<const uint8_t> take(size_t count) {
    failed_ = failed_ || count > rest_.size();
    if (failed_) return {};
    const auto bytes = rest_.first(count);
    rest_ = rest_.subspan(count);
    return bytes;
  }

  std::span<const uint8_t> rest_;
  bool failed_ = false;
};

std::optional<std::vector<FileIndex>> decode(std::span<const uint8_t> bytes, size_t count,
                                             const std::string& description) {
  if (bytes.size() < kSealBytes) return std::nullopt;
  const auto body = bytes.first(bytes.size() - kSealBytes);
  if (IndexDecoder(bytes.last(kSealBytes)).number(kSealBytes) != crc32c(body)) return std::nullopt;
  IndexDecoder from(body);
  if (!from.expect(kMagic) || from.number() != description.size() || !from.expect(description)) {
    return std::nullopt;
  }
  std::vector<FileIndex> files(count);
  for (FileIndex& file : files) {
    const uint64_t records = from.number();
    if (from.failed() || records > from.left() / 8) return std::nullopt;
    file.lengths.reserve(static_cast<size_t>(records));
    for (uint64_t i = 0; i < records; ++i) file.lengths.push_back(from.number());
  }
  if (from.failed() || from.left() > 0) return std::nullopt;
  return files;
}

std::optional<std::vector<FileIndex>> load_index(const std::string& path, size_t count,
                                                 const std::string& description) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return std::nullopt;
  try {
    return decode(read_file(path), count, description);
  } catch (const IoError&) {
    return std::nullopt;
  }
}

// Whether the records of every file fill it. The crc of an index does not ensure that: anybody can
// compute one.
bool fill_files(const std::vector<FileIndex>& index, const std::vector<std::string>& paths,
                uint64_t most_record_bytes) {
  for (size_t i = 0; i < paths.size(); ++i) {
    std::error_code error;
    uint64_t left = fs::file_size(paths[i], error);
    for (const uint64_t length : index[i].lengths) {
      if (error || length > most_record_bytes) return false;
      const uint64_t bytes = kRecordHeaderBytes + length + kRecordFooterBytes;
      if (bytes > left) return false;
      left -= bytes;
    }
    if (error || left > 0) return false;
  }
  return true;
}

// If the folder cannot be written, the next run only has to read the headers again.
void save_index(const std::string& folder, const std::string& path,
                const std::vector<uint8_t>& bytes) {
  std::error_code ignored;
  fs::create_directories(folder, ignored);
  try {
    NewFile file(path);
    file.write(bytes);
    file.commit();
  } catch (const IoError&) {
  }
}

}  // namespace

std::string index_path(const std::string& folder, const std::vector<std::string>& paths) {
  uint64_t hash = paths.size();
  for (const std::string& path : paths) hash = mix_keys(hash, hash_name(full_path(path)));
  std::array<char, 32> name{};
  std::snprintf(name.data(), name.size(), "%016llx.index", static_cast<unsigned long long>(hash));
  return (fs::path(folder) / name.data()).string();
}

std::vector<FileIndex> index_records(const std::vector<std::string>& paths,
                                     const RecordIndexOptions& options) {
  std::optional<std::string> description;
  std::string kept_at;
  if (!options.folder.empty()) {
    // Describes the files before the pass: the index must not fit files that change during it.
    description = describe_files(paths, options.most_record_bytes);
    kept_at = index_path(options.folder, paths);
  }
  if (description) {
    auto kept = load_index(kept_at, paths.size(), *description);
    if (kept && fill_files(*kept, paths, options.most_record_bytes)) return std::move(*kept);
  }
  std::vector<FileIndex> files(paths.size());
  for_each_item(paths.size(), options.workers,
                [&](size_t i) { files[i] = scan_headers(paths[i], options.most_record_bytes); });
  const bool sound =
      std::ranges::none_of(files, [](const FileIndex& file) { return file.bad.has_value(); });
  if (description && sound) save_index(options.folder, kept_at, encode(files, *description));
  return files;
}

}  // namespace pando::data
