// SPDX-License-Identifier: MIT
#include "pando/pages/page.h"

#include <gtest/gtest.h>

#include "pando/base/error.h"
#include "pando/base/json.h"
#include "pando/pages/page_files.h"

namespace pando::pages {
namespace {

TEST(Page, EscapesTextOfElements) {
  EXPECT_EQ(html_text("<a href='x'>\"&\"</a>"),
            "&lt;a href=&#39;x&#39;&gt;&quot;&amp;&quot;&lt;/a&gt;");
}

// What would end the element, or the line of a script, is written as an escape and reads the same.
TEST(Page, DataCannotEndTheirElement) {
  const Json data = {{"<script>", "</script><!-- x"}, {"line", "a\u2028b\u2029c\u00e9"}};
  const std::string text = script_json(data.dump());
  EXPECT_EQ(text.find('<'), std::string::npos);
  EXPECT_EQ(text.find("\u2028"), std::string::npos);
  EXPECT_EQ(text.find("\u2029"), std::string::npos);
  const Json read = Json::parse(text);
  EXPECT_EQ(read.get<std::string>("<script>"), "</script><!-- x");
  EXPECT_EQ(read.get<std::string>("line"), "a\u2028b\u2029c\u00e9");
}

TEST(Page, HasEverythingInItself) {
  const std::string html = page_html({.title = "a <b>", .scripts = {}, .data = "{}"});
  EXPECT_NE(html.find("<title>a &lt;b&gt;</title>"), std::string::npos);
  EXPECT_NE(html.find("uPlot"), std::string::npos);
  EXPECT_NE(html.find("class CurveChart"), std::string::npos);
  EXPECT_NE(html.find("connect-src 'none'"), std::string::npos);
  for (const char* reference : {" src=\"http", "href=\"http", "@import", "url(http"}) {
    EXPECT_EQ(html.find(reference), std::string::npos) << reference;
  }
  const std::string board = page_html({.title = "",
                                       .scripts = {"board.js"},
                                       .styles = {"board.css"},
                                       .data = "{}",
                                       .connects = true});
  EXPECT_NE(board.find("connect-src 'self'"), std::string::npos);
  EXPECT_LT(board.find("table.data"), board.find("table.runs-table"));  // over the common style
  EXPECT_EQ(html.find("table.runs-table"), std::string::npos);
}

// A script inside a page must not end its own element.
TEST(Page, ScriptsDoNotEndTheirElement) {
  for (const std::string_view name : kCurveScripts) {
    EXPECT_EQ(page_file(name).find("</script"), std::string_view::npos) << name;
    EXPECT_EQ(page_file(name).find("<!--"), std::string_view::npos) << name;
  }
  EXPECT_THROW(page_file("none.js"), Error);
}

}  // namespace
}  // namespace pando::pages
