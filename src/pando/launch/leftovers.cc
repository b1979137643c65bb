// SPDX-License-Identifier: MIT
#include "pando/launch/leftovers.h"

#include <filesystem>
#include <vector>

#include <fmt/core.h>
#include <unistd.h>

#include "pando/base/strings.h"

namespace pando::launch {
namespace {

namespace fs = std::filesystem;

// Such as /tmp/ompi.host.1000/pid.123. The folder around it belongs to all jobs of the user.
void remove_job_folder(const fs::path& folder) {
  const bool is_expected = folder.is_absolute() && folder.filename().string().starts_with("pid.") &&
                           folder.parent_path().filename().string().starts_with("ompi.");
  if (!is_expected) return;
  std::error_code ignored;
  fs::remove_all(folder, ignored);
  fs::remove(folder.parent_path(), ignored);  // fails while it has other jobs
}

// Such as vader_segment.host.1000.121a0001.0: host, user, job in hexadecimal, instance.
void remove_segments(int64_t job, const fs::path& shared_memory) {
  const std::string part = fmt::format(".{}.{:x}.", geteuid(), job);
  std::error_code ignored;
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(shared_memory, ignored)) {
    const std::string name = entry.path().filename().string();
    const bool is_segment = name.starts_with("vader_segment.") || name.starts_with("sm_segment.");
    if (is_segment && name.find(part) != std::string::npos) found.push_back(entry.path());
  }
  for (const fs::path& path : found) fs::remove(path, ignored);
}

}  // namespace

void remove_leftovers(
    const std::function<std::optional<std::string>(const std::string& name)>& environment,
    const std::string& shared_memory) {
  if (const auto folder = environment("OMPI_MCA_orte_jobfam_session_dir")) {
    remove_job_folder(*folder);
  }
  const auto text = environment("OMPI_MCA_ess_base_jobid");
  const auto job = text ? parse_int(*text) : std::nullopt;
  if (job && *job > 0) remove_segments(*job, shared_memory);
}

}  // namespace pando::launch
