// SPDX-License-Identifier: MIT
#include "pando/pages/page.h"

#include "pando/base/strings.h"
#include "pando/pages/page_files.h"

namespace pando::pages {

namespace {

std::string policy(bool connects) {
  return concat(
      "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
      "img-src data: blob:; connect-src ",
      connects ? "'self'" : "'none'");
}

}  // namespace

std::string html_text(std::string_view text) {
  std::string escaped;
  for (const char letter : text) {
    switch (letter) {
      case '&': escaped += "&amp;"; break;
      case '<': escaped += "&lt;"; break;
      case '>': escaped += "&gt;"; break;
      case '"': escaped += "&quot;"; break;
      case '\'': escaped += "&#39;"; break;
      default: escaped += letter;
    }
  }
  return escaped;
}

// These characters occur only within the strings of JSON, where an escape means the same.
std::string script_json(std::string_view json) {
  std::string escaped;
  escaped.reserve(json.size() + json.size() / 64);
  for (size_t i = 0; i < json.size(); ++i) {
    const std::string_view next = json.substr(i, 3);
    if (json[i] == '<') {
      escaped += "\\u003c";
    } else if (next == "\xe2\x80\xa8" || next == "\xe2\x80\xa9") {
      escaped += next == "\xe2\x80\xa8" ? "\\u2028" : "\\u2029";
      i += 2;
    } else {
      escaped += json[i];
    }
  }
  return escaped;
}

std::string page_html(const Page& page) {
  std::string styles(page_file("style.css"));
  for (const std::string_view name : page.styles) styles += page_file(name);
  std::string html = concat(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"",
      policy(page.connects), "\">\n<title>", html_text(page.title),
      "</title>\n<link rel=\"icon\" href=\"data:,\">\n", page_file("uplot.html"), "<style>\n",
      styles, "</style>\n</head>\n<body>\n<div id=\"main\"></div>\n",
      "<noscript>This page is drawn by a script, which this browser does not run.</noscript>\n",
      "<script type=\"application/json\" id=\"data\">");
  html += script_json(page.data);
  html += "</script>\n<script>\n\"use strict\";\n(() => {\n";
  for (const std::string_view name : kCurveScripts) html += page_file(name);
  for (const std::string_view name : page.scripts) html += page_file(name);
  html += "})();\n</script>\n</body>\n</html>\n";
  return html;
}

}  // namespace pando::pages
