// SPDX-License-Identifier: MIT
#include "pando/launch/topology_table.h"

#include <algorithm>
#include <array>

#include <fmt/core.h>

#include "pando/base/strings.h"

namespace pando::launch {
namespace {

constexpr size_t kWidth = 100;
constexpr size_t kMostBlocks = 8;
constexpr const char* kHostsTitle = "host";
constexpr std::array<const char*, 5> kTitles = {"instance", "replicas", "devices", "cores",
                                                "NUMA node"};
constexpr size_t kCoresRow = 3;
constexpr size_t kTitleWidth = 9;
constexpr const char* kUnknown = "-";

struct Column {
  std::string host;
  std::array<std::string, kTitles.size()> cells;
  size_t width = 0;
};

struct Span {
  std::string host;
  std::vector<Column> columns;

  size_t inner_width() const {  // including the lines between its columns
    size_t width = 3 * (columns.size() - 1);
    for (const Column& column : columns) width += column.width;
    return width;
  }
};

std::string range_text(int first, int count) {
  if (count == 1) return std::to_string(first);
  return fmt::format("{}-{}", first, first + count - 1);
}

Column column_of(const JobDivision& job, const TopologyView& view, int instance) {
  const int per_host = job.instances_per_host();
  const int replicas = job.replicas_per_instance();
  Column column;
  column.host =
      job.hosts.empty() ? view.this_host : job.hosts[static_cast<size_t>(instance / per_host)];
  const auto local = static_cast<size_t>(instance % per_host);
  const bool known = is_this_host(column.host, view.this_host) && local < view.bound.size();
  column.cells = {std::to_string(instance), range_text(instance * replicas, replicas),
                  std::to_string(job.devices_per_instance()),
                  known ? runtime::to_ranges(view.bound[local].threads) : kUnknown,
                  known ? runtime::to_ranges(view.bound[local].nodes) : kUnknown};
  for (const std::string& cell : column.cells) column.width = std::max(column.width, cell.size());
  return column;
}

void append(std::vector<Span>& block, const Column& column) {
  if (block.empty() || block.back().host != column.host) block.push_back({column.host, {}});
  block.back().columns.push_back(column);
}

// If a host's name is wider than its columns, they are widened evenly.
std::vector<Span> widened(std::vector<Span> block) {
  for (Span& span : block) {
    for (size_t i = 0; span.inner_width() < span.host.size(); ++i) {
      ++span.columns[i % span.columns.size()].width;
    }
  }
  return block;
}

size_t width_of(const std::vector<Span>& block) {
  size_t width = kTitleWidth + 4;
  for (const Span& span : block) width += span.inner_width() + 3;
  return width;
}

using Ends = std::array<const char*, 3>;  // left corner, crossing, right corner

struct Lines {
  Ends top;
  Ends middle;
  Ends bottom;
  const char* across;
  const char* down;
};

constexpr Lines kBoxes = {.top = {"┌", "┬", "┐"},
                          .middle = {"├", "┼", "┤"},
                          .bottom = {"└", "┴", "┘"},
                          .across = "─",
                          .down = "│"};
constexpr Lines kPlain = {.top = {"+", "+", "+"},
                          .middle = {"+", "+", "+"},
                          .bottom = {"+", "+", "+"},
                          .across = "-",
                          .down = "|"};

std::string repeat(const char* text, size_t count) {
  std::string repeated;
  for (size_t i = 0; i < count; ++i) repeated += text;
  return repeated;
}

// A horizontal line. `inner` crosses the lines between the columns of one host.
std::string rule(const std::vector<Span>& block, const Lines& lines, const Ends& ends,
                 const char* inner) {
  std::string text = ends[0] + repeat(lines.across, kTitleWidth + 2);
  for (const Span& span : block) {
    for (size_t i = 0; i < span.columns.size(); ++i) {
      text += (i == 0 ? ends[1] : inner) + repeat(lines.across, span.columns[i].width + 2);
    }
  }
  return text + ends[2] + "\n";
}

std::string cell(const Lines& lines, const std::string& text, size_t width) {
  return fmt::format("{} {:<{}} ", lines.down, text, width);
}

std::string block_text(const std::vector<Span>& block, const Lines& lines) {
  std::string text = rule(block, lines, lines.top, lines.across);
  text += cell(lines, kHostsTitle, kTitleWidth);
  for (const Span& span : block) text += cell(lines, span.host, span.inner_width());
  text += concat(lines.down, "\n", rule(block, lines, lines.middle, lines.top[1]));
  for (size_t row = 0; row < kTitles.size(); ++row) {
    text += cell(lines, kTitles[row], kTitleWidth);
    for (const Span& span : block) {
      for (const Column& column : span.columns) {
        text += cell(lines, column.cells[row], column.width);
      }
    }
    text += concat(lines.down, "\n");
  }
  return text + rule(block, lines, lines.bottom, lines.bottom[1]);
}

}  // namespace

bool is_this_host(const std::string& host, const std::string& this_host) {
  const std::string short_name = this_host.substr(0, this_host.find('.'));
  return host == this_host || host == short_name || host == "localhost" || host == "127.0.0.1" ||
         host == "::1";
}

std::string topology_table(const JobDivision& job, const TopologyView& view) {
  const Lines& lines = view.unicode ? kBoxes : kPlain;
  std::string text;
  std::vector<Span> block;
  size_t blocks = 0;
  bool all_known = true;
  int instance = 0;
  for (; instance < job.instances && blocks < kMostBlocks; ++instance) {
    const Column column = column_of(job, view, instance);
    all_known = all_known && column.cells[kCoresRow] != kUnknown;
    std::vector<Span> grown = block;
    append(grown, column);
    if (!block.empty() && width_of(widened(grown)) > kWidth) {
      text += block_text(widened(block), lines);
      grown.clear();
      append(grown, column);
      ++blocks;
    }
    block = std::move(grown);
  }
  if (blocks < kMostBlocks) {
    text += block_text(widened(block), lines);
  } else {  // the last instance is in no block yet
    text += fmt::format("and {} more instances\n", job.instances - instance + 1);
  }
  return text + (all_known ? "" : "-: decided on that host when its instances start\n");
}

}  // namespace pando::launch
