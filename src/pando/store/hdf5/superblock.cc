// SPDX-License-Identifier: MIT
#include "pando/store/hdf5/superblock.h"

#include <algorithm>

namespace pando::store::hdf5 {

namespace {

constexpr std::string_view kSuperblock = "superblock";
constexpr uint8_t kFileSignature[] = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};
constexpr uint64_t kFirstUserBlock = 512;

// What the superblock says.
struct Superblock {
  Widths widths;
  uint64_t end = 0;
  uint64_t root = 0;
};

// Programs may put a user block of 512, 1024, 2048... bytes in front.
uint64_t find_signature(FileBytes& file) {
  for (uint64_t at = 0; at <= file.size() && file.size() - at >= sizeof(kFileSignature);
       at = at == 0 ? kFirstUserBlock : at * 2) {
    if (std::ranges::equal(file.read(at, sizeof(kFileSignature)), kFileSignature)) return at;
  }
  throw IoError("expected the signature of HDF5, got another kind of file");
}

Widths parse_widths(Cursor& cursor) {
  const Widths widths{cursor.u8(), cursor.u8()};
  for (const int width : {widths.address, widths.length}) {
    if (width != 2 && width != 4 && width != 8) {
      throw IoError(kSuperblock, ": expected fields of 2, 4 or 8 bytes, got ", width);
    }
  }
  return widths;
}

Superblock read_old(FileBytes& file, uint64_t at, int version) {
  const uint64_t fixed = version == 0 ? 24 : 28;
  const Bytes front = file.read(at, fixed);
  Cursor sizes = file.cursor(ByteSpan(front).subspan(13), kSuperblock);
  Superblock block{.widths = parse_widths(sizes)};
  const uint64_t width = block.widths.address;
  const Bytes rest = file.read(at + fixed, 6 * width);
  Cursor cursor(rest, block.widths, kSuperblock);
  cursor.skip(2 * width);  // base address and free space
  block.end = cursor.address();
  if (cursor.address() != kNowhere) {
    throw IoError(
        "the file is part of several (HDF5's family or multi driver), which is not "
        "supported; copy it into one file with h5repack");
  }
  cursor.skip(width);  // of the name of the root group
  block.root = cursor.address();
  return block;
}

Superblock read_new(FileBytes& file, uint64_t at, int version) {
  const Bytes front = file.read(at, 12);
  Cursor cursor = file.cursor(ByteSpan(front).subspan(9), kSuperblock);
  Superblock block{.widths = parse_widths(cursor)};
  const bool open_for_writing = (cursor.u8() & 1) != 0;
  const uint64_t width = block.widths.address;
  const Bytes whole = file.read(at, 12 + 4 * width + 4);
  file.check_sum(whole, kSuperblock);
  cursor = Cursor(ByteSpan(whole).subspan(12), block.widths, kSuperblock);
  cursor.skip(2 * width);  // base address and extension
  block.end = cursor.address();
  block.root = cursor.address();
  if (version == 3 && open_for_writing) {
    throw IoError(
        "the program that wrote the file did not close it; "
        "if it has ended, h5clear -s makes the file readable");
  }
  return block;
}

}  // namespace

uint64_t read_superblock(FileBytes& file) {
  const uint64_t at = find_signature(file);
  const int version = file.read(at, sizeof(kFileSignature) + 1).back();
  if (version > 3) throw IoError(kSuperblock, ": expected version 0 to 3, got ", version);
  const Superblock block = version < 2 ? read_old(file, at, version) : read_new(file, at, version);
  if (block.end > file.size() || block.end < at) {
    throw IoError("the file has ", file.size(), " bytes of ", block.end,
                  "; it was cut off or is damaged");
  }
  file.describe(at, block.end, block.widths);
  return block.root;
}

}  // namespace pando::store::hdf5
