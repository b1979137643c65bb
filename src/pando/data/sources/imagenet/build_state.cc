// SPDX-License-Identifier: MIT
#include "pando/data/sources/imagenet/build_state.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pando/base/error.h"
#include "pando/data/sources/gzip.h"
#include "pando/data/sources/imagenet/format.h"

namespace pando::data {

namespace {

namespace fs = std::filesystem;

constexpr const char* kName = ".build-imagenet";

// Replaces control characters, so that the text stays in one column of one line.
std::string plain(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return static_cast<uint8_t>(c) < ' '; }, ' ');
  return text;
}

std::string first_line_of(uint64_t fingerprint) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "pando build-imagenet 1 %016llx",
                static_cast<unsigned long long>(fingerprint));
  return text.data();
}

void remove_file(const fs::path& path) {
  std::error_code error;
  fs::remove(path, error);
  if (error) throw IoError(path.string(), ": cannot remove the file: ", error.message());
}

// Removes the incomplete files of a build that was killed.
void remove_temporary_files(const std::string& folder) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (name.starts_with(".pando-") && name.ends_with(".tmp")) found.push_back(at->path());
  }
  for (const fs::path& path : found) remove_file(path);
}

}  // namespace

BuildState::BuildState(std::string folder, uint64_t fingerprint)
    : folder_(std::move(folder)), path_((fs::path(folder_) / kName).string()) {
  open();
  try {
    refuse_shards_of_nobody();
    remove_temporary_files(folder_);
    const std::string first_line = first_line_of(fingerprint);
    read(first_line);
    if (earlier_.empty()) begin(first_line);
  } catch (...) {
    ::close(descriptor_);  // the destructor does not run after an exception here
    throw;
  }
}

BuildState::~BuildState() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

// Repeats until it has the lock of a file that still has its name: a build that ends at this moment
// removes its file.
void BuildState::open() {
  while (true) {
    descriptor_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (descriptor_ < 0) {
      throw IoError("cannot write '", path_, "': ", std::generic_category().message(errno));
    }
    const bool locked = ::flock(descriptor_, LOCK_EX | LOCK_NB) == 0;
    struct stat status = {};
    if (locked && ::fstat(descriptor_, &status) == 0 && status.st_nlink > 0) return;
    ::close(descriptor_);
    if (!locked) throw IoError(folder_, ": another build is at work in this folder");
  }
}

// Runs under the lock, so that it sees the shards of a build that finished a moment ago. A build
// writes its first line before any shard, so an empty file beside shards was made by open() or
// belongs to no build.
void BuildState::refuse_shards_of_nobody() const {
  const std::vector<std::string> shards = shard_names_in(folder_);
  if (shards.empty() || ::lseek(descriptor_, 0, SEEK_END) > 0) return;
  remove_file(path_);
  throw IoError(folder_, ": expected an empty folder, found ", shards.size(),
                " shards, the first is ", shards[0],
                ", and no unfinished build that they belong to; remove them or choose another "
                "folder");
}

// Protects the shards of another command, which may be hours of work.
void BuildState::refuse_other_build() const {
  const std::vector<std::string> shards = shard_names_in(folder_);
  if (shards.empty()) return;
  throw IoError(
      folder_, ": found ", shards.size(), " shards, the first is ", shards[0],
      ", of an unfinished build with other images or flags; repeat the command that began "
      "it to continue, or remove the folder to start again");
}

// Takes over the shards whose files still have the size that was written.
void BuildState::read(const std::string& first_line) {
  const std::vector<uint8_t> bytes = read_file(path_);
  std::vector<std::string> lines = split(std::string(bytes.begin(), bytes.end()), '\n');
  const bool cut = !lines.back().empty();
  lines.pop_back();
  if (lines.empty()) return;
  if (lines[0] != first_line) return refuse_other_build();
  if (cut) write("\n");
  std::map<std::string, std::vector<BadRecord>> skipped;
  for (const std::string& line : lines) {
    const std::vector<std::string> columns = split(line, '\t');
    if (columns.size() == 4 && columns[0] == "bad") {
      skipped[columns[1]].push_back({.file = columns[2], .offset = 0, .why = columns[3]});
    }
    if (columns.size() != 6 || columns[0] != "shard") continue;
    BuiltShard shard{.records = parse_int(columns[2]).value_or(0),
                     .bytes = static_cast<uint64_t>(parse_int(columns[3]).value_or(-1)),
                     .converted = parse_int(columns[4]).value_or(0),
                     .skipped = {}};
    // Earlier entries belong to a shard whose line a crash cut off.
    const std::vector<BadRecord>& bad = skipped[columns[1]];
    const int64_t count = parse_int(columns[5]).value_or(-1);
    if (count < 0 || count > std::ssize(bad)) continue;
    shard.skipped.assign(bad.end() - count, bad.end());
    std::error_code error;
    const bool there = fs::file_size(fs::path(folder_) / columns[1], error) == shard.bytes;
    if (there && !error) earlier_[columns[1]] = std::move(shard);
  }
}

void BuildState::begin(const std::string& first_line) {
  for (const std::string& name : shard_names_in(folder_)) remove_file(fs::path(folder_) / name);
  if (::ftruncate(descriptor_, 0) != 0) {
    throw IoError("cannot write '", path_, "': ", std::generic_category().message(errno));
  }
  write(first_line + "\n");
}

// O_APPEND and one call: a line is complete or, at the end of the file, cut off.
void BuildState::write(const std::string& text) {
  const ssize_t done = ::write(descriptor_, text.data(), text.size());
  if (done == static_cast<ssize_t>(text.size())) return;
  throw IoError("cannot write '", path_,
                "': ", done < 0 ? std::generic_category().message(errno) : "the disk is full");
}

const BuiltShard* BuildState::find(const std::string& name) const {
  const auto found = earlier_.find(name);
  return found == earlier_.end() ? nullptr : &found->second;
}

void BuildState::add(const std::string& name, const BuiltShard& shard) {
  std::string text;
  for (const BadRecord& bad : shard.skipped) {
    text += concat("bad\t", name, "\t", plain(bad.file), "\t", plain(bad.why), "\n");
  }
  text += concat("shard\t", name, "\t", shard.records, "\t", shard.bytes, "\t", shard.converted,
                 "\t", shard.skipped.size(), "\n");
  const std::lock_guard lock(mutex_);
  write(text);
}

void BuildState::finish() { remove_file(path_); }

}  // namespace pando::data
