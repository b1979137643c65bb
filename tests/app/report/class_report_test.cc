#include "pando/app/report/class_report.h"

#include <gtest/gtest.h>

#include "pando/base/random.h"
#include "pando/data/sources/mnist.h"
#include "tests/app/expect_xml.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_folder.h"

namespace pando::app {
namespace {

using testing_support::error_of;
using testing_support::TempFolder;

// A report in which most predictions are correct and some are the class before.
ClassReport made_up(int64_t classes, int64_t samples) {
  RandomStream random(5);
  Tensor outputs(DType::f32, {samples, classes});
  std::vector<int32_t> labels;
  for (int64_t i = 0; i < samples; ++i) {
    const int64_t label = i % classes;
    const int64_t taken = random.next_below(4) == 0 ? (label + classes - 1) % classes : label;
    labels.push_back(static_cast<int32_t>(label));
    outputs.f32()[static_cast<size_t>(i * classes + taken)] = 1;
  }
  return classify(outputs, labels);
}

int64_t occurrences(const std::string& text, const std::string& part) {
  int64_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(ClassNames, AreALineEach) {
  const std::vector<std::string> names = {"a cat", "", "dog"};
  EXPECT_EQ(class_names_text(names), "a cat\n\ndog\n");
  EXPECT_EQ(parse_class_names(class_names_text(names)), names);
  EXPECT_TRUE(parse_class_names("").empty());
}

TEST(WriteClassReport, WritesTablesAndPicture) {
  const TempFolder folder;
  const ClassReport report = made_up(10, 400);
  const std::vector<std::string> names = fashion_mnist_names();
  write_class_report(folder.path(), report, names);
  EXPECT_EQ(folder.entries(), 4);
  EXPECT_EQ(folder.read("class_report.txt"), to_text(report, names));
  EXPECT_EQ(folder.read("class_report.csv"), scores_csv(report, names));
  EXPECT_EQ(folder.read("confusion.csv"), confusion_csv(report, names));
  EXPECT_EQ(folder.read("confusion.svg"), confusion_svg(report, names));
}

TEST(WriteClassReport, NamesTheFileItCannotWrite) {
  const TempFolder folder;
  const std::string missing = folder.path("missing");
  EXPECT_SAYS(error_of<IoError>([&] { write_class_report(missing, ClassReport(2), {}); }),
              "class_report.txt");
  EXPECT_SAYS(error_of([&] { write_class_report(folder.path(), ClassReport(2), {"a"}); }),
              "2 classes", "got 1");
  EXPECT_EQ(folder.entries(), 0);
}

TEST(ConfusionSvg, HasCountsNamesAndTheScale) {
  const ClassReport report = made_up(10, 400);
  const std::string svg = confusion_svg(report, fashion_mnist_names());
  expect_xml(svg);
  EXPECT_EQ(occurrences(svg, ">T-shirt/top<"), 2);  // in the rows and in the columns
  EXPECT_SAYS(svg, ">" + std::to_string(report.count(3, 3)) + "</text>");
  EXPECT_SAYS(svg,
              "<title>Trouser predicted as T-shirt/top: " + std::to_string(report.count(1, 0)));
  EXPECT_SAYS(svg, ">100 %<");
}

TEST(ConfusionSvg, NamesCannotBecomeMarkup) {
  const std::string svg = confusion_svg(made_up(2, 8), {"<b>&\"", "x\ny"});
  expect_xml(svg);
  EXPECT_SAYS(svg, ">&lt;b&gt;&amp;&quot;<");
  EXPECT_SAYS(svg, ">x y<");
}

TEST(ConfusionSvg, ManyClassesHaveNoCountsAndVeryManyShareCells) {
  const std::string hundred = confusion_svg(made_up(100, 1000), {});
  expect_xml(hundred);
  EXPECT_EQ(occurrences(hundred, "<title>"), 0);
  EXPECT_SAYS(hundred, ">99<");
  const std::string thousand = confusion_svg(made_up(1000, 5000), {});
  expect_xml(thousand);
  EXPECT_SAYS(thousand, ">990-999<");
  EXPECT_LT(thousand.size(), 200'000u);
}

}  // namespace
}  // namespace pando::app
