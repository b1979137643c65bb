// SPDX-License-Identifier: MIT
#include "pando/base/json.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include <nlohmann/json.hpp>

#include "pando/base/error.h"

namespace pando {

namespace {

using Foreign = nlohmann::ordered_json;

// Deeper than any JSON that Pando writes. Deeper values would overflow the stack when they are
// destroyed.
constexpr size_t kDeepest = 500;
constexpr size_t kShownKey = 100;  // characters in messages

// Builds a value from what the parser of text or MessagePack finds. The names are the parser's.
class JsonBuilder {
 public:
  explicit JsonBuilder(bool refuses_twice = false) : refuses_twice_(refuses_twice) {}

  bool null() { return add(nullptr); }
  bool boolean(bool value) { return add(value); }
  bool number_integer(int64_t value) { return add(value); }
  bool number_unsigned(uint64_t value) { return add(value); }
  bool number_float(double value, const std::string&) { return add(value); }
  bool string(std::string& text) { return add(std::move(text)); }
  bool binary(Foreign::binary_t&) { return fail("expected no binary value"); }
  bool start_object(size_t) { return open(Json::object()); }
  bool start_array(size_t) { return open(Json::array()); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool key(const std::string& key) {
    key_ = key;
    if (refuses_twice_ && !keys_.back().insert(key).second) {
      return fail(concat("key '", key.substr(0, kShownKey), "' occurs twice in an object"));
    }
    return true;
  }
  bool parse_error(size_t, const std::string&, const nlohmann::detail::exception& error) {
    const std::string_view text = error.what();
    return fail(text.substr(text.starts_with('[') ? text.find("] ") + 2 : 0));  // "[its number] "
  }

  // Throws IoError that begins with `what` if the parser or this object stopped early.
  Json result(std::string_view what) && {
    if (!error_.empty()) throw IoError(what, ": ", error_);
    return std::move(root_);
  }

 private:
  bool add(Json value) {
    place(std::move(value));
    return true;
  }
  Json& place(Json value) {
    if (open_.empty()) return root_ = std::move(value);
    Json& parent = *open_.back();
    if (parent.is_object() && refuses_twice_) return parent.add_member(key_, std::move(value));
    if (parent.is_object()) return parent[key_] = std::move(value);
    return parent.push_back(std::move(value));
  }
  // Nothing is added to a value before all that is open within it is closed, so that addresses of
  // open values stay.
  bool open(Json value) {
    if (open_.size() == kDeepest) return fail(concat("nested more than ", kDeepest, " deep"));
    open_.push_back(&place(std::move(value)));
    if (refuses_twice_) keys_.emplace_back();
    return true;
  }
  bool close() {
    open_.pop_back();
    if (refuses_twice_) keys_.pop_back();
    return true;
  }
  bool fail(std::string_view error) {
    error_ = error;
    return false;
  }

  bool refuses_twice_;
  Json root_;
  std::vector<Json*> open_;
  std::vector<std::unordered_set<std::string>> keys_;  // of the open values, to find those twice
  std::string key_;
  std::string error_;
};

Json build_json(std::string_view text, Foreign::input_format_t format, std::string_view what,
                bool refuses_twice = false) {
  JsonBuilder builder(refuses_twice);
  Foreign::sax_parse(text.begin(), text.end(), &builder, format);
  return std::move(builder).result(what);
}

}  // namespace

struct ForeignJson {
  static Foreign of(const Json& json) {
    const auto convert = [](const auto& value) {
      using Held = std::decay_t<decltype(value)>;
      Foreign result;
      if constexpr (std::is_same_v<Held, Json::Items>) {
        result = Foreign::array();
        for (const Json& item : value) result.push_back(of(item));
      } else if constexpr (std::is_same_v<Held, Json::Members>) {
        result = Foreign::object();
        for (const Json::Member& member : value) result[member.key] = of(member.value);
      } else if constexpr (!std::is_same_v<Held, std::monostate>) {
        result = value;
      }
      return result;
    };
    return std::visit(convert, json.value_);
  }
};

Json::Json() = default;
Json::Json(const char* text) : value_(std::string(text)) {}
Json::Json(std::string_view text) : value_(std::string(text)) {}
Json::Json(std::string text) : value_(std::move(text)) {}
Json::Json(Items items) : value_(std::move(items)) {}
Json::Json(std::initializer_list<Member> members) : value_(Members()) {
  for (const auto& [key, value] : members) (*this)[key] = value;
}
Json::Json(const Json& other) = default;
Json::Json(Json&& other) noexcept = default;
Json& Json::operator=(const Json& other) = default;
Json& Json::operator=(Json&& other) noexcept = default;
Json::~Json() = default;

Json Json::array() { return Items(); }

Json Json::object() {
  Json json;
  json.value_ = Members();
  return json;
}

bool Json::is_null() const { return std::holds_alternative<std::monostate>(value_); }
bool Json::is_object() const { return std::holds_alternative<Members>(value_); }
bool Json::is_array() const { return std::holds_alternative<Items>(value_); }
bool Json::is_string() const { return std::holds_alternative<std::string>(value_); }

void Json::assign(bool truth) { value_ = truth; }
void Json::assign(int64_t number) { value_ = number; }
void Json::assign(double number) { value_ = number; }
void Json::assign(uint64_t number) {
  if (std::in_range<int64_t>(number)) {
    value_ = static_cast<int64_t>(number);
  } else {
    value_ = number;
  }
}

Json& Json::operator[](std::string_view key) {
  if (is_null()) value_ = Members();
  auto* members = std::get_if<Members>(&value_);
  PANDO_CHECK(members != nullptr, "key '", key, "' of ", dump());
  const auto found = std::ranges::find(*members, key, &Member::key);
  if (found != members->end()) return found->value;
  return members->emplace_back(Member{std::string(key), {}}).value;
}

Json& Json::push_back(Json item) {
  if (is_null()) value_ = Items();
  auto* items = std::get_if<Items>(&value_);
  PANDO_CHECK(items != nullptr, "push_back to ", dump());
  return items->emplace_back(std::move(item));
}

void Json::update(const Json& object) {
  for (const auto& [key, value] : object.members()) (*this)[key] = value;
}

Json& Json::add_member(std::string key, Json value) {
  Members* members = std::get_if<Members>(&value_);
  PANDO_CHECK(members != nullptr, "only an object has members");
  return members->emplace_back(Member{std::move(key), std::move(value)}).value;
}

const Json::Items& Json::items() const& { return read_items(""); }
const Json::Members& Json::members() const& { return read_members(""); }

const Json* Json::find(std::string_view key) const {
  const Members& all = read_members("");
  const auto found = std::ranges::find(all, key, &Member::key);
  return found == all.end() ? nullptr : &found->value;
}

const Json& Json::at(std::string_view key) const {
  const auto* members = std::get_if<Members>(&value_);
  if (members == nullptr) fail(concat("an object with key '", key, "'"), "");
  if (const Json* value = find(key)) return *value;
  std::vector<std::string> keys;
  for (const Member& member : *members) keys.push_back(member.key);
  throw IoError("JSON: expected key '", key, "', got an object with ",
                keys.empty() ? "no keys" : "the keys " + join(keys, ", "));
}

bool Json::read_bool(std::string_view name) const {
  if (const auto* value = std::get_if<bool>(&value_)) return *value;
  fail("true or false", name);
}

std::optional<int64_t> Json::whole_number() const {
  if (const auto* whole = std::get_if<int64_t>(&value_)) return *whole;
  const auto* real = std::get_if<double>(&value_);
  // Other programs may write 3 as 3.0. Up to 2^53 every whole number has a double of its own.
  constexpr double kExact = 9007199254740992;
  const bool is_whole = real != nullptr && *real == std::floor(*real) && std::abs(*real) <= kExact;
  return is_whole ? std::optional(static_cast<int64_t>(*real)) : std::nullopt;
}

int64_t Json::read_signed(std::string_view name, int64_t least, int64_t most) const {
  const std::optional<int64_t> whole = whole_number();
  if (whole && *whole >= least && *whole <= most) return *whole;
  fail(concat("a whole number from ", least, " to ", most), name);
}

uint64_t Json::read_unsigned(std::string_view name, uint64_t most) const {
  const auto* large = std::get_if<uint64_t>(&value_);
  if (large != nullptr && *large <= most) return *large;
  const std::optional<int64_t> whole = whole_number();
  if (whole && *whole >= 0 && std::cmp_less_equal(*whole, most)) {
    return static_cast<uint64_t>(*whole);
  }
  fail(concat("a whole number from 0 to ", most), name);
}

double Json::read_double(std::string_view name) const {
  if (const auto* real = std::get_if<double>(&value_)) return *real;
  if (const auto* whole = std::get_if<int64_t>(&value_)) return static_cast<double>(*whole);
  if (const auto* large = std::get_if<uint64_t>(&value_)) return static_cast<double>(*large);
  fail("a number", name);
}

const std::string& Json::read_string(std::string_view name) const {
  if (const auto* text = std::get_if<std::string>(&value_)) return *text;
  fail("a string", name);
}

const Json::Items& Json::read_items(std::string_view name, std::optional<size_t> count) const {
  const auto* items = std::get_if<Items>(&value_);
  if (items != nullptr && items->size() == count.value_or(items->size())) return *items;
  fail(count ? concat("an array of ", *count) : "an array", name);
}

const Json::Members& Json::read_members(std::string_view name) const {
  if (const auto* members = std::get_if<Members>(&value_)) return *members;
  fail("an object", name);
}

void Json::fail(std::string_view expected, std::string_view name) const {
  constexpr size_t kShown = 60;
  std::string found = dump();
  if (found.size() > kShown) found = found.substr(0, kShown) + "...";
  throw IoError("JSON: expected ", expected, name.empty() ? "" : concat(" for key '", name, "'"),
                ", got ", found);
}

std::string Json::dump(int indent) const {
  return ForeignJson::of(*this).dump(indent, ' ', false, Foreign::error_handler_t::replace);
}

Json Json::parse(std::string_view text) {
  return build_json(text, Foreign::input_format_t::json, "JSON");
}

Json Json::parse_strictly(std::string_view text) {
  return build_json(text, Foreign::input_format_t::json, "JSON", true);
}

std::optional<Json> Json::try_parse(std::string_view text) {
  try {
    return parse(text);
  } catch (const IoError&) {
    return std::nullopt;
  }
}

std::string Json::to_bytes() const {
  std::string bytes;
  Foreign::to_msgpack(ForeignJson::of(*this), bytes);
  return bytes;
}

Json Json::from_bytes(std::string_view bytes) {
  return build_json(bytes, Foreign::input_format_t::msgpack, "MessagePack");
}

}  // namespace pando
