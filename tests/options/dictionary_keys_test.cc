#include "pando/options/dictionary_keys.h"

#include "pando/app/job/exit_code.h"
#include "tests/support/expect_error.h"

namespace pando::app {
namespace {

std::string error_with(const std::string& dictionary, const WantedKeys& wanted) {
  std::optional<int> a, b, c;
  OptionTable table;
  OptionTable& entries = table.add_dictionary("params", "");
  entries.add("a", a, "");
  entries.add("b", b, "");
  entries.add("c", c, "");
  table.assign(table.find("params", ""), ConfigValue::scalar(dictionary), {});
  try {
    check_keys(table, "params", wanted);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(DictionaryKeys, TellsWhatWasFoundAndWhatIsWanted) {
  const WantedKeys wanted{"it", {"a", "b"}, {"c"}};
  EXPECT_EQ(error_with("{a: 1, b: 2}", wanted), "");
  EXPECT_EQ(error_with("{a: 1, b: 2, c: 3}", wanted), "");
  EXPECT_SAYS(error_with("{c: 1, b: 2}", wanted), "--params: it ", "a, b", "got b, c", "missing a");
  EXPECT_SAYS(error_with("{}", wanted), "--params: it ", "got no keys", "missing a, b");
  EXPECT_SAYS(error_with("{c: 1}", {"it", {"a"}, {"b"}}), "--params: it ", "'c'", "expected a, b");
  EXPECT_SAYS(error_with("{c: 1}", {"it", {}, {}}), "--params: it ", "'c'", "expected no keys");
}

TEST(DictionaryKeys, WantsADictionary) {
  const OptionTable table;
  EXPECT_SAYS(testing_support::error_of<InternalError>([&] { check_keys(table, "x", {}); }),
              "no dictionary 'x'");
}

}  // namespace
}  // namespace pando::app
