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
  EXPECT_EQ(error_with("{c: 1, b: 2}", wanted), "--params: it wants a, b, found b, c; missing a");
  EXPECT_EQ(error_with("{}", wanted), "--params: it wants a, b, found none of them; missing a, b");
  EXPECT_EQ(error_with("{c: 1}", {"it", {"a"}, {"b"}}),
            "--params: 'c' means nothing to it, wanted a, b");
  EXPECT_EQ(error_with("{c: 1}", {"it", {}, {}}),
            "--params: 'c' means nothing to it, wanted no keys");
}

TEST(DictionaryKeys, WantsADictionary) {
  const OptionTable table;
  EXPECT_SAYS(testing_support::error_of<InternalError>([&] { check_keys(table, "x", {}); }),
              "no dictionary 'x'");
}

}  // namespace
}  // namespace pando::app
