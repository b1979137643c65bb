// How the stack machine turns the calls that make numpy's arrays into arrays.
// SPDX-License-Identifier: MIT
#include "pando/data/sources/pickle/machine_impl.h"

namespace pando::data {

namespace {

constexpr size_t kMostArguments = 4;

}  // namespace

bool PickleMachine::flag(uint32_t id) const {
  if (store_.at(id).kind == PickleKind::boolean) return store_.at(id).integer != 0;
  return store_.expect(id, PickleKind::integer).integer != 0;
}

void PickleMachine::make_array(uint32_t array, const std::array<uint32_t, 3>& parts,
                               bool column_major) {
  store_.expect(parts[0], PickleKind::tuple);
  store_.expect(parts[1], PickleKind::dtype);
  if (store_.at(parts[2]).kind != PickleKind::text) store_.expect(parts[2], PickleKind::bytes);
  PickleNode& node = store_.nodes[array];
  node.items.assign(parts.begin(), parts.end());
  node.integer = column_major ? 1 : 0;
  node.built = true;
}

// callable, arguments -> the value that numpy would make
void PickleMachine::reduce() {
  const uint32_t arguments = pop();
  const uint32_t callable = pop();
  const PickleName name = store_.expect(callable, PickleKind::name).name;
  const size_t count_given = store_.expect(arguments, PickleKind::tuple).items.size();
  if (count_given > kMostArguments) {
    fail("a call with ", count_given, " arguments, expected at most ", kMostArguments);
  }
  const std::vector<uint32_t> given = store_.at(arguments).items;
  const auto want = [&](size_t count, const char* what) {
    if (given.size() != count) {
      fail(what, " with ", given.size(), " arguments, expected ", count);
    }
  };
  switch (name) {
    case PickleName::reconstruct:
      want(3, "an array");
      push_new(PickleKind::array);
      return;
    case PickleName::frombuffer: {
      want(4, "an array");
      const auto order = as_text(store_.expect(given[3], PickleKind::text).bytes);
      if (order != "C" && order != "F") {
        fail("an array in order '", order.substr(0, 9), "', expected C or F");
      }
      push_new(PickleKind::array);
      return make_array(top(), {given[2], given[1], given[0]}, order == "F");
    }
    case PickleName::dtype: {
      want(3, "a dtype");
      const auto bytes = store_.expect(given[0], PickleKind::text).bytes;
      push_new(PickleKind::dtype).bytes = bytes;
      return;
    }
    case PickleName::encode:
      want(2, "encoded text");
      store_.expect(given[0], PickleKind::text);
      if (as_text(store_.expect(given[1], PickleKind::text).bytes) != "latin1") {
        fail("text in another encoding, expected latin1");
      }
      push_new(PickleKind::bytes).items = {given[0]};
      return;
    case PickleName::ndarray: fail("calls numpy.ndarray, expected numpy's _reconstruct");
  }
}

// object, state -> the object with its contents
void PickleMachine::build() {
  const uint32_t state_id = pop();
  const uint32_t object = top();
  const PickleNode& state = store_.expect(state_id, PickleKind::tuple);
  if (store_.at(object).kind == PickleKind::array) return build_array(object, state);
  store_.expect(object, PickleKind::dtype);
  if (state.items.size() < 2) {
    fail("a dtype with ", state.items.size(), " parts, expected at least 2");
  }
  const auto order = as_text(store_.expect(state.items[1], PickleKind::text).bytes);
  if (order != "|" && order != "<" && order != "=" && order != ">") {
    fail("a dtype in byte order '", order.substr(0, 9), "', expected one of | < = >");
  }
  store_.nodes[object].integer = order == ">" ? 1 : 0;
}

void PickleMachine::build_array(uint32_t array, const PickleNode& state) {
  if (state.items.size() != 5) {
    fail("an array with ", state.items.size(),
         " parts, expected 5: version, shape, dtype, order, bytes");
  }
  const int64_t version = store_.expect(state.items[0], PickleKind::integer).integer;
  if (version != 1) fail("an array of version ", version, ", expected 1");
  const bool column_major = flag(state.items[3]);
  make_array(array, {state.items[1], state.items[2], state.items[4]}, column_major);
}

}  // namespace pando::data
