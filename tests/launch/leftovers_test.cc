#include "pando/launch/leftovers.h"

#include <filesystem>
#include <map>

#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/support/temp_folder.h"

namespace pando::launch {
namespace {

using testing_support::TempFolder;

void remove_with(const std::map<std::string, std::string>& variables, const TempFolder& folder) {
  remove_leftovers(
      [&](const std::string& name) -> std::optional<std::string> {
        const auto found = variables.find(name);
        return found == variables.end() ? std::nullopt : std::optional(found->second);
      },
      folder.path("shm"));
}

TEST(Leftovers, OfThisJobAreRemoved) {
  const TempFolder folder;
  const std::string user = std::to_string(geteuid());
  const std::filesystem::path shared = folder.path("shm");
  std::filesystem::create_directories(shared);
  const auto segment = [&](const std::string& name) { return shared / name; };
  const std::vector<std::filesystem::path> own = {
      segment("vader_segment.a." + user + ".121a0001.0"),
      segment("sm_segment.a." + user + ".121a0001.12")};
  const std::vector<std::filesystem::path> others = {
      segment("vader_segment.a." + user + ".121b0001.0"),
      segment("vader_segment.a.x" + user + ".121a0001.0"),
      segment("other." + user + ".121a0001.0")};
  for (const auto& path : own) folder.write_text("shm/" + path.filename().string(), "x");
  for (const auto& path : others) folder.write_text("shm/" + path.filename().string(), "x");
  const std::string jobs = folder.path("ompi.a." + user);
  std::filesystem::create_directories(jobs + "/pid.12/0/1");
  std::filesystem::create_directories(jobs + "/pid.13");
  remove_with({{"OMPI_MCA_ess_base_jobid", "303693825"},  // 0x121a0001
               {"OMPI_MCA_orte_jobfam_session_dir", jobs + "/pid.12"}},
              folder);
  for (const auto& path : own) EXPECT_FALSE(std::filesystem::exists(path)) << path;
  for (const auto& path : others) EXPECT_TRUE(std::filesystem::exists(path)) << path;
  EXPECT_FALSE(std::filesystem::exists(jobs + "/pid.12"));
  EXPECT_TRUE(std::filesystem::exists(jobs + "/pid.13"));
  remove_with({{"OMPI_MCA_orte_jobfam_session_dir", jobs + "/pid.13"}}, folder);
  EXPECT_FALSE(std::filesystem::exists(jobs));
}

TEST(Leftovers, OnlyAFolderOfAJobIsRemoved) {
  const TempFolder folder;
  const std::string strange = folder.path("home/pid.12");
  std::filesystem::create_directories(strange);
  remove_with({{"OMPI_MCA_orte_jobfam_session_dir", strange}}, folder);
  remove_with({{"OMPI_MCA_orte_jobfam_session_dir", ""}, {"OMPI_MCA_ess_base_jobid", "x"}}, folder);
  remove_with({}, folder);
  EXPECT_TRUE(std::filesystem::exists(strange));
}

}  // namespace
}  // namespace pando::launch
