// SPDX-License-Identifier: MIT
#include "pando/store/hdf5/links.h"

#include "pando/store/hdf5/heaps.h"
#include "pando/store/hdf5/trees.h"

namespace pando::store::hdf5 {

namespace {

constexpr std::string_view kLink = "link";

std::string text_of(ByteSpan bytes) { return {bytes.begin(), bytes.end()}; }

// A link message, or an object of the heap of links, which has the same form.
void parse_link(const FileBytes& file, ByteSpan body, Links& links) {
  constexpr uint8_t kHard = 0;
  constexpr uint8_t kSoft = 1;
  Cursor cursor = file.cursor(body, kLink);
  if (const int version = cursor.u8(); version != 1) {
    throw IoError(kLink, ": unknown version ", version);
  }
  const uint8_t flags = cursor.u8();
  const uint8_t kind = (flags & 1 << 3) != 0 ? cursor.u8() : kHard;
  if ((flags & 1 << 2) != 0) cursor.skip(8);  // order of creation
  if ((flags & 1 << 4) != 0) cursor.skip(1);  // encoding of the name
  const std::string name = text_of(cursor.bytes(cursor.number(size_t{1} << (flags & 3))));
  Link link;
  if (kind == kHard) {
    link = {.kind = LinkKind::hard, .address = cursor.address()};
  } else if (kind == kSoft) {
    link.kind = LinkKind::soft;
    link.target = text_of(cursor.bytes(cursor.u16()));
  }
  links.try_emplace(name, std::move(link));
}

// The entries of a leaf of an old group.
void read_symbols(FileBytes& file, uint64_t address, const LocalHeap& names, Links& links) {
  constexpr uint32_t kSoftLink = 2;
  const Bytes front = file.read_block(address, 8, "SNOD", false);
  const size_t count = static_cast<size_t>(front[6] | front[7] << 8);
  const uint64_t entry_bytes = 2 * uint64_t{file.widths().address} + 24;
  const Bytes entries = file.read(address + front.size(), count * entry_bytes);
  Cursor cursor = file.cursor(entries, "symbol table");
  for (size_t i = 0; i < count; ++i) {
    const uint64_t name = cursor.address();
    const uint64_t object = cursor.address();
    const uint32_t kind = cursor.u32();
    cursor.skip(4);
    const uint32_t scratch = cursor.u32();
    cursor.skip(12);
    Link link{.kind = LinkKind::hard, .address = object};
    if (kind == kSoftLink) link = {.kind = LinkKind::soft, .target = names.text(scratch)};
    const std::string text = names.text(name);
    file.charge(text.size() + link.target.size());
    links.try_emplace(text, std::move(link));
  }
}

void read_old_group(FileBytes& file, const Message& message, Links& links) {
  Cursor cursor = file.cursor(message.body, "symbol table");
  const uint64_t tree = cursor.address();
  const LocalHeap names(file, cursor.address());
  visit_old_tree(file, tree, OldTree::group, file.widths().length,
                 [&](ByteSpan, uint64_t leaf) { read_symbols(file, leaf, names, links); });
}

void read_link_heap(FileBytes& file, const Message& message, Links& links) {
  Cursor cursor = file.cursor(message.body, "link info");
  cursor.skip(1);
  if ((cursor.u8() & 1) != 0) cursor.skip(8);  // next order of creation
  const uint64_t heap_address = cursor.address();
  const uint64_t tree = cursor.address();
  if (heap_address == kNowhere) return;
  FractalHeap heap(file, heap_address);
  visit_new_tree(file, tree, NewTree::link_names, [&](ByteSpan record) {
    Cursor fields = file.cursor(record, "link record");
    fields.skip(4);  // hash of the name
    parse_link(file, heap.object(fields.bytes(heap.id_bytes())), links);
  });
}

}  // namespace

bool is_group(const ObjectHeader& header) {
  return find_message(header, MessageKind::symbol_table) != nullptr ||
         find_message(header, MessageKind::link_info) != nullptr;
}

Links read_links(FileBytes& file, const ObjectHeader& header) {
  Links links;
  for (const Message& message : header) {
    if (message.kind == MessageKind::link) parse_link(file, body_of(file, message), links);
    if (message.kind == MessageKind::link_info) read_link_heap(file, message, links);
    if (message.kind == MessageKind::symbol_table) read_old_group(file, message, links);
  }
  return links;
}

}  // namespace pando::store::hdf5
