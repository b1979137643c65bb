// SPDX-License-Identifier: MIT
#include "pando/app/report/svg_text.h"

#include <fmt/core.h>

namespace pando::app {

std::string svg_document(Place size, const std::string& content) {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
      "viewBox=\"0 0 {0:.0f} {1:.0f}\" font-family=\"sans-serif\" font-size=\"12\" "
      "fill=\"#222222\">\n<rect width=\"{0:.0f}\" height=\"{1:.0f}\" fill=\"#ffffff\"/>\n{2}"
      "</svg>\n",
      size.x, size.y, content);
}

std::string svg_label(Place at, const std::string& text, const std::string& more) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" {}>{}</text>\n", at.x, at.y, more,
                     xml_text(text));
}

std::string svg_turned_label(Place at, const std::string& text, double degrees,
                             const std::string& more) {
  return svg_label(
      at, text,
      fmt::format("{} transform=\"rotate({:g} {:.1f} {:.1f})\"", more, degrees, at.x, at.y));
}

std::string svg_line(Place from, Place to, const std::string& colour) {
  return fmt::format(
      "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\"/>\n", from.x,
      from.y, to.x, to.y, colour);
}

std::string svg_box(Place at, Place size, const std::string& colour, const std::string& inside) {
  const std::string box =
      fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\"",
                  at.x, at.y, size.x, size.y, colour);
  return inside.empty() ? box + "/>\n" : box + ">" + inside + "</rect>\n";
}

std::string xml_text(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default: out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return out;
}

}  // namespace pando::app
