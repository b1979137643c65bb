// SPDX-License-Identifier: MIT
#include "pando/options/config_value.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <fmt/core.h>
#include <yaml-cpp/depthguard.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include "pando/options/usage_error.h"

namespace pando {
namespace {

constexpr int kDeepest = 64;
constexpr int kMostValues = 100'000;
constexpr size_t kMostBytes = 4 << 20;

std::string place_of(const std::string& source, const YAML::Mark& mark) {
  if (mark.is_null()) return source;
  return concat(source, ":", mark.line + 1, ":", mark.column + 1);
}

[[noreturn]] void refuse_depth(const std::string& place) {
  throw UsageError(place, ": values are nested too deeply, expected at most ", kDeepest,
                   " levels of lists and maps");
}

// Finds where a text has a second document, and where a value is nested too deeply.
class Outline : public YAML::EventHandler {
 public:
  // Reads two documents at most: yaml-cpp finds ever more of them where a ',' or ']' follows one.
  // Throws what yaml-cpp throws.
  void read(const std::string& text) {
    std::istringstream stream(text);
    YAML::Parser parser(stream);
    while (starts_.size() < 2 && parser.HandleNextDocument(*this)) {
    }
  }
  const std::vector<YAML::Mark>& starts() const { return starts_; }  // of the documents
  const YAML::Mark& too_deep() const { return too_deep_; }           // null: nothing is

 private:
  void enter(const YAML::Mark& mark) {
    if (depth_++ == kDeepest + 1) too_deep_ = mark;
  }

  void OnDocumentStart(const YAML::Mark& mark) override { starts_.push_back(mark); }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t,
                const std::string&) override {}
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {
    enter(mark);
  }
  void OnSequenceEnd() override { --depth_; }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {
    enter(mark);
  }
  void OnMapEnd() override { --depth_; }

  std::vector<YAML::Mark> starts_;
  YAML::Mark too_deep_ = YAML::Mark::null_mark();
  int depth_ = 0;
};

// Copies a document out of yaml-cpp. Every alias becomes a copy, so a few lines could expand to
// billions of values; the limits prevent that, and stop at an anchor that contains itself.
class Reader {
 public:
  explicit Reader(const std::string& source) : source_(source) {}

  ConfigValue read(const YAML::Node& node, int depth = 0) {
    ConfigValue value;
    value.place = place_of(source_, node.Mark());
    if (depth > kDeepest) refuse_depth(value.place);
    if (++count_ > kMostValues) {
      throw UsageError(value.place, ": more than ", kMostValues, " values");
    }
    if (node.IsScalar()) {
      value.kind = ConfigValue::Kind::scalar;
      value.text = node.Scalar();
    } else if (node.IsSequence()) {
      value.kind = ConfigValue::Kind::list;
      for (const YAML::Node& item : node) value.items.push_back(read(item, depth + 1));
    } else if (node.IsMap()) {
      value.kind = ConfigValue::Kind::map;
      read_map(node, depth, value);
    }
    return value;
  }

 private:
  void read_map(const YAML::Node& node, int depth, ConfigValue& value) {
    std::vector<ConfigValue> merged;
    for (const auto& entry : node) {
      const std::string place = place_of(source_, entry.first.Mark());
      if (!entry.first.IsScalar()) throw UsageError(place, ": a key must be plain text");
      const std::string& key = entry.first.Scalar();
      ConfigValue item = read(entry.second, depth + 1);
      if (key == "<<") {
        merged.push_back(std::move(item));
        continue;
      }
      if (value.find(key) != nullptr) throw UsageError(place, ": key '", key, "' occurs twice");
      item.place = place;
      value.insert(key, std::move(item));
    }
    for (const ConfigValue& other : merged) merge(other, value);
  }

  static void merge(const ConfigValue& other, ConfigValue& value) {
    if (other.kind == ConfigValue::Kind::list) {
      for (const ConfigValue& item : other.items) merge(item, value);
      return;
    }
    if (other.kind != ConfigValue::Kind::map) {
      throw UsageError(other.place, ": '<<': expected a map or a list of maps");
    }
    for (size_t i = 0; i < other.keys.size(); ++i) value.insert(other.keys[i], other.items[i]);
  }

  std::string source_;
  int count_ = 0;
};

// Whether YAML reads the text back unchanged without quotes, also inside a list or a map.
bool is_plain(const std::string& text) {
  const std::string lowered = to_lower(text);
  if (text.empty() || lowered == "null" || lowered == "~") return false;
  const auto is_safe = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '.' || c == '/' || c == '-' || c == '+';
  };
  return std::all_of(text.begin(), text.end(), is_safe) && text != "-" && text != "---" &&
         text != "...";
}

std::string quote(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') out += '\\';
    if (byte < 0x20 || byte == 0x7f) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  return out + '"';
}

}  // namespace

ConfigValue ConfigValue::scalar(std::string text) {
  ConfigValue value;
  value.kind = Kind::scalar;
  value.text = std::move(text);
  return value;
}

ConfigValue ConfigValue::list(std::vector<ConfigValue> items) {
  ConfigValue value;
  value.kind = Kind::list;
  value.items = std::move(items);
  return value;
}

const ConfigValue* ConfigValue::find(const std::string& key) const {
  const auto found = std::find(keys.begin(), keys.end(), key);
  return found == keys.end() ? nullptr : &items[static_cast<size_t>(found - keys.begin())];
}

void ConfigValue::insert(std::string key, ConfigValue value) {
  if (find(key) != nullptr) return;
  kind = Kind::map;
  keys.push_back(std::move(key));
  items.push_back(std::move(value));
}

ConfigValue parse_yaml(const std::string& text, const std::string& source) {
  Outline outline;
  try {
    outline.read(text);
    const std::vector<YAML::Mark>& starts = outline.starts();
    if (starts.size() > 1) {
      throw UsageError(place_of(source, starts[1]),
                       ": expected one YAML document, got a second one");
    }
    return starts.empty() ? ConfigValue() : Reader(source).read(YAML::Load(text));
  } catch (const YAML::DeepRecursion& error) {
    // The mark of the error is the place that the parser has reached, which may be many lines
    // later.
    const YAML::Mark& place = outline.too_deep();
    refuse_depth(place_of(source, place.is_null() ? error.mark : place));
  } catch (const YAML::Exception& error) {
    throw UsageError(place_of(source, error.mark), ": ", error.msg);
  }
}

ConfigValue load_yaml(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    throw UsageError(path, ": expected a YAML file, got a directory");
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) throw UsageError(path, ": cannot open: ", std::strerror(errno));
  std::string text(kMostBytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad()) throw IoError(path, ": cannot read: ", std::strerror(errno));
  text.resize(static_cast<size_t>(file.gcount()));
  if (text.size() > kMostBytes) throw UsageError(path, ": larger than 4 MiB");
  return parse_yaml(text, path);
}

std::string to_yaml(const ConfigValue& value) {
  std::vector<std::string> parts;
  switch (value.kind) {
    case ConfigValue::Kind::null: return "~";
    case ConfigValue::Kind::scalar: return is_plain(value.text) ? value.text : quote(value.text);
    case ConfigValue::Kind::list:
      for (const ConfigValue& item : value.items) parts.push_back(to_yaml(item));
      return "[" + join(parts, ", ") + "]";
    case ConfigValue::Kind::map:
      for (size_t i = 0; i < value.items.size(); ++i) {
        const std::string key = to_yaml(ConfigValue::scalar(value.keys[i]));
        // A key of more than 1024 characters has to be marked.
        parts.push_back(concat(key.size() > 1000 ? "? " : "", key, ": ", to_yaml(value.items[i])));
      }
      return "{" + join(parts, ", ") + "}";
  }
  return {};
}

}  // namespace pando
