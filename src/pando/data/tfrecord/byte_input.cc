// SPDX-License-Identifier: MIT
#include "pando/data/tfrecord/byte_input.h"

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pando/base/error.h"

namespace pando::data {

namespace {

[[noreturn]] void fail(const std::string& path, const char* what, int error) {
  throw IoError(path, ": cannot ", what, ": ", std::generic_category().message(error));
}

class FileInput : public ByteInput {
 public:
  explicit FileInput(const std::string& path) : file_(path), left_(file_.size()) {}

  // Bytes that were appended since the file was opened are not read.
  size_t read(std::span<uint8_t> to) override {
    const auto wanted = static_cast<size_t>(std::min<uint64_t>(to.size(), left_));
    const size_t done = file_.read(offset_, to.first(wanted));
    offset_ += done;
    left_ = done < wanted ? 0 : left_ - done;  // the file may have become shorter
    return done;
  }
  uint64_t most_left() const override { return left_; }
  bool exact() const override { return true; }

 private:
  RandomAccessFile file_;
  uint64_t offset_ = 0;
  uint64_t left_;
};

class MemoryInput : public ByteInput {
 public:
  explicit MemoryInput(std::span<const uint8_t> content) : content_(content) {}

  size_t read(std::span<uint8_t> to) override {
    const size_t count = std::min(to.size(), content_.size());
    std::copy_n(content_.begin(), count, to.begin());
    content_ = content_.subspan(count);
    return count;
  }
  uint64_t most_left() const override { return content_.size(); }
  bool exact() const override { return true; }

 private:
  std::span<const uint8_t> content_;
};

class PushedBackInput : public ByteInput {
 public:
  PushedBackInput(std::span<const uint8_t> front, ByteInputPtr rest)
      : front_(front.begin(), front.end()), rest_(std::move(rest)) {}

  size_t read(std::span<uint8_t> to) override {
    const size_t count = std::min(to.size(), front_.size() - used_);
    std::copy_n(front_.begin() + static_cast<std::ptrdiff_t>(used_), count, to.begin());
    used_ += count;
    return count == to.size() ? count : count + rest_->read(to.subspan(count));
  }
  uint64_t most_left() const override { return front_.size() - used_ + rest_->most_left(); }
  bool exact() const override { return rest_->exact(); }
  std::string cut_short() const override { return rest_->cut_short(); }

 private:
  std::vector<uint8_t> front_;
  size_t used_ = 0;
  ByteInputPtr rest_;
};

}  // namespace

RandomAccessFile::RandomAccessFile(const std::string& path)
    : path_(path), descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
  if (descriptor_ < 0) fail(path, "open", errno);
  struct stat status = {};
  const int error = ::fstat(descriptor_, &status) == 0 ? 0 : errno;
  if (error == 0 && S_ISREG(status.st_mode)) {
    size_ = static_cast<uint64_t>(status.st_size);
    return;
  }
  ::close(descriptor_);
  if (error != 0) fail(path, "open", error);
  throw IoError(path, ": cannot open: it is not a regular file");
}

RandomAccessFile::~RandomAccessFile() { ::close(descriptor_); }

size_t RandomAccessFile::read(uint64_t offset, std::span<uint8_t> to) const {
  size_t done = 0;
  while (done < to.size()) {
    const ssize_t count =
        ::pread(descriptor_, to.data() + done, to.size() - done, static_cast<off_t>(offset + done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail(path_, "read", errno);
    if (count == 0) break;
    done += static_cast<size_t>(count);
  }
  return done;
}

void RandomAccessFile::expect_jumps() const {
  // Only advice: some file systems do not support it.
  static_cast<void>(::posix_fadvise(descriptor_, 0, 0, POSIX_FADV_RANDOM));
}

ByteInputPtr open_input(const std::string& path) { return std::make_unique<FileInput>(path); }

ByteInputPtr memory_input(std::span<const uint8_t> content) {
  return std::make_unique<MemoryInput>(content);
}

ByteInputPtr pushed_back(std::span<const uint8_t> front, ByteInputPtr rest) {
  return std::make_unique<PushedBackInput>(front, std::move(rest));
}

}  // namespace pando::data
