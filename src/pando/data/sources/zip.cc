// SPDX-License-Identifier: MIT
#include "pando/data/sources/zip.h"

#include <algorithm>
#include <optional>

#include "pando/base/error.h"
#include "pando/base/little_endian.h"
#include "pando/base/memory_limit.h"
#include "pando/data/deflate_impl.h"

namespace pando::data {

namespace {

using ZipBytes = std::span<const uint8_t>;

constexpr uint32_t kEndOfDirectory = 0x06054b50;
constexpr uint32_t kEndOfDirectory64 = 0x06064b50;
constexpr uint32_t kLocator64 = 0x07064b50;
constexpr uint32_t kDirectoryEntry = 0x02014b50;
constexpr uint32_t kLocalHeader = 0x04034b50;
constexpr size_t kEndBytes = 22;
constexpr size_t kLocator64Bytes = 20;
constexpr size_t kEnd64Bytes = 56;
constexpr size_t kEntryBytes = 46;
constexpr size_t kLocalBytes = 30;
constexpr size_t kMostComment = 0xffff;
constexpr uint32_t kSeeExtra = 0xffffffff;  // the number is in the zip64 field
constexpr uint16_t kExtra64 = 1;
constexpr size_t kFirstInflated = size_t{1} << 20;

// Little-endian numbers at places that may lie outside of the archive.
class ZipNumbers {
 public:
  ZipNumbers(ZipBytes bytes, const std::string& place) : bytes_(bytes), place_(place) {}

  ZipBytes at(uint64_t offset, uint64_t count) const {
    if (offset > bytes_.size() || count > bytes_.size() - offset) {
      throw IoError(place_, ": the zip archive is damaged: ", count, " bytes at offset ", offset,
                    " lie outside of its ", bytes_.size(), " bytes");
    }
    return bytes_.subspan(offset, count);
  }
  uint64_t number(uint64_t offset, size_t width) const { return load_little(at(offset, width)); }
  uint32_t u32(uint64_t offset) const { return static_cast<uint32_t>(number(offset, 4)); }
  uint16_t u16(uint64_t offset) const { return static_cast<uint16_t>(number(offset, 2)); }

 private:
  ZipBytes bytes_;
  const std::string& place_;
};

struct ZipDirectory {
  uint64_t offset = 0;
  uint64_t members = 0;
};

// The record at the end of an archive, after which there may only be a comment.
std::optional<size_t> find_end(ZipBytes archive, const ZipNumbers& numbers) {
  if (archive.size() < kEndBytes) return std::nullopt;
  const size_t last = archive.size() - kEndBytes;
  const size_t first = last > kMostComment ? last - kMostComment : 0;
  for (size_t at = last + 1; at-- > first;) {
    if (numbers.u32(at) == kEndOfDirectory &&
        at + kEndBytes + numbers.u16(at + 20) == archive.size())
      return at;
  }
  return std::nullopt;
}

ZipDirectory find_directory(ZipBytes archive, const ZipNumbers& numbers, const std::string& place) {
  const std::optional<size_t> end = find_end(archive, numbers);
  if (!end) {
    throw IoError(place, ": not a zip archive, or one that is cut short: ", archive.size(),
                  " bytes without the directory that ends it");
  }
  const bool may_be_64 =
      *end >= kLocator64Bytes && numbers.u32(*end - kLocator64Bytes) == kLocator64;
  if (!may_be_64) return {.offset = numbers.u32(*end + 16), .members = numbers.u16(*end + 10)};
  const uint64_t record = numbers.number(*end - kLocator64Bytes + 8, 8);
  numbers.at(record, kEnd64Bytes);
  if (numbers.u32(record) != kEndOfDirectory64) {
    throw IoError(place, ": the zip archive is damaged: expected its directory at offset ", record);
  }
  return {.offset = numbers.number(record + 48, 8), .members = numbers.number(record + 32, 8)};
}

// Replaces the sizes of a member that do not fit into 32 bits.
void read_extra64(const ZipNumbers& numbers, uint64_t offset, uint64_t count, ZipMember& member) {
  const uint64_t end = offset + count;
  while (offset + 4 <= end) {
    const uint16_t kind = numbers.u16(offset);
    const uint64_t next = offset + 4 + numbers.u16(offset + 2);
    offset += 4;
    if (kind == kExtra64) {
      for (uint64_t* value : {&member.bytes, &member.stored, &member.offset}) {
        if (*value != kSeeExtra || offset + 8 > std::min(next, end)) continue;
        *value = numbers.number(offset, 8);
        offset += 8;
      }
    }
    offset = next;
  }
}

// Unpacks in steps that grow as bytes arrive, so that a size that is too large costs no memory.
std::vector<uint8_t> inflate_member(ZipBytes packed, uint64_t wanted, const std::string& place) {
  z_stream stream{};
  PANDO_CHECK(inflateInit2(&stream, -MAX_WBITS) == Z_OK);
  struct Closing {
    z_stream& stream;
    ~Closing() { inflateEnd(&stream); }
  } const closing{stream};
  std::vector<uint8_t> bytes;
  size_t done = 0;
  int status = Z_OK;
  while (status == Z_OK) {
    if (done == bytes.size()) {
      const uint64_t next = std::min<uint64_t>(wanted + 1, std::max(kFirstInflated, 2 * done));
      if (next <= done) break;  // more than the directory says
      require_memory(concat("the bytes of ", place), static_cast<int64_t>(next));
      bytes.resize(next);
    }
    const uInt offered = clamp_to_uint(packed.size());
    const uInt room = clamp_to_uint(bytes.size() - done);
    stream.next_in = const_cast<Bytef*>(packed.data());  // zlib only reads it
    stream.avail_in = offered;
    stream.next_out = bytes.data() + done;
    stream.avail_out = room;
    status = inflate(&stream, Z_NO_FLUSH);
    packed = packed.subspan(offered - stream.avail_in);
    done += room - stream.avail_out;
  }
  if (status != Z_STREAM_END || done != wanted) {
    throw IoError(place, ": damaged: unpacked ", done, " bytes, expected ", wanted,
                  stream.msg == nullptr ? "" : ": ", stream.msg == nullptr ? "" : stream.msg);
  }
  bytes.resize(done);
  return bytes;
}

uint32_t crc_of(std::span<const uint8_t> bytes) {
  uLong crc = crc32(0, nullptr, 0);
  while (!bytes.empty()) {
    const uInt count = clamp_to_uint(bytes.size());
    crc = crc32(crc, bytes.data(), count);
    bytes = bytes.subspan(count);
  }
  return static_cast<uint32_t>(crc);
}

}  // namespace

std::vector<ZipMember> zip_members(ZipBytes archive, const std::string& place) {
  const ZipNumbers numbers(archive, place);
  const ZipDirectory directory = find_directory(archive, numbers, place);
  std::vector<ZipMember> members;
  uint64_t at = directory.offset;
  for (uint64_t i = 0; i < directory.members; ++i) {
    numbers.at(at, kEntryBytes);
    if (numbers.u32(at) != kDirectoryEntry) {
      throw IoError(place, ": the zip archive is damaged: expected member ", i, " of ",
                    directory.members, " at offset ", at, " of its directory");
    }
    const uint16_t name = numbers.u16(at + 28);
    const uint16_t extra = numbers.u16(at + 30);
    const ZipBytes text = numbers.at(at + kEntryBytes, name);
    ZipMember member{.name = std::string(text.begin(), text.end()),
                     .encrypted = (numbers.u16(at + 8) & 1) != 0,
                     .method = numbers.u16(at + 10),
                     .crc = numbers.u32(at + 16),
                     .stored = numbers.u32(at + 20),
                     .bytes = numbers.u32(at + 24),
                     .offset = numbers.u32(at + 42)};
    read_extra64(numbers, at + kEntryBytes + name, extra, member);
    members.push_back(std::move(member));
    at += kEntryBytes + name + uint64_t{extra} + numbers.u16(at + 32);
  }
  return members;
}

std::vector<uint8_t> read_zip_member(ZipBytes archive, const ZipMember& member,
                                     const std::string& place) {
  const std::string where = concat(place, ": ", member.name);
  const ZipNumbers numbers(archive, where);
  const bool deflated = member.method == Z_DEFLATED;
  if (member.encrypted || (member.method != 0 && !deflated)) {
    throw IoError(where, ": expected a member that is stored or deflated, got ",
                  member.encrypted ? "an encrypted one" : concat("method ", member.method));
  }
  numbers.at(member.offset, kLocalBytes);
  if (numbers.u32(member.offset) != kLocalHeader) {
    throw IoError(where, ": damaged: there is no member at offset ", member.offset);
  }
  const uint64_t begin = member.offset + kLocalBytes + numbers.u16(member.offset + 26) +
                         numbers.u16(member.offset + 28);
  const ZipBytes stored = numbers.at(begin, member.stored);
  if (!deflated && member.bytes != member.stored) {
    throw IoError(where, ": damaged: ", member.stored, " bytes, expected ", member.bytes);
  }
  std::vector<uint8_t> bytes = deflated ? inflate_member(stored, member.bytes, where)
                                        : std::vector<uint8_t>(stored.begin(), stored.end());
  if (crc_of(bytes) != member.crc) throw IoError(where, ": damaged: its checksum does not match");
  return bytes;
}

namespace {

// The fields that are both in the header of a member and in its entry of the directory.
void append_member(std::vector<uint8_t>& bytes, const ZipContent& member, uint32_t crc) {
  constexpr uint64_t kVersion = 20;
  constexpr uint64_t kFirstDay = (1 << 5) | 1;  // 1980-01-01, the earliest
  append_little(bytes, kVersion, 2);
  append_little(bytes, 0, 2);  // flags
  append_little(bytes, 0, 2);  // stored
  append_little(bytes, 0, 2);  // time
  append_little(bytes, kFirstDay, 2);
  append_little(bytes, crc, 4);
  append_little(bytes, member.bytes.size(), 4);
  append_little(bytes, member.bytes.size(), 4);
  append_little(bytes, member.name.size(), 2);
  append_little(bytes, 0, 2);  // no further fields
}

}  // namespace

std::vector<uint8_t> make_zip(const std::vector<ZipContent>& members) {
  uint64_t all = kEndBytes;
  for (const ZipContent& member : members) {
    all += kLocalBytes + kEntryBytes + 2 * member.name.size() + member.bytes.size();
  }
  if (all > kSeeExtra) {
    throw InvalidArgument("zip archive: expected less than 4 GiB, got ", all, " bytes");
  }
  std::vector<uint8_t> archive, directory;
  archive.reserve(all);
  for (const ZipContent& member : members) {
    const uint32_t crc = crc_of(member.bytes);
    const uint64_t offset = archive.size();
    append_little(archive, kLocalHeader, 4);
    append_member(archive, member, crc);
    archive.insert(archive.end(), member.name.begin(), member.name.end());
    archive.insert(archive.end(), member.bytes.begin(), member.bytes.end());
    append_little(directory, kDirectoryEntry, 4);
    append_little(directory, 20, 2);  // version of the writer
    append_member(directory, member, crc);
    directory.insert(directory.end(), 10, 0);  // comment, disk, attributes
    append_little(directory, offset, 4);
    directory.insert(directory.end(), member.name.begin(), member.name.end());
  }
  const uint64_t begin = archive.size();
  archive.insert(archive.end(), directory.begin(), directory.end());
  append_little(archive, kEndOfDirectory, 4);
  append_little(archive, 0, 4);  // disks
  append_little(archive, members.size(), 2);
  append_little(archive, members.size(), 2);
  append_little(archive, directory.size(), 4);
  append_little(archive, begin, 4);
  append_little(archive, 0, 2);  // comment
  return archive;
}

}  // namespace pando::data
