// Checksums of bytes and files.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace pando::fetch {

enum class DigestKind { sha256, md5 };

const char* to_string(DigestKind kind);

// The checksum of bytes that arrive piece by piece.
class Digest {
 public:
  explicit Digest(DigestKind kind);
  ~Digest();
  Digest(const Digest&) = delete;
  Digest& operator=(const Digest&) = delete;

  void update(std::span<const std::byte> bytes);
  // The checksum in hexadecimal, lower case. Call it once, at the end.
  std::string finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Throws IoError when the file cannot be read.
std::string digest_of_file(const std::string& path, DigestKind kind);

}  // namespace pando::fetch
