#include "pando/base/environment.h"

#include <cstdlib>

#include <gtest/gtest.h>

namespace pando {
namespace {

// Sets a variable for one test.
class ChangedVariable {
 public:
  ChangedVariable(const char* name, const char* value) : name_(name), former_(find_variable(name)) {
    value == nullptr ? unsetenv(name) : setenv(name, value, 1);
  }
  ~ChangedVariable() { former_ ? setenv(name_, former_->c_str(), 1) : unsetenv(name_); }
  ChangedVariable(const ChangedVariable&) = delete;
  ChangedVariable& operator=(const ChangedVariable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> former_;
};

TEST(Environment, AnEmptyVariableIsSet) {
  const ChangedVariable empty("PANDO_TEST_VARIABLE", "");
  EXPECT_EQ(find_variable("PANDO_TEST_VARIABLE"), "");
  const ChangedVariable unset("PANDO_TEST_VARIABLE", nullptr);
  EXPECT_EQ(find_variable("PANDO_TEST_VARIABLE"), std::nullopt);
  EXPECT_EQ(environment("PANDO_TEST_VARIABLE"), "");
}

TEST(Environment, FilesOfAUserAreBelowTheCacheOrHome) {
  const ChangedVariable home("HOME", "/home/me");
  const ChangedVariable cache("XDG_CACHE_HOME", "/cache");
  EXPECT_EQ(cache_folder("index"), "/cache/pando/index");
  const ChangedVariable relative("XDG_CACHE_HOME", "cache");  // the standard ignores these
  EXPECT_EQ(cache_folder("index"), "/home/me/.cache/pando/index");
  const ChangedVariable nowhere("HOME", nullptr);
  EXPECT_EQ(cache_folder("index"), "");
}

}  // namespace
}  // namespace pando
