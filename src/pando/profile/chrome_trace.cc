// SPDX-License-Identifier: MIT
#include "pando/profile/chrome_trace.h"

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <memory>
#include <numeric>
#include <span>
#include <system_error>
#include <tuple>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pando/base/error.h"
#include "pando/base/json.h"
#include "pando/base/new_file.h"

namespace pando::profile {

namespace {

// Writes text to a file, in pieces of a fixed size. The file appears as a whole in finish(); a
// device or a pipe, which cannot be replaced, is written in place.
class TextFile {
 public:
  explicit TextFile(const std::string& path) : path_(path) {
    struct stat old = {};
    const bool in_place = ::stat(path.c_str(), &old) == 0 && !S_ISREG(old.st_mode);
    if (!in_place) {
      file_ = std::make_unique<NewFile>(path);
      return;
    }
    descriptor_ = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor_ < 0) fail("opening", errno);
  }
  TextFile(const TextFile&) = delete;
  TextFile& operator=(const TextFile&) = delete;
  ~TextFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

  template <typename... Parts>
  void print(fmt::format_string<Parts...> format, Parts&&... parts) {
    constexpr size_t kPiece = size_t{1} << 16;
    fmt::format_to(std::back_inserter(buffer_), format, std::forward<Parts>(parts)...);
    if (buffer_.size() >= kPiece) flush();
  }

  void finish() {
    flush();
    if (file_) return file_->commit();
    const int closed = ::close(descriptor_);
    descriptor_ = -1;
    if (closed != 0) fail("closing", errno);
  }

 private:
  void flush() {
    const auto text = std::as_bytes(std::span(buffer_.data(), buffer_.size()));
    file_ ? file_->write(text) : write_in_place(text);
    buffer_.clear();
  }

  void write_in_place(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const ssize_t done = ::write(descriptor_, bytes.data(), bytes.size());
      if (done < 0 && errno != EINTR) fail("writing", errno);
      if (done > 0) bytes = bytes.subspan(static_cast<size_t>(done));
    }
  }

  [[noreturn]] void fail(const char* what, int error) const {
    throw IoError("cannot write the trace '", path_, "': ", what, ": ",
                  std::generic_category().message(error));
  }

  std::string path_;
  std::unique_ptr<NewFile> file_;  // null: written in place
  int descriptor_ = -1;
  fmt::memory_buffer buffer_;
};

// In quotes and escaped; bytes that are not UTF-8 become the replacement character.
std::string quoted(const std::string& text) { return Json(text).dump(); }

struct Writer {
  const Trace& trace;
  TextFile& file;
  int host_process = 0;  // after the devices, because viewers do not accept negative numbers
  int first_process = 0;
  std::string owner = {};  // prefix of the names of processes
  int64_t asynchronous = 0;
  std::vector<std::string> names = {};
  const char* separator = "\n";

  int process(const TraceTrack& track) const {
    return first_process + (track.device() == kHostDevice ? host_process : track.device());
  }
  const std::string& quoted_name(int32_t id);
  void write_metadata(const std::vector<const TraceTrack*>& tracks);
  void write_event(const TraceEvent& event, int process, size_t thread);
  void write_asynchronous(const TraceEvent& event, int process, size_t thread);
  void write_arguments(const TraceEvent& event);
  void write_track(const TraceTrack& track, size_t thread);
};

// Looks up and escapes each name once: there are many events and few names.
const std::string& Writer::quoted_name(int32_t id) {
  const auto index = static_cast<size_t>(id);
  if (id >= 0 && index < names.size() && !names[index].empty()) return names[index];
  std::string name = quoted(trace.name(id));
  if (index >= names.size()) names.resize(index + 1);
  return names[index] = std::move(name);
}

void Writer::write_metadata(const std::vector<const TraceTrack*>& tracks) {
  std::vector<int> described;
  for (size_t i = 0; i < tracks.size(); ++i) {
    const TraceTrack& track = *tracks[i];
    if (std::find(described.begin(), described.end(), track.device()) == described.end()) {
      described.push_back(track.device());
      file.print(R"({}{{"ph":"M","pid":{},"name":"process_name","args":{{"name":"{}{}"}}}})",
                 separator, process(track), owner,
                 track.device() == kHostDevice ? "host" : concat("device ", track.device()));
      separator = ",\n";
      // The host's device number is below all others, so that viewers show it at the top.
      file.print(R"({}{{"ph":"M","pid":{},"name":"process_sort_index",)"
                 R"("args":{{"sort_index":{}}}}})",
                 separator, process(track), first_process + track.device());
    }
    file.print(R"({}{{"ph":"M","pid":{},"tid":{},"name":"thread_name","args":{{"name":{}}}}})",
               separator, process(track), i + 1, quoted(track.name()));
  }
}

bool has_pass(EventKind kind) {
  return kind == EventKind::op || kind == EventKind::phase || kind == EventKind::data_wait;
}

void Writer::write_arguments(const TraceEvent& event) {
  const char* comma = "";
  const auto number = [&](const char* name, int32_t value) {
    if (value < 0) return;
    file.print(R"({}"{}":{})", comma, name, value);
    comma = ",";
  };
  number("stage", event.stage);
  number("micro_batch", event.micro_batch);
  number("replica", event.replica);
  if (has_pass(event.kind) && event.stage >= 0) {
    file.print(R"({}"pass":"{}")", comma, event.backward ? "backward" : "forward");
  }
}

void Writer::write_event(const TraceEvent& event, int process, size_t thread) {
  const int64_t duration = event.end - event.begin;
  file.print(R"({}{{"ph":"X","pid":{},"tid":{},"name":{},"cat":"{}",)"
             R"("ts":{}.{:03},"dur":{}.{:03},"args":{{)",
             separator, process, thread, quoted_name(event.name), to_string(event.kind),
             event.begin / 1000, event.begin % 1000, duration / 1000, duration % 1000);
  write_arguments(event);
  file.print("}}}}");
  separator = ",\n";
}

// Writes a begin and an end: exchanges may overlap without being nested.
void Writer::write_asynchronous(const TraceEvent& event, int process, size_t thread) {
  ++asynchronous;
  for (const bool end : {false, true}) {
    const int64_t at = end ? event.end : event.begin;
    file.print(R"({}{{"ph":"{}","pid":{},"tid":{},"id":{},"name":{},"cat":"{}","ts":{}.{:03}}})",
               separator, end ? "e" : "b", process, thread, asynchronous, quoted_name(event.name),
               to_string(event.kind), at / 1000, at % 1000);
    separator = ",\n";
  }
}

// A phase is recorded after its ops and begins with the first of them; viewers nest events that
// begin together in the order of the file, so the longer one comes first.
void Writer::write_track(const TraceTrack& track, size_t thread) {
  const std::span<const TraceEvent> events = track.events();
  std::vector<size_t> order(events.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t left, size_t right) {
    const TraceEvent& a = events[left];
    const TraceEvent& b = events[right];
    if (a.begin != b.begin) return a.begin < b.begin;
    if (a.end != b.end) return a.end > b.end;
    return a.kind != EventKind::op && b.kind == EventKind::op;
  });
  for (const size_t index : order) {
    const TraceEvent& event = events[index];
    if (event.kind == EventKind::exchange) {
      write_asynchronous(event, process(track), thread);
    } else {
      write_event(event, process(track), thread);
    }
  }
}

// Workers make their tracks in any order; viewers sort threads by their numbers.
std::vector<const TraceTrack*> in_order(std::vector<const TraceTrack*> tracks) {
  const auto key = [](const TraceTrack* track) {
    const bool is_worker = track->name().starts_with("worker ");
    const std::string name = is_worker ? track->name() : "";
    return std::make_tuple(track->device(), name.size(), name);  // worker 2 before worker 10
  };
  std::stable_sort(tracks.begin(), tracks.end(),
                   [&](const TraceTrack* a, const TraceTrack* b) { return key(a) < key(b); });
  return tracks;
}

}  // namespace

void write_chrome_trace(const Trace& trace, const std::string& path,
                        const ChromeTraceOptions& options) {
  constexpr int kProcesses = 10000;  // more than the devices of an instance
  TextFile file(path);
  const std::vector<const TraceTrack*> tracks = in_order(trace.tracks());
  Writer writer{.trace = trace, .file = file};
  if (options.instance) {
    writer.first_process = *options.instance * kProcesses;
    writer.owner = concat("instance ", *options.instance, ", ");
  }
  for (const TraceTrack* track : tracks) {
    writer.host_process = std::max(writer.host_process, track->device() + 1);
  }
  file.print(R"({{"displayTimeUnit":"ms","traceEvents":[)");
  writer.write_metadata(tracks);
  for (size_t i = 0; i < tracks.size(); ++i) writer.write_track(*tracks[i], i + 1);
  const std::string run = options.run.empty() ? "" : concat(",\"run\":", Json(options.run).dump());
  file.print("\n],\"otherData\":{{\"dropped_events\":{}{}}}}}\n", trace.dropped(), run);
  file.finish();
}

}  // namespace pando::profile
