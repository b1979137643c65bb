// The elements of an SVG picture as text.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace pando::app {

// A position or size in pixels; positions count from the top left corner.
struct Place {
  double x = 0;
  double y = 0;
};

// A complete picture with a white background.
std::string svg_document(Place size, const std::string& content);

// Text at a position; `more` contains attributes such as text-anchor.
std::string svg_label(Place at, const std::string& text, const std::string& more = {});

// Text rotated by `degrees` around its position.
std::string svg_turned_label(Place at, const std::string& text, double degrees,
                             const std::string& more);

std::string svg_line(Place from, Place to, const std::string& colour);

// A filled rectangle; `inside` may be a <title>.
std::string svg_box(Place at, Place size, const std::string& colour,
                    const std::string& inside = {});

// Makes text safe for XML: escapes markup, replaces control characters by spaces.
std::string xml_text(const std::string& text);

}  // namespace pando::app
