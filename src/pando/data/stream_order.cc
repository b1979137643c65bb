// SPDX-License-Identifier: MIT
#include "pando/data/stream_order.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>

#include "pando/base/random.h"
#include "pando/data/recent_orders.h"

namespace pando {

namespace data {

namespace {

// Records [next, end) of a file are still to come.
struct OpenFile {
  int64_t next = 0;
  int64_t end = 0;
};

uint64_t key_of(const char* purpose, const StreamOptions& options, int64_t epoch) {
  return mix_keys(mix_keys(hash_name(purpose), options.seed), static_cast<uint64_t>(epoch));
}

// The files of the shard in the order in which they are opened.
std::vector<OpenFile> files_in_order(const std::vector<int64_t>& records_per_file,
                                     const StreamOptions& options, int64_t epoch) {
  std::vector<OpenFile> files;
  int64_t first = 0;
  for (size_t i = 0; i < records_per_file.size(); ++i) {
    const int64_t end = first + records_per_file[i];
    if (static_cast<int64_t>(i) % options.shards == options.shard) files.push_back({first, end});
    first = end;
  }
  if (!options.shuffle) return files;
  std::vector<OpenFile> shuffled;
  for (const int64_t i : random_permutation(std::ssize(files), key_of("files", options, epoch))) {
    shuffled.push_back(files[static_cast<size_t>(i)]);
  }
  return shuffled;
}

// `cycle` slots hold one open file each and take turns; a turn yields up to `block` records. A slot
// whose file has ended takes the next file at its next turn.
std::vector<int64_t> interleave(const std::vector<OpenFile>& files, const StreamOptions& options) {
  std::vector<OpenFile> slots(static_cast<size_t>(std::min(options.cycle, std::ssize(files))));
  std::vector<int64_t> records;
  size_t next_file = 0;
  for (size_t idle = 0, turn = 0; idle < slots.size(); turn = (turn + 1) % slots.size()) {
    OpenFile& slot = slots[turn];
    while (slot.next == slot.end && next_file < files.size()) slot = files[next_file++];
    const int64_t count = std::min(options.block, slot.end - slot.next);
    for (int64_t i = 0; i < count; ++i) records.push_back(slot.next++);
    idle = count == 0 ? idle + 1 : 0;  // all slots in a row without a record: the end
  }
  return records;
}

// Repeatedly emits a random record of the buffer and puts the next record into its place.
std::vector<int64_t> pass_through_buffer(const std::vector<int64_t>& records, int64_t size,
                                         uint64_t key) {
  const size_t held = std::min(records.size(), static_cast<size_t>(size));
  std::vector<int64_t> buffer(records.begin(), records.begin() + static_cast<std::ptrdiff_t>(held));
  RandomStream random(key);
  std::vector<int64_t> order;
  order.reserve(records.size());
  for (size_t next = held; !buffer.empty(); ++next) {
    int64_t& chosen = buffer[static_cast<size_t>(random.next_below(buffer.size()))];
    order.push_back(chosen);
    if (next < records.size()) {
      chosen = records[next];
    } else {
      chosen = buffer.back();
      buffer.pop_back();
    }
  }
  return order;
}

class Streamed : public DataSource {
 public:
  Streamed(SourcePtr inner, std::vector<int64_t> records_per_file, const StreamOptions& options,
           int64_t size)
      : DataSource(inner->fields(), size),
        inner_(std::move(inner)),
        records_per_file_(std::move(records_per_file)),
        options_(options) {}

  void gather(int64_t epoch, std::span<int64_t> indices, const Rows& rows) const override {
    const auto order = orders_.of(varies() ? epoch : 0, [&](int64_t of_epoch) {
      return stream_order(records_per_file_, options_, of_epoch);
    });
    for (int64_t& index : indices) index = (*order)[static_cast<size_t>(index)];
    inner_->gather(epoch, indices, rows);
  }

  bool order_varies() const override { return varies() || inner_->order_varies(); }

 private:
  bool varies() const { return options_.shuffle && options_.each_epoch; }

  SourcePtr inner_;
  std::vector<int64_t> records_per_file_;
  StreamOptions options_;
  mutable RecentOrders orders_;
};

void check(const StreamOptions& options, int64_t files) {
  const auto least = [](const char* name, int64_t value) {
    if (value < 1) throw InvalidArgument("stream: ", name, " ", value, ", expected at least 1");
  };
  least("cycle", options.cycle);
  least("block", options.block);
  least("buffer", options.buffer);
  least("shards", options.shards);
  if (options.shard < 0 || options.shard >= options.shards) {
    throw InvalidArgument("stream: shard ", options.shard, " of ", options.shards,
                          ", expected 0 to ", options.shards - 1);
  }
  if (options.shards > files) {
    throw InvalidArgument(
        "stream: ", options.shards, " shards of ", files, files == 1 ? " file" : " files",
        ", expected at least one file for each; make more record files or read the "
        "records in a global order");
  }
}

}  // namespace

std::vector<int64_t> stream_order(const std::vector<int64_t>& records_per_file,
                                  const StreamOptions& options, int64_t epoch) {
  std::vector<int64_t> records =
      interleave(files_in_order(records_per_file, options, epoch), options);
  if (!options.shuffle) return records;
  return pass_through_buffer(records, options.buffer, key_of("buffer", options, epoch));
}

}  // namespace data

Dataset stream_records(const RecordDataset& records, const StreamOptions& options) {
  const std::vector<int64_t>& per_file = records.records_per_file;
  data::check(options, std::ssize(per_file));
  const bool counts = std::ranges::all_of(per_file, [](int64_t count) { return count >= 0; });
  const int64_t total = std::accumulate(per_file.begin(), per_file.end(), int64_t{0});
  if (!counts || total != records.data.size()) {
    throw InvalidArgument("stream: ", per_file.size(), " files with ", total,
                          " records in all, expected as many as the ", records.data.size(),
                          " samples of the data set");
  }
  int64_t size = 0;
  for (auto i = static_cast<size_t>(options.shard); i < per_file.size();
       i += static_cast<size_t>(options.shards)) {
    size += per_file[i];
  }
  return Dataset(std::make_shared<data::Streamed>(records.data.source(), per_file, options, size));
}

}  // namespace pando
