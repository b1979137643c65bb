// JSON: values that are built in code, written as text and read back, and sent between instances.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace pando {

template <typename T>
concept JsonNumber = std::is_arithmetic_v<T>;
// Strings have constructors of their own.
template <typename T>
concept JsonRange = !std::is_convertible_v<const T&, std::string_view> && requires(const T& range) {
  range.begin();
  range.size();
};

// Null, a truth value, a number, a string, an array, or an object, whose keys keep their order.
//   Json json = {{"name", "x"}, {"seconds", 1.5}, {"shape", shape.dims()}};
//   json["rows"].push_back({{"row", 0}, {"notes", nullptr}});
// Braces make an object; a range or a pair becomes an array, a map an object. Reading throws
// IoError that names the key, what was expected and what is there.
class Json {
 public:
  struct Member;
  using Items = std::vector<Json>;
  using Members = std::vector<Member>;

  // NOLINTBEGIN(google-explicit-constructor): what goes into an object is written as it is
  Json();  // null
  Json(std::nullptr_t) : Json() {}
  Json(const char* text);
  Json(std::string_view text);
  Json(std::string text);
  Json(std::initializer_list<Member> members);
  template <JsonNumber Number>
  Json(Number number);
  template <typename First, typename Second>
  Json(const std::pair<First, Second>& pair) : Json(Items{pair.first, pair.second}) {}
  template <JsonRange Range>
  Json(const Range& range);
  Json(Items items);
  // NOLINTEND(google-explicit-constructor)

  Json(const Json& other);
  Json(Json&& other) noexcept;
  Json& operator=(const Json& other);
  Json& operator=(Json&& other) noexcept;
  ~Json();

  static Json array();   // an empty one
  static Json object();  // an empty one

  bool is_null() const;
  bool is_object() const;
  bool is_array() const;
  bool is_string() const;

  // Null becomes an object or an array first; InternalError for any other value.
  Json& operator[](std::string_view key);         // adds the key if it is missing
  Json& push_back(Json item);                     // the item in its place
  void update(const Json& object);                // sets all its keys
  Json& add_member(std::string key, Json value);  // requires: an object without this key

  // The elements of an array, and the entries of an object. They are valid as long as the value.
  const Items& items() const&;
  const Members& members() const&;
  void items() && = delete;
  void members() && = delete;
  const Json* find(std::string_view key) const;  // of an object; null: it is not there
  const Json& at(std::string_view key) const;    // of an object

  // Converts to bool, a whole or another number, std::string, or std::vector, std::array, std::pair
  // or std::map (keys are strings) of such. A number must be in the range of its type.
  template <typename T>
  T get() const {
    return read<T>("");
  }
  // The value of a key.
  template <typename T>
  T get(std::string_view key) const {
    return at(key).template read<T>(key);
  }
  // `missing` if the key is not there.
  template <typename T>
  T get(std::string_view key, T missing) const {
    const Json* value = find(key);
    return value == nullptr ? std::move(missing) : value->template read<T>(key);
  }

  // Writes one line or, with `indent`, that many spaces per level. Bytes that are not UTF-8 become
  // the replacement character; numbers that are not finite become null.
  std::string dump(int indent = -1) const;
  // IoError names line and column of what is not JSON.
  static Json parse(std::string_view text);
  static std::optional<Json> try_parse(std::string_view text);
  // The same for texts of others that may be large: also refuses keys that an object has twice, and
  // takes a time that is proportional to the length.
  static Json parse_strictly(std::string_view text);

  // Writes MessagePack, which keeps every bit of numbers and strings.
  std::string to_bytes() const;
  static Json from_bytes(std::string_view bytes);

 private:
  friend struct ForeignJson;
  // Whole numbers are int64_t where they fit into it.
  using Value =
      std::variant<std::monostate, bool, int64_t, uint64_t, double, std::string, Items, Members>;

  void assign(bool truth);
  void assign(int64_t number);
  void assign(uint64_t number);
  void assign(double number);
  // `name` is for errors.
  template <typename T>
  T read(std::string_view name) const;
  bool read_bool(std::string_view name) const;
  std::optional<int64_t> whole_number() const;  // nothing: no number, not whole or too large
  int64_t read_signed(std::string_view name, int64_t least, int64_t most) const;
  uint64_t read_unsigned(std::string_view name, uint64_t most) const;
  double read_double(std::string_view name) const;
  const std::string& read_string(std::string_view name) const;
  const Items& read_items(std::string_view name, std::optional<size_t> count = {}) const;
  const Members& read_members(std::string_view name) const;
  [[noreturn]] void fail(std::string_view expected, std::string_view name) const;

  Value value_;
};

struct Json::Member {
  std::string key;
  Json value;
};

template <JsonNumber Number>
Json::Json(Number number) {
  if constexpr (std::is_same_v<Number, bool>) {
    assign(number);
  } else if constexpr (std::is_floating_point_v<Number>) {
    assign(static_cast<double>(number));
  } else if constexpr (std::is_signed_v<Number>) {
    assign(static_cast<int64_t>(number));
  } else {
    assign(static_cast<uint64_t>(number));
  }
}

template <JsonRange Range>
Json::Json(const Range& range) {
  if constexpr (requires { typename Range::mapped_type; }) {
    *this = object();
    for (const auto& [key, value] : range) (*this)[key] = value;
  } else {
    *this = array();
    for (const auto& item : range) push_back(item);
  }
}

template <typename T>
T Json::read(std::string_view name) const {
  if constexpr (std::is_same_v<T, bool>) {
    return read_bool(name);
  } else if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(read_double(name));
  } else if constexpr (std::is_signed_v<T>) {
    using Limits = std::numeric_limits<T>;
    return static_cast<T>(read_signed(name, Limits::min(), Limits::max()));
  } else if constexpr (std::is_unsigned_v<T>) {
    return static_cast<T>(read_unsigned(name, std::numeric_limits<T>::max()));
  } else if constexpr (std::is_same_v<T, std::string>) {
    return read_string(name);
  } else if constexpr (requires { typename T::mapped_type; }) {
    T map;
    for (const Member& member : read_members(name)) {
      map[member.key] = member.value.template read<typename T::mapped_type>(member.key);
    }
    return map;
  } else if constexpr (requires { typename T::first_type; }) {
    const Items& pair = read_items(name, 2);
    return {pair[0].template read<typename T::first_type>(name),
            pair[1].template read<typename T::second_type>(name)};
  } else if constexpr (requires(T list, typename T::value_type item) { list.push_back(item); }) {
    T list;
    for (const Json& item : read_items(name)) {
      list.push_back(item.template read<typename T::value_type>(name));
    }
    return list;
  } else {
    T array = {};
    const Items& items = read_items(name, array.size());
    for (size_t i = 0; i < array.size(); ++i) {
      array[i] = items[i].template read<typename T::value_type>(name);
    }
    return array;
  }
}

}  // namespace pando
