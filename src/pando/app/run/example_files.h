// Pictures beside an exported model, for people who try it: a folder `examples` of a version.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace pando::app {

struct ExamplePicture {
  std::string name;  // of its file: is_example_name()
  std::vector<uint8_t> bytes;
};

// What a version has at most: small enough to stay in memory with the model.
inline constexpr size_t kMostExamples = 12;
inline constexpr size_t kMostExampleBytes = 256 << 10;  // of one picture

// "0-Trouser.png": up to 64 letters, digits, '.', '_' and '-', no dot at the beginning, and the
// suffix of a JPEG or PNG. Nothing that shells or addresses give a meaning.
bool is_example_name(const std::string& name);
// "image/png" or "image/jpeg", by the first bytes; empty for other files.
std::string picture_type(const std::vector<uint8_t>& bytes);

// Writes VERSION/examples/<name>, nothing if there are none. Throws IoError.
void write_examples(const std::string& version, const std::vector<ExamplePicture>& examples);

// The pictures in VERSION/examples, in the order of their names. Ignores what is not an example:
// other names and other files, files above the limits, and what cannot be read.
std::vector<ExamplePicture> read_examples(const std::string& version);

}  // namespace pando::app
