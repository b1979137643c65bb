// The pieces of which pictures in SVG are written.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace pando::app {

// In pixels, from the top left.
struct Place {
  double x = 0;
  double y = 0;
};

// A whole picture on white ground.
std::string svg_document(Place size, const std::string& content);

// Text at a place; `more` are attributes such as text-anchor.
std::string svg_label(Place at, const std::string& text, const std::string& more = {});

// Turned by `degrees` around its place.
std::string svg_turned_label(Place at, const std::string& text, double degrees,
                             const std::string& more);

std::string svg_line(Place from, Place to, const std::string& colour);

// A rectangle that is filled; `inside` may be a <title>.
std::string svg_box(Place at, Place size, const std::string& colour,
                    const std::string& inside = {});

// Text as it may stand in XML: markup is escaped, control characters become spaces.
std::string xml_text(const std::string& text);

}  // namespace pando::app
