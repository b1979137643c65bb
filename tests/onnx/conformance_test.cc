// The test data that ONNX publishes (Debian: libonnx-testdata): every case whose ops are ours gives
// the published result, and docs/reference/onnx.md says which are not ours. PANDO_WRITE_DOCS=1
// writes that document anew.
// SPDX-License-Identifier: MIT
#include "tests/onnx/conformance.h"

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>

#include "pando/base/strings.h"
#include "tests/support/external.h"

namespace pando::onnx {
namespace {

constexpr const char* kFolder = "/usr/share/libonnx-testdata/data";
constexpr const char* kDocument = PANDO_SOURCE_DIR "/docs/reference/onnx.md";

struct Row {
  int cases = 0;
  int kernels = 0;
  int folded = 0;
  std::map<std::string, int> reasons;
};

struct Table {
  std::map<std::string, Row> rows;  // by op or group
  Row all;
  std::vector<std::string> wrong;
};

void count(Table& table, const ConformanceCase& test, const Outcome& outcome) {
  for (Row* row : {&table.rows[op_of(test)], &table.all}) {
    ++row->cases;
    row->kernels += outcome.verdict == Verdict::kernels ? 1 : 0;
    row->folded += outcome.verdict == Verdict::folded ? 1 : 0;
    if (outcome.verdict == Verdict::not_ours) ++row->reasons[kind_of_reason(outcome.reason)];
    if (outcome.verdict == Verdict::wrong) ++row->reasons["wrong"];
  }
  if (outcome.verdict == Verdict::wrong) {
    table.wrong.push_back(concat(test.group, "/", test.name, ": ", outcome.reason));
  }
}

std::string text_of(const std::string& name, const Row& row) {
  std::vector<std::string> reasons;
  for (const auto& [reason, cases] : row.reasons) reasons.push_back(concat(reason, " ", cases));
  return concat("| ", name, " | ", row.cases, " | ", row.kernels, " | ", row.folded, " | ",
                join(reasons, ", "), " |\n");
}

std::string document_of(const Table& table) {
  std::ostringstream text;
  text << "# ONNX's own test data\n\n"
          "Written by `tests/onnx/conformance_test.cc`; a test keeps it true.\n\n"
          "ONNX publishes models with inputs and the outputs they should give; Debian has them in\n"
          "`libonnx-testdata` 1.12. Each case is imported twice if need be: as a file without a "
          "batch\n(`ImportOptions::batch = Batch::none`), and with the first axis as the batch. "
          "Inputs of whole numbers are\nconstants; if a case needs it, so are all inputs but the "
          "first. What a network gives may differ from the\npublished output by 1e-5 of the "
          "largest number in it.\n\n"
       << table.all.kernels << " of " << table.all.cases
       << " cases pass through networks, compiler and kernels. " << table.all.folded
       << " more are\nanswered while importing, from constants alone.\n\n"
          "Why the others do not pass:\n\n"
          "- **op**: no layer of ours computes it.\n"
          "- **element type**: inputs or outputs are whole numbers, truth values, 16-bit numbers, "
          "texts or sequences, which\n  networks here do not have as activations.\n"
          "- **rank**: more than 4 axes without a batch.\n"
          "- **computed operand**: an operand that must be known while importing.\n"
          "- **opset**: before 6.\n"
          "- **form**: the op is ours, this attribute is not: cubic resizing, dilated pooling, "
          "random results.\n"
          "  Resize's `tf_crop_and_resize` is refused: it cuts a region out, whose corners are "
          "another operand.\n"
          "- **data**: we do not agree with the published numbers, see below.\n\n"
          "| op | cases | kernels | while importing | others |\n|---|---|---|---|---|\n";
  for (const auto& [name, row] : table.rows) text << text_of(name, row);
  text << text_of("**all**", table.all);
  text << "\nOther tolerances, and published numbers that we do not reproduce:\n\n";
  for (const auto& [name, special] : special_cases()) {
    text << "- `" << name << "`: " << special.reason << "\n";
  }
  return text.str();
}

TEST(OnnxConformance, PublishedCases) {
  Table table;
  for (const char* group : {"node", "simple", "pytorch-converted", "pytorch-operator"}) {
    for (const std::string& name : conformance_cases(kFolder, group)) {
      const ConformanceCase test = read_case(kFolder, group, name);
      count(table, test, run_case(test));
    }
  }
  if (table.all.cases == 0) SKIP_WITHOUT("libonnx-testdata");
  EXPECT_EQ(join(table.wrong, "\n"), "");
  EXPECT_GE(table.all.kernels, 400);
  const std::string text = document_of(table);
  if (std::getenv("PANDO_WRITE_DOCS") != nullptr) std::ofstream(kDocument) << text;
  std::ifstream file(kDocument);
  const std::string kept((std::istreambuf_iterator<char>(file)), {});
  EXPECT_EQ(kept, text) << "PANDO_WRITE_DOCS=1 writes docs/reference/onnx.md anew";
}

}  // namespace
}  // namespace pando::onnx
