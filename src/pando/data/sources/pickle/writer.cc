// SPDX-License-Identifier: MIT
#include "pando/data/sources/pickle/writer.h"

#include <limits>
#include <utility>

#include "pando/base/error.h"
#include "pando/base/little_endian.h"

namespace pando::data {

PickleWriter::PickleWriter() { raw("\x80\x02"); }

void PickleWriter::raw(std::string_view bytes) {
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
}

void PickleWriter::number(uint64_t value, int bytes) {
  append_little(bytes_, value, static_cast<size_t>(bytes));
}

void PickleWriter::begin_dict() { raw("}("); }
void PickleWriter::end_dict() { raw("u"); }
void PickleWriter::begin_list() { raw("]("); }
void PickleWriter::end_list() { raw("e"); }

void PickleWriter::text(std::string_view bytes) {
  PANDO_CHECK(bytes.size() <= std::numeric_limits<int32_t>::max());
  const bool is_short = bytes.size() < 256;
  raw(is_short ? "U" : "T");
  number(bytes.size(), is_short ? 1 : 4);
  raw(bytes);
}

void PickleWriter::integer(int32_t value) {
  const bool is_short = value >= 0 && value < 256;
  raw(is_short ? "K" : "J");
  number(static_cast<uint32_t>(value), is_short ? 1 : 4);
}

void PickleWriter::matrix(std::span<const uint8_t> bytes, size_t rows, size_t columns) {
  PANDO_CHECK(bytes.size() == rows * columns);
  // _reconstruct(ndarray, (0,), 'b'), then its state (1, shape, dtype, not column-major, bytes).
  raw("cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\n");
  integer(0);
  raw("\x85");
  text("b");
  raw("\x87R(");
  integer(1);
  integer(static_cast<int32_t>(rows));
  integer(static_cast<int32_t>(columns));
  raw("\x86");
  raw("cnumpy\ndtype\n");
  text("u1");
  integer(0);
  integer(1);
  raw("\x87R(");
  integer(3);
  text("|");
  raw("NNN");
  integer(-1);
  integer(-1);
  integer(0);
  raw("tb\x89");
  text({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  raw("tb");
}

std::vector<uint8_t> PickleWriter::finish() && {
  raw(".");
  return std::move(bytes_);
}

}  // namespace pando::data
