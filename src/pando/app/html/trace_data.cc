// SPDX-License-Identifier: MIT
#include "pando/app/html/trace_data.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "pando/base/error.h"
#include "pando/base/strings.h"

namespace pando::app {
namespace {

struct DrawnEvent {
  int64_t begin = 0;  // tenths of a microsecond
  int64_t duration = 0;
  int name = 0;
  int kind = 0;
  int stage = -1;
  int micro_batch = -1;
};

// Numbers texts in the order in which they first occur.
class TextList {
 public:
  int place_of(const std::string& text) {
    const auto [found, is_new] = places_.try_emplace(text, std::ssize(texts_));
    if (is_new) texts_.push_back(text);
    return static_cast<int>(found->second);
  }
  const std::vector<std::string>& texts() const { return texts_; }

 private:
  std::map<std::string, std::ptrdiff_t> places_;
  std::vector<std::string> texts_;
};

struct DrawnTrack {
  std::string name;
  std::vector<DrawnEvent> events;
};

// Reads the form that our programs write: an event on each line.
class TraceReader {
 public:
  explicit TraceReader(size_t most) : most_(most) {}

  void read_line(std::string_view line) {
    while (line.ends_with(',')) line.remove_suffix(1);
    if (!line.starts_with("{\"ph\"")) return;
    const bool is_event = line.starts_with("{\"ph\":\"X\"");
    recorded_ += is_event ? 1 : 0;
    // Stops parsing a track that has enough events.
    if (is_event && full_ > 0 && is_full(line)) return;
    const std::optional<Json> event = Json::try_parse(line);
    if (!event) return;
    try {
      is_event ? add_event(*event) : add_name(*event);
    } catch (const IoError&) {  // damaged, or another program's
    }
  }

  Json result() {
    const int64_t end = end_of_window();
    Json tracks = Json::array();
    size_t shown = 0;
    for (auto& [id, track] : tracks_) {
      Json::Items numbers;
      std::ranges::stable_sort(track.events, {}, &DrawnEvent::begin);
      for (const DrawnEvent& event : track.events) {
        if (event.begin >= end) break;
        ++shown;
        for (const int64_t number :
             {event.begin, event.duration, int64_t{event.name}, int64_t{event.kind},
              int64_t{event.stage}, int64_t{event.micro_batch}}) {
          numbers.emplace_back(number);
        }
      }
      if (numbers.empty()) continue;
      tracks.push_back({{"name", track.name},
                        {"device", device_name(id.first)},
                        {"events", std::move(numbers)}});
    }
    if (shown == 0) return nullptr;
    return {{"names", names_.texts()},
            {"kinds", kinds_.texts()},
            {"tracks", std::move(tracks)},
            {"shown", shown},
            {"recorded", recorded_}};
  }

 private:
  using TrackId = std::pair<int, int>;  // process and thread

  static std::string_view number_after(std::string_view line, std::string_view key) {
    const size_t at = line.find(key);
    if (at == std::string_view::npos) return {};
    const std::string_view rest = line.substr(at + key.size());
    return rest.substr(0, rest.find_first_of(",}"));
  }

  bool is_full(std::string_view line) const {
    const auto process = parse_int(std::string(number_after(line, "\"pid\":")));
    const auto thread = parse_int(std::string(number_after(line, "\"tid\":")));
    if (!process || !thread) return false;
    const auto found = tracks_.find({static_cast<int>(*process), static_cast<int>(*thread)});
    return found != tracks_.end() && found->second.events.size() >= most_;
  }

  void add_name(const Json& event) {
    const auto name = event.get<std::string>("name");
    const int process = event.get<int>("pid");
    if (name == "process_name") {
      devices_[process] = event.at("args").get<std::string>("name");
    } else if (name == "thread_name") {
      tracks_[{process, event.get<int>("tid")}].name = event.at("args").get<std::string>("name");
    }
  }

  void add_event(const Json& event) {
    const TrackId id{event.get<int>("pid"), event.get<int>("tid")};
    const auto tenths = [&](const char* key) {
      return static_cast<int64_t>(std::llround(10 * event.get<double>(key)));
    };
    DrawnEvent drawn{.begin = tenths("ts"),
                     .duration = tenths("dur"),
                     .name = names_.place_of(event.get<std::string>("name")),
                     .kind = kinds_.place_of(event.get<std::string>("cat"))};
    if (const Json* details = event.find("args"); details != nullptr) {
      const int stage = details->get<int>("stage", -1);
      const bool backward = details->get<std::string>("pass", "") == "backward";
      if (stage >= 0) drawn.stage = 2 * stage + (backward ? 1 : 0);
      drawn.micro_batch = details->get<int>("micro_batch", -1);
    }
    std::vector<DrawnEvent>& events = tracks_[id].events;
    events.push_back(drawn);
    if (events.size() == most_) ++full_;
  }

  // The time up to which all tracks together have at most most_ events.
  int64_t end_of_window() const {
    std::vector<int64_t> begins;
    int64_t cut = std::numeric_limits<int64_t>::max();
    for (const auto& [id, track] : tracks_) {
      for (const DrawnEvent& event : track.events) begins.push_back(event.begin);
      if (track.events.size() >= most_) {
        cut = std::min(cut, std::ranges::max(track.events, {}, &DrawnEvent::begin).begin);
      }
    }
    if (begins.size() <= most_) return cut;
    std::ranges::nth_element(begins, begins.begin() + static_cast<std::ptrdiff_t>(most_));
    return std::min(cut, begins[most_]);
  }

  std::string device_name(int process) const {
    const auto found = devices_.find(process);
    return found == devices_.end() ? std::to_string(process) : found->second;
  }

  const size_t most_;
  size_t full_ = 0;  // tracks
  int64_t recorded_ = 0;
  TextList names_;
  TextList kinds_;
  std::map<int, std::string> devices_;
  std::map<TrackId, DrawnTrack> tracks_;
};

}  // namespace

std::string run_of_trace(const std::filesystem::path& path) {
  constexpr std::streamoff kEnd = 1024;  // the last line has what is not an event
  constexpr std::string_view kOther = "\"otherData\":";
  std::ifstream file(path, std::ios::ate);
  const std::streamoff size = file.tellg();
  file.seekg(std::max<std::streamoff>(size - kEnd, 0));
  std::string line;
  for (std::string next; std::getline(file, next);) line = std::move(next);
  const size_t at = line.find(kOther);
  if (at == std::string::npos || !line.ends_with('}')) return "";
  const std::optional<Json> other =
      Json::try_parse(line.substr(at + kOther.size(), line.size() - 1 - at - kOther.size()));
  const Json* run = other && other->is_object() ? other->find("run") : nullptr;
  return run != nullptr && run->is_string() ? other->get<std::string>("run") : "";
}

Json trace_data(const std::filesystem::path& path, size_t most) {
  std::ifstream file(path);
  if (!file) throw IoError(path.string(), ": cannot be read");
  TraceReader reader(most);
  for (std::string line; std::getline(file, line);) reader.read_line(line);
  return reader.result();
}

}  // namespace pando::app
