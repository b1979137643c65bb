// Makes files of NumPy, valid and invalid ones, for the tests that read them.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tests/data/idx_files.h"

namespace pando {

// A .npy file with this dictionary; `version` 1 to 3.
inline Bytes npy_file(const std::string& dictionary, const Bytes& payload, uint8_t version = 1) {
  Bytes file = {0x93, 'N', 'U', 'M', 'P', 'Y', version, 0};
  const std::string text = dictionary + "\n";
  for (int byte = 0; byte < (version == 1 ? 2 : 4); ++byte) {
    file.push_back(static_cast<uint8_t>(text.size() >> (8 * byte)));
  }
  file.insert(file.end(), text.begin(), text.end());
  return file + payload;
}

inline std::string npy_dictionary(const std::string& type, const std::string& shape,
                                  bool fortran = false) {
  return "{'descr': '" + type + "', 'fortran_order': " + (fortran ? "True" : "False") +
         ", 'shape': " + shape + ", }";
}

inline void append_number(Bytes& to, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) to.push_back(static_cast<uint8_t>(value >> (8 * i)));
}

struct ZipFile {
  std::string name;
  Bytes content;
  bool deflated = false;
};

inline Bytes raw_deflate(const Bytes& plain) {
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  Bytes packed(deflateBound(&stream, static_cast<uLong>(plain.size())) + 16);
  stream.next_in = const_cast<Bytef*>(plain.data());
  stream.avail_in = static_cast<uInt>(plain.size());
  stream.next_out = packed.data();
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

// A zip archive; with `zip64` all sizes and offsets are in the fields of that form.
inline Bytes zip_archive(const std::vector<ZipFile>& files, bool zip64 = false) {
  Bytes archive;
  Bytes directory;
  for (const ZipFile& file : files) {
    const Bytes stored = file.deflated ? raw_deflate(file.content) : file.content;
    const auto crc = crc32(0, file.content.data(), static_cast<uInt>(file.content.size()));
    const size_t offset = archive.size();
    Bytes common;  // what local headers and the directory share
    append_number(common, 0, 2);
    append_number(common, file.deflated ? 8 : 0, 2);
    append_number(common, 0, 4);
    append_number(common, crc, 4);
    append_number(common, zip64 ? 0xffffffff : stored.size(), 4);
    append_number(common, zip64 ? 0xffffffff : file.content.size(), 4);
    append_number(common, file.name.size(), 2);
    Bytes extra;
    if (zip64) {
      append_number(extra, 1, 2);
      append_number(extra, 24, 2);
      append_number(extra, file.content.size(), 8);
      append_number(extra, stored.size(), 8);
      append_number(extra, offset, 8);
    }
    append_number(archive, 0x04034b50, 4);
    append_number(archive, 20, 2);
    archive = archive + common;
    append_number(archive, extra.size(), 2);
    archive.insert(archive.end(), file.name.begin(), file.name.end());
    archive = archive + extra + stored;
    append_number(directory, 0x02014b50, 4);
    append_number(directory, 20, 2);
    append_number(directory, 20, 2);
    directory = directory + common;
    append_number(directory, extra.size(), 2);
    append_number(directory, 0, 2 + 2 + 2);
    append_number(directory, 0, 4);
    append_number(directory, zip64 ? 0xffffffff : offset, 4);
    directory.insert(directory.end(), file.name.begin(), file.name.end());
    directory = directory + extra;
  }
  const size_t begin = archive.size();
  archive = archive + directory;
  if (zip64) {
    const size_t record = archive.size();
    append_number(archive, 0x06064b50, 4);
    append_number(archive, 44, 8);
    append_number(archive, 45, 2);
    append_number(archive, 45, 2);
    append_number(archive, 0, 8);
    append_number(archive, files.size(), 8);
    append_number(archive, files.size(), 8);
    append_number(archive, directory.size(), 8);
    append_number(archive, begin, 8);
    append_number(archive, 0x07064b50, 4);
    append_number(archive, 0, 4);
    append_number(archive, record, 8);
    append_number(archive, 1, 4);
  }
  append_number(archive, 0x06054b50, 4);
  append_number(archive, 0, 4);
  append_number(archive, zip64 ? 0xffff : files.size(), 2);
  append_number(archive, zip64 ? 0xffff : files.size(), 2);
  append_number(archive, directory.size(), 4);
  append_number(archive, zip64 ? 0xffffffff : begin, 4);
  append_number(archive, 0, 2);
  return archive;
}

}  // namespace pando
