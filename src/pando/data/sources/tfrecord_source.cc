// SPDX-License-Identifier: MIT
#include "pando/data/sources/tfrecord_source.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

#include "pando/data/parallel.h"
#include "pando/data/tfrecord/byte_input.h"
#include "pando/data/tfrecord/record_index.h"

namespace pando {

namespace {

using data::kRecordFooterBytes;
using data::kRecordHeaderBytes;
using data::RandomAccessFile;

// Where one record is.
struct Entry {
  uint32_t file = 0;
  uint64_t offset = 0;
  uint64_t length = 0;  // of the payload
};

// A record that cannot be read, by its number.
struct Flaw {
  size_t entry = 0;
  BadRecord record;
};

// Reads records of any of the files; keeps the file of the last one open.
class EntryReader {
 public:
  explicit EntryReader(const std::vector<std::string>& paths) : paths_(paths) {}

  // The payload, valid until the next call. Throws BadRecordError.
  std::span<const uint8_t> read(const Entry& entry) {
    if (!file_ || number_ != entry.file) {
      file_.emplace(paths_[entry.file]);
      number_ = entry.file;
    }
    buffer_.resize(static_cast<size_t>(entry.length) + kRecordFooterBytes);
    const size_t found = file_->read(entry.offset + kRecordHeaderBytes, buffer_);
    const std::span<const uint8_t> bytes(buffer_);
    if (found < bytes.size()) {
      fail(entry, concat("got ", found, " of ", bytes.size(),
                         " bytes: the file has become shorter since it was opened"));
    }
    const auto payload = bytes.first(static_cast<size_t>(entry.length));
    const std::string error = data::payload_error(payload, bytes.last<kRecordFooterBytes>());
    if (!error.empty()) fail(entry, error);
    return payload;
  }

  [[noreturn]] void fail(const Entry& entry, const std::string& why) const {
    throw BadRecordError(
        {paths_[entry.file], entry.offset, concat("record at byte ", entry.offset, ": ", why)});
  }

 private:
  const std::vector<std::string>& paths_;
  std::optional<RandomAccessFile> file_;
  uint32_t number_ = 0;
  std::vector<uint8_t> buffer_;
};

class TfrecordSource : public DataSource {
 public:
  TfrecordSource(std::vector<std::string> paths, std::vector<Entry> entries,
                 const TfrecordOptions& options)
      : DataSource(options.fields, static_cast<int64_t>(entries.size())),
        paths_(std::move(paths)),
        entries_(std::move(entries)),
        decode_(options.decode),
        check_(options.check) {}

  void gather(int64_t epoch, std::span<int64_t> indices, const Rows& rows) const override {
    EntryReader reader(paths_);
    for (size_t i = 0; i < indices.size(); ++i) {
      const SampleView sample(fields(), rows, static_cast<int64_t>(i), {epoch, indices[i]});
      decode(reader, entries_[static_cast<size_t>(indices[i])], sample);
    }
  }

  // Tries every record once, the records of a file on one thread; returns the flaws in order.
  std::vector<Flaw> find_flaws(int workers) const {
    std::vector<size_t> begins;  // of the files
    for (size_t i = 0; i < entries_.size(); ++i) {
      if (i == 0 || entries_[i].file != entries_[i - 1].file) begins.push_back(i);
    }
    begins.push_back(entries_.size());
    std::vector<std::vector<Flaw>> of_files(begins.size() - 1);
    data::for_each_item(of_files.size(), workers, [&](size_t file) {
      find_flaws(begins[file], begins[file + 1], of_files[file]);
    });
    std::vector<Flaw> flaws;
    for (auto& of_file : of_files) std::ranges::move(of_file, std::back_inserter(flaws));
    return flaws;
  }

 private:
  void find_flaws(size_t begin, size_t end, std::vector<Flaw>& flaws) const {
    std::vector<Tensor> memory;
    std::vector<std::byte*> first_bytes;
    for (const Field& field : fields()) memory.emplace_back(field.dtype, field.shape);
    for (Tensor& tensor : memory) first_bytes.push_back(tensor.data());
    EntryReader reader(paths_);
    for (size_t i = begin; i < end; ++i) {
      const SampleView sample(fields(), Rows(first_bytes), 0, {0, static_cast<int64_t>(i)});
      try {
        if (check_) {
          with_example(reader, entries_[i], check_);
        } else {
          decode(reader, entries_[i], sample);
        }
      } catch (const BadRecordError& error) {
        flaws.push_back({i, error.record()});
      }
    }
  }

  // Writes zeros first: elements that the function leaves out must not show old contents of the
  // memory.
  void decode(EntryReader& reader, const Entry& entry, const SampleView& sample) const {
    for (size_t f = 0; f < fields().size(); ++f) {
      std::memset(sample.data(f), 0, bytes_per_sample(fields()[f]));
    }
    with_example(reader, entry, [&](const Example& example) { decode_(example, sample); });
  }

  // An Error that `use` throws becomes a BadRecordError.
  template <typename Use>
  static void with_example(EntryReader& reader, const Entry& entry, const Use& use) {
    const std::span<const uint8_t> payload = reader.read(entry);
    try {
      use(Example(payload, "tf.train.Example"));
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::internal) throw;
      reader.fail(entry, error.what());
    }
  }

  std::vector<std::string> paths_;
  std::vector<Entry> entries_;
  std::function<void(const Example&, const SampleView&)> decode_;
  std::function<void(const Example&)> check_;
};

// The records of all files. From a damaged file it takes the records before the damage, which is
// added to `bad`.
std::vector<Entry> find_entries(const std::vector<std::string>& paths,
                                const TfrecordOptions& options, std::vector<BadRecord>& bad) {
  std::vector<data::FileIndex> files =
      data::index_records(paths, {.most_record_bytes = options.most_record_bytes,
                                  .workers = options.workers,
                                  .folder = options.index_folder});
  std::vector<Entry> entries;
  for (size_t i = 0; i < files.size(); ++i) {
    uint64_t offset = 0;
    for (const uint64_t length : files[i].lengths) {
      entries.push_back({static_cast<uint32_t>(i), offset, length});
      offset += kRecordHeaderBytes + length + kRecordFooterBytes;
    }
    if (!files[i].bad) continue;
    if (options.on_bad_record == OnBadRecord::error) {
      throw BadRecordError(std::move(*files[i].bad));
    }
    files[i].bad->why += "; the rest of the file is left out";
    bad.push_back(std::move(*files[i].bad));
  }
  return entries;
}

// The entries without a flaw; the flaws of the others are added to `bad`.
std::vector<Entry> good_entries(const std::vector<Entry>& entries, std::vector<Flaw>&& flaws,
                                std::vector<BadRecord>& bad) {
  std::vector<Entry> good;
  auto flaw = flaws.begin();
  for (size_t i = 0; i < entries.size(); ++i) {
    if (flaw != flaws.end() && flaw->entry == i) {
      bad.push_back(std::move((flaw++)->record));
    } else {
      good.push_back(entries[i]);
    }
  }
  return good;
}

// Sorted by file and offset, as a user looks for them.
void sort_by_place(std::vector<BadRecord>& bad) {
  std::ranges::stable_sort(bad, {}, [](const BadRecord& record) {
    return std::pair<const std::string&, uint64_t>(record.file, record.offset);
  });
}

}  // namespace

RecordDataset open_tfrecords(const std::vector<std::string>& paths,
                             const TfrecordOptions& options) {
  if (paths.empty()) throw InvalidArgument("record files: expected at least one, got none");
  if (!options.decode) throw InvalidArgument("record files need a function decode");
  if (options.workers < 1) {
    throw InvalidArgument("record files: ", options.workers, " workers, expected at least 1");
  }
  std::vector<BadRecord> bad;
  std::vector<Entry> entries = find_entries(paths, options, bad);
  if (options.on_bad_record == OnBadRecord::skip) {
    auto flaws = TfrecordSource(paths, entries, options).find_flaws(options.workers);
    entries = good_entries(entries, std::move(flaws), bad);
    sort_by_place(bad);
  }
  if (entries.empty()) {
    throw IoError(paths[0], paths.size() > 1 ? concat(" and ", paths.size() - 1, " more") : "",
                  ": expected at least one record", bad.empty() ? "" : " that can be read",
                  ", found none", bad.empty() ? "" : "; ", to_string(bad));
  }
  std::vector<int64_t> records_per_file(paths.size());
  for (const Entry& entry : entries) ++records_per_file[entry.file];
  return {Dataset(std::make_shared<TfrecordSource>(paths, std::move(entries), options)),
          std::move(bad), std::move(records_per_file)};
}

}  // namespace pando
