// The messages that describe a dataset.
// SPDX-License-Identifier: MIT
#include <algorithm>

#include "pando/store/hdf5/dataset.h"

namespace pando::store::hdf5 {

namespace {

constexpr std::string_view kLayout = "data layout";
constexpr uint64_t kMostChunkBytes = uint64_t{1} << 32;

// Which classes of storage a layout message names.
enum class LayoutClass : uint8_t { compact = 0, contiguous = 1, chunked = 2, elsewhere = 3 };

void set_chunk(Layout& layout, std::vector<uint64_t> extents, const Dataspace& space,
               uint32_t element_bytes) {
  // The last extent is the size of an element.
  if (extents.size() != space.dims.size() + 1 || extents.size() < 2 ||
      extents.back() != element_bytes) {
    throw IoError(kLayout, ": chunks of another rank or type; the file is damaged");
  }
  layout.chunk_bytes = 1;
  for (const uint64_t extent : extents) {
    if (extent == 0 || extent > kMostChunkBytes) throw IoError(kLayout, ": wrong chunks");
    layout.chunk_bytes *= extent;  // both at most 2^32
    if (layout.chunk_bytes > kMostChunkBytes) throw IoError(kLayout, ": chunks are too large");
  }
  extents.pop_back();
  layout.chunk = std::move(extents);
}

void parse_old_chunks(Cursor& cursor, Layout& layout, const Dataspace& space,
                      uint32_t element_bytes) {
  const size_t count = cursor.u8();
  layout.address = cursor.address();
  std::vector<uint64_t> extents;
  for (size_t i = 0; i < count; ++i) extents.push_back(cursor.u32());
  set_chunk(layout, std::move(extents), space, element_bytes);
}

void parse_new_chunks(Cursor& cursor, Layout& layout, const Dataspace& space,
                      uint32_t element_bytes) {
  constexpr uint8_t kBareEdges = 1 << 0;
  constexpr uint8_t kFilteredSingle = 1 << 1;
  const uint8_t flags = cursor.u8();
  const size_t count = cursor.u8();
  const size_t width = cursor.u8();
  if (width < 1 || width > 8) throw IoError(kLayout, ": wrong widths; the file is damaged");
  if ((flags & kBareEdges) != 0) {
    throw IoError("chunks at the edge without filters are not supported");
  }
  std::vector<uint64_t> extents;
  for (size_t i = 0; i < count; ++i) extents.push_back(cursor.number(width));
  set_chunk(layout, std::move(extents), space, element_bytes);
  layout.index = static_cast<ChunkIndex>(cursor.u8());
  switch (layout.index) {
    case ChunkIndex::single:
      layout.bytes = layout.chunk_bytes;
      if ((flags & kFilteredSingle) == 0) break;
      layout.bytes = cursor.length();
      layout.skipped_filters = cursor.u32();
      break;
    case ChunkIndex::implicit: break;
    case ChunkIndex::fixed_array: cursor.skip(1); break;
    case ChunkIndex::extensible_array: cursor.skip(5); break;
    case ChunkIndex::new_tree: cursor.skip(6); break;
    default: throw IoError(kLayout, ": an unknown index of chunks");
  }
  layout.address = cursor.address();
}

// The value of elements that were never written; empty for zeros.
Bytes parse_fill(const FileBytes& file, ByteSpan body) {
  Cursor cursor = file.cursor(body, "fill value");
  const int version = cursor.u8();
  if (version < 1 || version > 3) throw IoError("fill value: unknown version ", version);
  bool defined = false;
  if (version == 3) {
    defined = (cursor.u8() & 1 << 5) != 0;
  } else {
    cursor.skip(2);
    defined = cursor.u8() == 1;
  }
  if (!defined) return {};
  const ByteSpan value = cursor.bytes(cursor.u32());
  return {value.begin(), value.end()};
}

const Message& required(const ObjectHeader& header, MessageKind kind, std::string_view what) {
  const Message* message = find_message(header, kind);
  if (message == nullptr) throw IoError("a dataset without ", what, "; the file is damaged");
  return *message;
}

}  // namespace

Layout parse_layout(const FileBytes& file, ByteSpan body, const Dataspace& space,
                    uint32_t element_bytes) {
  Cursor cursor = file.cursor(body, kLayout);
  const int version = cursor.u8();
  if (version != 3 && version != 4) {
    throw IoError(kLayout, " of version ", version, " is not supported, expected 3 or 4; ",
                  "h5repack rewrites the file");
  }
  Layout layout;
  switch (static_cast<LayoutClass>(cursor.u8())) {
    case LayoutClass::compact: {
      layout.storage = Storage::compact;
      const ByteSpan content = cursor.bytes(cursor.u16());
      layout.content.assign(content.begin(), content.end());
      break;
    }
    case LayoutClass::contiguous:
      layout.address = cursor.address();
      layout.bytes = cursor.length();
      break;
    case LayoutClass::chunked:
      layout.storage = Storage::chunked;
      if (version == 3) {
        parse_old_chunks(cursor, layout, space, element_bytes);
      } else {
        parse_new_chunks(cursor, layout, space, element_bytes);
      }
      break;
    case LayoutClass::elsewhere:
      throw IoError(
          "the dataset takes its data from other files (virtual), which is not "
          "supported; copy them into one file");
    default: throw IoError(kLayout, ": an unknown kind of storage");
  }
  return layout;
}

std::vector<Filter> parse_filters(const FileBytes& file, ByteSpan body) {
  Cursor cursor = file.cursor(body, "filters");
  const int version = cursor.u8();
  const size_t count = cursor.u8();
  if (version != 1 && version != 2) throw IoError("filters: unknown version ", version);
  if (count > 32) throw IoError("filters: expected at most 32, got ", count);
  if (version == 1) cursor.skip(6);
  std::vector<Filter> filters;
  for (size_t i = 0; i < count; ++i) {
    constexpr uint16_t kFirstForeign = 256;
    Filter filter{.id = cursor.u16()};
    const bool named = version == 1 || filter.id >= kFirstForeign;
    const uint64_t name_bytes = named ? cursor.u16() : 0;
    cursor.skip(2);  // whether writers may leave it out
    const uint64_t values = cursor.u16();
    cursor.skip(name_bytes);
    if (version == 1) cursor.skip((8 - name_bytes % 8) % 8);
    if (values > 0) filter.element_bytes = cursor.u32();
    if (values > 1) cursor.skip(4 * (values - 1));
    if (version == 1 && values % 2 != 0) cursor.skip(4);
    filters.push_back(filter);
  }
  return filters;
}

bool is_dataset(const ObjectHeader& header) {
  return find_message(header, MessageKind::layout) != nullptr;
}

Dataset parse_dataset(FileBytes& file, const ObjectHeader& header) {
  if (find_message(header, MessageKind::external_files) != nullptr) {
    throw IoError(
        "the dataset takes its data from other files (external), which is not "
        "supported; copy them into one file");
  }
  Dataset dataset;
  dataset.type =
      parse_datatype(file, body_of(file, required(header, MessageKind::datatype, "a type")));
  dataset.space =
      parse_dataspace(file, body_of(file, required(header, MessageKind::dataspace, "a shape")));
  dataset.layout =
      parse_layout(file, body_of(file, required(header, MessageKind::layout, "a layout")),
                   dataset.space, dataset.type.bytes);
  if (const Message* filters = find_message(header, MessageKind::filters)) {
    dataset.filters = parse_filters(file, body_of(file, *filters));
  }
  if (const Message* fill = find_message(header, MessageKind::fill_value)) {
    dataset.fill = parse_fill(file, body_of(file, *fill));
    if (dataset.fill.size() != dataset.type.bytes) dataset.fill.clear();
  }
  const bool chunked = dataset.layout.storage == Storage::chunked;
  if (chunked && dataset.space.elements() > 0) dataset.chunks = list_chunks(file, dataset);
  return dataset;
}

}  // namespace pando::store::hdf5
