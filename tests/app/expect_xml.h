// Checks that a written picture is well-formed XML.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include <gtest/gtest.h>

#include "tests/data/foreign_software.h"
#include "tests/support/temp_folder.h"

namespace pando::app {

inline void expect_xml(const std::string& svg) {
  const testing_support::TempFolder folder;
  const std::string file = folder.write_text("picture.svg", svg);
  const std::string command =
      PANDO_PYTHON " -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])' ";
  EXPECT_EQ(testing_support::run_command(command + file).exit_code, 0) << svg.substr(0, 2000);
}

}  // namespace pando::app
