#include "pando/app/options.h"

#include "tests/app/option_fixture.h"

namespace pando::app {
namespace {

TEST(OptionTable, RefusesTheSameNameTwice) {
  Fixture f;
  EXPECT_NE(message_of<InternalError>([&] { f.table.add("size", f.size, ""); }), "");
}

}  // namespace
}  // namespace pando::app
