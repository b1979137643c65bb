#include "pando/profile/multiply_add_peak.h"

#include <algorithm>

#include "tests/support/expect_error.h"

namespace pando::profile {
namespace {

using testing_support::error_of;

TEST(MultiplyAddPeak, MeasuresEveryIsaOfThisProcessor) {
  const std::vector<std::string> isas = measurable_isas();
  ASSERT_FALSE(isas.empty());
  EXPECT_EQ(isas.back(), "sse2");
  for (const std::string& isa : isas) {
    const MultiplyAddRate rate = multiply_add_peak(isa, 2, 0.002);
    EXPECT_GT(rate.mean, 0) << isa;
    EXPECT_GE(rate.best, rate.mean * 0.999) << isa;
  }
}

TEST(MultiplyAddPeak, AnIsaThatIsNotThereIsAnError) {
  EXPECT_SAYS(error_of([] { multiply_add_peak("neon", 1, 0.001); }), "'neon'");
}

}  // namespace
}  // namespace pando::profile
