// A page without external files: styles, scripts and data in one HTML text.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pando::pages {

// The scripts of all pages with curves, in their order. The scripts of a single page follow them.
inline constexpr std::string_view kCurveScripts[] = {"dom.js", "chart.js", "curves.js"};

struct Page {
  std::string title;
  std::vector<std::string_view> scripts;      // names of files of this folder, after kCurveScripts
  std::vector<std::string_view> styles = {};  // the same, after style.css
  std::string data;                           // JSON, which pageData() of dom.js returns
  bool connects = false;  // whether scripts may ask the server that the page comes from
};

// The page. Its element #main is empty: the scripts fill it. Browsers refuse to load anything that
// is not in it, by its content security policy.
std::string page_html(const Page& page);

// Text for an element or a quoted attribute of HTML.
std::string html_text(std::string_view text);

// JSON for an element <script>: neither a name like "</script>" nor a line separator ends it.
std::string script_json(std::string_view json);

}  // namespace pando::pages
