// Tensors by name in safetensors files: the length of a JSON text, the text, then the bytes of all
// tensors. The text has the type, shape and place of each tensor, and metadata.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "pando/store/weights_file.h"

namespace pando::store {

struct SafetensorsFile {
  std::vector<NamedWeight> tensors;  // when read: by their places in the file
  std::map<std::string, std::string> metadata;
};

// F32, F16, BF16 and U8 stay; F64 becomes f32, BOOL u8, and other integers i32. Throws IoError,
// which names the place and the tensor, for a file that is not strictly as the format demands: a
// text of more than 100 MB, names that occur twice, tensors that overlap or leave holes, bytes that
// no tensor has, sizes that do not fit type and shape; and for an unknown type or an integer beyond
// i32.
SafetensorsFile read_safetensors(const std::string& path);
SafetensorsFile parse_safetensors(std::span<const uint8_t> bytes, const std::string& place);

// Whether a file begins like one: a plausible length, then '{'.
bool looks_like_safetensors(const std::string& path);

// Replaces the file as a whole or not at all. Throws InvalidArgument for a name that is empty,
// reserved or used twice, IoError if the file cannot be written.
void write_safetensors(const std::string& path, const SafetensorsFile& file);

}  // namespace pando::store
