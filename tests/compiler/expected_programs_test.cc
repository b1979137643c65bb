// The kernel of every call of known networks and the bytes that it moves, compared with
// tests/golden/programs, on AVX2 and AVX-512: a fast path that is lost and a further pass over
// memory are seen without measuring time. If a change is meant, PANDO_WRITE_GOLDEN=1 writes the
// files anew on a processor that has both; their difference shows what the change does.
// SPDX-License-Identifier: MIT
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "pando/base/cpu.h"
#include "pando/compiler/compilation_report.h"
#include "tests/support/expect_error.h"
#include "tests/support/isa.h"
#include "tests/support/training_graphs.h"

namespace pando::compiler {
namespace {

struct KnownNetwork {
  std::string name;
  int64_t batch;  // of training, on two workers
};

const std::vector<KnownNetwork> kKnownNetworks = {
    {"mnist_cnn", 64}, {"cifar10_cnn", 64}, {"cifar_resnet8", 64}, {"cifar_resnet20", 64},
    {"resnet50", 16},  {"cosmoflow", 2},    {"mobilenet_v2", 16},  {"unet", 4}};

// The kernel without the name and the tile of an instruction set: "winograd", "direct:pack".
std::string family_of(const std::string& kernel) {
  const std::string family = kernel.substr(0, kernel.find(concat(":", isa_name())));
  // How fast Winograd is depends on its tiles, and these do not depend on the instruction set.
  return family == "winograd" ? "winograd-" + kernel.substr(kernel.rfind(' ') + 1) : family;
}

std::string lines_of(const CompilationReport& report) {
  std::string text;
  for (const OpReport& op : report.ops) {
    text += concat(to_string(op.part), " ", op.layer, " ", op.op, " ", family_of(op.kernel), " ",
                   op.bytes_read, " ", op.bytes_written,
                   op.tiles == 1 ? "" : concat(" in ", op.tiles, " tiles"), "\n");
  }
  return text;
}

// Two workers; with a single sample they divide every call.
std::string lines_of(const TestNetwork& test, RunMode mode, int64_t batch, ProgramOptions options) {
  const train::SliceDivision division = train::divide(batch, 2);
  options.slices = division.slices;
  options.division = division.division;
  const auto program = compile(graph_of(test, mode, division.slice_batch), std::move(options));
  std::vector<std::string> layers;
  for (const LayerInfo& layer : test.network.layers()) layers.push_back(layer.name);
  const char* how = division.division == Division::parts ? "parts" : "slices";
  return concat("# ", to_string(mode), " ", test.name, ": ", division.slices, " ", how, " of ",
                division.slice_batch, "\n", lines_of(compilation_report(*program, layers)));
}

std::string programs_of(const KnownNetwork& known, const ProgramOptions& options = {}) {
  const TestNetwork test = test_network(known.name, zoo_entry(known.name).input_shape);
  return "# part, layer, op, kernel, bytes read and written\n" +
         lines_of(test, RunMode::train, known.batch, options) +
         lines_of(test, RunMode::predict, 1, options);
}

// The lines that differ, the first ones only.
std::string difference(const std::string& expected, const std::string& found) {
  std::istringstream before(expected), now(found);
  std::string text, a, b;
  int shown = 0;
  for (int number = 1; shown < 5; ++number) {
    const bool more_before = static_cast<bool>(std::getline(before, a));
    const bool more_now = static_cast<bool>(std::getline(now, b));
    if (!more_before && !more_now) break;
    if (more_before && more_now && a == b) continue;
    text += concat("line ", number, ": expected '", more_before ? a : "", "', got '",
                   more_now ? b : "", "'\n");
    ++shown;
  }
  return text;
}

std::string text_of_file(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// NAME.txt is for AVX-512; NAME.avx2.txt exists where other vectors need other packed filters.
std::string golden_path(const std::string& network, const std::string& isa) {
  const std::string start = concat(PANDO_SOURCE_DIR, "/tests/golden/programs/", network);
  const std::string own = concat(start, ".", isa, ".txt");
  return std::filesystem::exists(own) ? own : start + ".txt";
}

void write_golden(const KnownNetwork& known) {
  const std::string start = concat(PANDO_SOURCE_DIR, "/tests/golden/programs/", known.name);
  const auto programs = [&](const char* isa) {
    const test::SetIsa set(isa);
    return programs_of(known);
  };
  const std::string wide = programs("avx512"), narrow = programs("avx2");
  std::ofstream(start + ".txt") << wide;
  std::filesystem::remove(start + ".avx2.txt");
  if (narrow != wide) std::ofstream(start + ".avx2.txt") << narrow;
}

class ExpectedPrograms : public testing::TestWithParam<KnownNetwork> {};

TEST_P(ExpectedPrograms, HaveTheSameKernelsAndBytes) {
  if (std::getenv("PANDO_WRITE_GOLDEN") != nullptr) write_golden(GetParam());
  for (const std::string isa : test::isas_of_this_cpu()) {
    if (isa == "sse2") continue;  // for tests of kernels only
    const test::SetIsa set(isa.c_str());
    const std::string path = golden_path(GetParam().name, isa);
    const std::string expected = text_of_file(path), found = programs_of(GetParam());
    EXPECT_TRUE(expected == found)
        << path << " on " << isa << ":\n"
        << difference(expected, found) << "if this is meant, PANDO_WRITE_GOLDEN=1 writes it anew";
  }
}

INSTANTIATE_TEST_SUITE_P(Networks, ExpectedPrograms, testing::ValuesIn(kKnownNetworks),
                         [](const auto& which) { return which.param.name; });

TEST(ProgramDifference, ShowsWhatIsLost) {
  const test::SetIsa set(test::isas_of_this_cpu().back());
  const KnownNetwork known{"cifar_resnet8", 64};
  const std::string usual = programs_of(known);
  EXPECT_EQ(difference(usual, programs_of(known)), "");
  const std::string slower =
      programs_of(known, {.accept = [](const ir::Node&, const kernels::Candidate& candidate) {
                    return !candidate.name.starts_with("winograd");
                  }});
  EXPECT_SAYS(difference(usual, slower), "conv2_block1_layer1_conv conv winograd",
              "conv2_block1_layer1_conv conv direct");
  const std::string unfused = programs_of(known, {.disabled_passes = {"fold-batch-norm"}});
  EXPECT_SAYS(difference(usual, unfused), "conv1_bn batch_norm");
}

}  // namespace
}  // namespace pando::compiler
