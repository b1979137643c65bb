#include "pando/compiler/pipeline.h"

#include <gtest/gtest.h>

#include "pando/base/error.h"
#include "tests/compiler/pass_testing.h"

namespace pando::compiler {
namespace {

constexpr std::string_view kGraph = R"(graph(x: f32[2,3] feed, k: f32[3,4] variable) {
    c = dense(x, k)
    y = relu(c)
    return result y=y })";

CompileState untyped_state(ProgramOptions options = {}) {
  return {
      .graph = ir::parse_graph(kGraph), .options = std::move(options), .kernels = {}, .memory = {}};
}

const PassRecord& record_of(const std::vector<PassRecord>& records, std::string_view name) {
  for (const PassRecord& record : records) {
    if (record.name == name) return record;
  }
  throw InternalError("no pass ", name);
}

std::string pipeline_error(const std::string& disabled) {
  CompileState state = untyped_state({.disabled_passes = {disabled}});
  try {
    default_pipeline().run(state);
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "no error";
}

TEST(Pipeline, NamesAreKebabCaseAndUnique) {
  std::set<std::string_view> names;
  const PassPipeline pipeline = default_pipeline();
  for (const auto& pass : pipeline.passes()) {
    EXPECT_TRUE(names.insert(pass->name()).second) << pass->name();
    EXPECT_EQ(pass->name().find_first_not_of("abcdefghijklmnopqrstuvwxyz-"), std::string::npos);
    EXPECT_FALSE(pass->purpose().empty());
  }
}

TEST(Pipeline, RecordsWhatChanged) {
  CompileState state = untyped_state();
  const auto records = default_pipeline().run(state);
  EXPECT_EQ(records.size(), default_pipeline().passes().size());
  EXPECT_TRUE(record_of(records, "infer-shapes").changed);
  EXPECT_TRUE(record_of(records, "fuse-post-ops").changed);
  EXPECT_FALSE(record_of(records, "fuse-conv-pool").changed);
  for (const PassRecord& record : records) EXPECT_FALSE(record.disabled) << record.name;
}

TEST(Pipeline, DisabledPassesDoNotRun) {
  CompileState state = untyped_state({.disabled_passes = {"fuse-post-ops"}});
  const auto records = default_pipeline().run(state);
  EXPECT_TRUE(record_of(records, "fuse-post-ops").disabled);
  EXPECT_FALSE(record_of(records, "fuse-post-ops").changed);
  EXPECT_NE(state.graph.find_value("c")->producer()->attributes().get_string("activation"), "relu");
}

TEST(Pipeline, UnknownNameSuggestsTheNearest) {
  const std::string error = pipeline_error("fuse-post-op");
  EXPECT_NE(error.find("fuse-post-op"), std::string::npos) << error;
  EXPECT_NE(error.find("'fuse-post-ops'"), std::string::npos) << error;
}

TEST(Pipeline, RequiredPassesCannotBeDisabled) {
  const std::string error = pipeline_error("infer-shapes");
  EXPECT_NE(error.find("pass 'infer-shapes'"), std::string::npos) << error;
  EXPECT_NE(error.find("fuse-post-ops"), std::string::npos) << error;
  EXPECT_NE(pipeline_error("select-kernels").find("pass 'select-kernels'"), std::string::npos);
}

TEST(Pipeline, DumpsTheGraphAfterEachChange) {
  std::vector<std::string> dumped;
  CompileState state = untyped_state({.dump = [&](std::string_view pass, const ir::Graph& graph) {
    dumped.emplace_back(pass);
    EXPECT_NO_THROW(ir::parse_graph(ir::to_text(graph))) << pass;
  }});
  const auto records = default_pipeline().run(state);
  std::vector<std::string> changed;
  for (const PassRecord& record : records) {
    if (record.changed) changed.push_back(record.name);
  }
  EXPECT_EQ(dumped, changed);
  ASSERT_GE(dumped.size(), 2u);
  EXPECT_EQ(dumped[1], "fuse-post-ops");
}

// Lets a node read a value that is defined after it.
class BreakOrder : public Pass {
 public:
  std::string_view name() const override { return "break-order"; }
  std::string_view purpose() const override { return "fails the verifier"; }
  bool run(CompileState& state) const override {
    state.graph.nodes()[0]->set_input(0, state.graph.nodes()[1]->output());
    return true;
  }
};

TEST(Pipeline, AFailureNamesThePass) {
  PassPipeline pipeline;
  pipeline.add<InferShapes>();
  pipeline.add<BreakOrder>();
  CompileState state = untyped_state();
  try {
    pipeline.run(state);
    FAIL();
  } catch (const InternalError& error) {
    EXPECT_NE(std::string(error.what()).find("after pass break-order: "), std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace pando::compiler
