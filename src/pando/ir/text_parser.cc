// SPDX-License-Identifier: MIT
#include <cctype>
#include <functional>

#include "pando/base/error.h"
#include "pando/ir/text.h"

namespace pando::ir {

namespace {

// Reads the text once from front to back; every error gives the line and column.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Graph run() {
    expect_word("graph");
    expect("(");
    parse_list(")", [&] { parse_input(); });
    expect("{");
    while (!try_word("return")) parse_node();
    parse_list("}", [&] { parse_output(); });
    skip_space();
    if (at_ != text_.size()) fail("unexpected text after the end of the graph");
    return std::move(graph_);
  }

 private:
  struct Declared {
    std::string name;
    std::optional<TensorType> type;
    Layout layout;
  };

  [[noreturn]] void fail(const std::string& what) const {
    int line = 1;
    int column = 1;
    for (size_t i = 0; i < at_ && i < text_.size(); ++i) {
      column = text_[i] == '\n' ? 1 : column + 1;
      line += text_[i] == '\n' ? 1 : 0;
    }
    throw InvalidArgument("IR text, line ", line, ", column ", column, ": ", what);
  }

  void skip_space() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }

  bool try_take(std::string_view symbol) {
    skip_space();
    if (text_.substr(at_, symbol.size()) != symbol) return false;
    at_ += symbol.size();
    return true;
  }

  void expect(std::string_view symbol) {
    if (!try_take(symbol)) fail(concat("expected '", symbol, "'"));
  }

  static bool is_name_char(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("_./:-").find(c) != std::string_view::npos;
  }

  std::string_view peek_name(bool colons) {
    skip_space();
    size_t end = at_;
    while (end < text_.size() && is_name_char(text_[end]) && (colons || text_[end] != ':')) ++end;
    return text_.substr(at_, end - at_);
  }

  std::string take_name(bool colons = false) {
    const std::string_view name = peek_name(colons);
    if (name.empty()) fail("expected a name");
    at_ += name.size();
    return std::string(name);
  }

  bool try_word(std::string_view word) {
    if (peek_name(false) != word) return false;
    at_ += word.size();
    return true;
  }

  void expect_word(std::string_view word) {
    if (!try_word(word)) fail(concat("expected '", word, "'"));
  }

  void parse_list(std::string_view close, const std::function<void()>& item) {
    if (try_take(close)) return;
    do {
      item();
    } while (try_take(","));
    expect(close);
  }

  int64_t take_int() {
    const std::string token = take_name();
    const auto value = parse_int(token);
    if (!value) fail(concat("expected an integer, got '", token, "'"));
    return *value;
  }

  int take_stage() {
    constexpr int64_t kMost = 1 << 20;
    const int64_t stage = take_int();
    if (stage < 0 || stage > kMost)
      fail(concat("expected a stage from 0 to ", kMost, ", got ", stage));
    return static_cast<int>(stage);
  }

  Ints take_ints() {
    Ints values;
    expect("[");
    parse_list("]", [&] { values.push_back(take_int()); });
    return values;
  }

  Declared take_declaration() {
    Declared declared;
    declared.name = take_name();
    if (try_take(":")) {
      TensorType type;
      try {
        type.dtype = parse_dtype(take_name());
      } catch (const InvalidArgument& error) {
        fail(error.what());
      }
      type.shape = Shape(take_ints());
      declared.type = std::move(type);
    }
    if (try_take("%")) {
      declared.layout.name = take_name();
      expect(":");
      declared.layout.elements = take_int();
    }
    return declared;
  }

  void parse_input() {
    const Declared declared = take_declaration();
    const std::string word = take_name();
    for (const InputRole role : {InputRole::feed, InputRole::variable, InputRole::state}) {
      if (word == to_string(role)) {
        graph_.add_input(declared.name, role, declared.type)->set_layout(declared.layout);
        return;
      }
    }
    fail(concat("expected the role of an input (feed, variable, state), got '", word, "'"));
  }

  Value* take_value() {
    const std::string name = take_name();
    Value* value = graph_.find_value(name);
    if (value == nullptr) fail(concat("value '", name, "' is used before it is defined"));
    return value;
  }

  Attribute take_attribute() {
    if (try_take("[")) return take_list_rest();
    if (try_take("\"")) return take_string_rest();
    return take_number();
  }

  // A list of integers, or of numbers if at least one item is not an integer.
  Attribute take_list_rest() {
    Ints integers;
    Numbers numbers;
    parse_list("]", [&] {
      const Attribute item = take_number();
      const auto* integer = std::get_if<int64_t>(&item);
      if (integer != nullptr) integers.push_back(*integer);
      numbers.push_back(integer != nullptr ? static_cast<double>(*integer)
                                           : std::get<double>(item));
    });
    if (integers.size() == numbers.size()) return integers;
    return numbers;
  }

  Attribute take_number() {
    std::string token = take_name();
    if (token.ends_with("e") && try_take("+")) token += take_name();  // 1e+20
    if (const auto integer = parse_int(token)) return *integer;
    if (const auto number = parse_double(token)) return *number;
    fail(concat("expected a number, a string or a list, got '", token, "'"));
  }

  std::string take_string_rest() {
    std::string text;
    while (at_ < text_.size() && text_[at_] != '"') {
      if (text_[at_] == '\\') ++at_;
      if (at_ < text_.size()) text += text_[at_++];
    }
    if (at_ >= text_.size()) fail("expected '\"' at the end of a string");
    ++at_;
    return text;
  }

  void parse_node() {
    std::vector<Declared> results;
    do {
      results.push_back(take_declaration());
      if (graph_.find_value(results.back().name) != nullptr) {
        fail(concat("value '", results.back().name, "' is defined twice"));
      }
    } while (try_take(","));
    expect("=");
    NodeSpec spec;
    spec.op = take_name();
    spec.outputs = static_cast<int>(results.size());
    for (const Declared& result : results) spec.output_names.push_back(result.name);
    expect("(");
    parse_list(")", [&] { spec.inputs.push_back(take_value()); });
    if (try_take("{")) {
      parse_list("}", [&] {
        std::string name = take_name();
        expect("=");
        spec.attributes.set(std::move(name), take_attribute());
      });
    }
    if (try_take("@")) spec.name = take_name(true);
    graph_.set_current_stage(try_take("^") ? take_stage() : 0);
    Node* node = graph_.append(std::move(spec));
    for (int i = 0; i < node->num_outputs(); ++i) {
      Declared& result = results[static_cast<size_t>(i)];
      if (result.type) node->output(i)->set_type(std::move(*result.type));
      node->output(i)->set_layout(std::move(result.layout));
    }
  }

  void parse_output() {
    const std::string word = take_name();
    for (const OutputRole role : {OutputRole::result, OutputRole::loss, OutputRole::metric,
                                  OutputRole::gradient, OutputRole::statistic}) {
      if (word == to_string(role)) {
        std::string name = take_name();
        expect("=");
        graph_.add_output(role, std::move(name), take_value());
        return;
      }
    }
    fail(concat("expected the role of an output (result, loss, metric, gradient, statistic), got '",
                word, "'"));
  }

  std::string_view text_;
  size_t at_ = 0;
  Graph graph_;
};

}  // namespace

Graph parse_graph(std::string_view text) { return Parser(text).run(); }

}  // namespace pando::ir
