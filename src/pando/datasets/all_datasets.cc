// The only list of data sets, in the order in which users see it.
// SPDX-License-Identifier: MIT
#include "pando/datasets/all_datasets.h"

#include <algorithm>
#include <functional>

#include "pando/base/error.h"
#include "pando/base/strings.h"
#include "pando/datasets/records_impl.h"

namespace pando {

namespace {

// A data set is fetched under its own name.
std::vector<DatasetRecord> with_remote_names(std::vector<DatasetRecord> records) {
  for (DatasetRecord& record : records) {
    if (record.remote) record.remote->name = record.name;
  }
  return records;
}

std::vector<std::string> names_where(const std::function<bool(const DatasetRecord&)>& wanted) {
  std::vector<std::string> names;
  for (const DatasetRecord& record : all_datasets()) {
    if (wanted(record)) names.push_back(record.name);
  }
  return names;
}

const DatasetRecord* find_record(std::string_view name) {
  const auto found = std::ranges::find(all_datasets(), name, &DatasetRecord::name);
  return found == all_datasets().end() ? nullptr : &*found;
}

}  // namespace

const std::vector<DatasetRecord>& all_datasets() {
  static const std::vector<DatasetRecord> records = with_remote_names({
      datasets::fashion_mnist(),
      datasets::mnist(),
      datasets::cifar10(),
      datasets::cifar100(),
      datasets::imagenet(),
      datasets::cosmoflow(),
      datasets::image_folder(),
      datasets::numpy(),
      datasets::tfrecord(),
  });
  return records;
}

const DatasetRecord& dataset_record(std::string_view name) {
  if (const DatasetRecord* found = find_record(name)) return *found;
  throw InvalidArgument(unknown_name_message(
      "data set", name, names_where([](const DatasetRecord&) { return true; })));
}

const DatasetRecord& fetchable_dataset(std::string_view name) {
  const DatasetRecord* found = find_record(name);
  if (found != nullptr && found->remote) return *found;
  if (found != nullptr && found->is_listed()) {
    throw InvalidArgument("data set '", name, "' cannot be fetched: ", found->how);
  }
  throw InvalidArgument(unknown_name_message(
      "data set", name,
      names_where([](const DatasetRecord& record) { return record.remote.has_value(); })));
}

std::vector<std::string> trainable_datasets() {
  return names_where([](const DatasetRecord& record) { return record.load != nullptr; });
}

std::vector<std::string> other_look_alikes(const DatasetRecord& record, const std::string& path) {
  const auto may_be = [&](const DatasetRecord& one) {
    const auto looks = one.looks_like != nullptr ? one.looks_like : one.holds;
    return looks != nullptr && one.load != nullptr && looks(path);
  };
  const bool is_known = record.looks_like != nullptr || record.holds != nullptr;
  if (!is_known || may_be(record)) return {};
  return names_where(may_be);
}

std::vector<std::string> datasets_with_views() {
  return names_where(
      [](const DatasetRecord& record) { return record.load != nullptr && record.has_views(); });
}

std::string shape_text(const DatasetRecord& record) {
  std::vector<std::string> extents;
  for (const int64_t extent : record.shape) {
    extents.push_back(extent == 0 ? " any " : std::to_string(extent));
  }
  const std::string text = join(extents, "x");
  return text.substr(std::min(text.find_first_not_of(' '), text.size()));
}

}  // namespace pando
