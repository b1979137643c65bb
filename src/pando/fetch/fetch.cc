// SPDX-License-Identifier: MIT
#include "pando/fetch/fetch.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "pando/base/folder_lock.h"
#include "pando/base/new_file.h"
#include "pando/base/strings.h"
#include "pando/fetch/digest.h"
#include "pando/fetch/extract.h"
#include "pando/fetch/folders.h"
#include "pando/fetch/progress_line.h"
#include "pando/fetch/transfer.h"

namespace pando::fetch {

namespace {

namespace fs = std::filesystem;

constexpr const char* kSums = "SHA256SUMS";  // beside unpacked files; sha256sum -c reads it
constexpr const char* kUnpacking = ".unpacking-";

// A temporary folder, which is removed at the end unless it was renamed.
class WorkFolder {
 public:
  explicit WorkFolder(const fs::path& parent) {
    std::string name = (parent / kUnpacking).string() + "XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) {
      throw IoError("cannot make a folder in '", parent.string(),
                    "': ", std::generic_category().message(errno));
    }
    path_ = name;
  }
  ~WorkFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

class Fetch {
 public:
  Fetch(const RemoteDataset& entry, const FetchOptions& options)
      : entry_(entry),
        options_(options),
        folder_(dataset_folder(entry, options.folder)),
        progress_({.out = options.out, .is_terminal = options.is_terminal}) {}

  std::string run() {
    if (!options_.mirror.empty() && !is_address(options_.mirror)) {
      throw InvalidArgument("mirror: expected http://..., https://... or file:///..., got '",
                            options_.mirror, "'");
    }
    make_folder();
    const FolderLock lock({.folder = folder_.string(),
                           .remedy = other_folder_advice(options_.folder),
                           .when_busy = [this] { tell_waiting(); }});
    remove_leftovers();
    if (!options_.force && is_right()) {
      progress_.note(concat(entry_.name, " is in ", result()));
      return result();
    }
    check_space();
    for (const RemoteFile& file : entry_.files) {
      file.contents.empty() ? get_plain(file) : get_archive(file);
    }
    progress_.note(concat(entry_.name, " is now in ", result()));
    return result();
  }

 private:
  std::string result() const {
    return (entry_.subfolder.empty() ? folder_ : folder_ / entry_.subfolder).string();
  }

  void make_folder() const {
    std::error_code error;
    fs::create_directories(folder_, error);
    if (error) {
      throw IoError("cannot make the folder '", folder_.string(), "': ", error.message(), "; ",
                    other_folder_advice(options_.folder));
    }
  }

  void tell_waiting() {
    if (options_.stop != nullptr && *options_.stop) {
      throw FetchStopped(entry_.name, ": stopped while waiting for another fetch of it");
    }
    if (!std::exchange(told_, true)) {
      progress_.note(concat("another fetch of ", entry_.name, " is running; waiting for it"));
    }
  }

  // Removes what a killed process left: this process holds the lock, so nobody else works here.
  void remove_leftovers() const {
    std::vector<fs::path> old;
    for (const fs::directory_entry& item : fs::directory_iterator(folder_)) {
      if (item.path().filename().string().starts_with(kUnpacking)) old.push_back(item.path());
    }
    std::error_code ignored;
    for (const fs::path& path : old) fs::remove_all(path, ignored);
  }

  bool is_right() {
    if (!find_fetched(entry_, options_.folder)) return false;
    for (const RemoteFile& file : entry_.files) {
      const std::string fault = file.contents.empty()
                                    ? find_fault(file, (folder_ / file.name).string())
                                    : find_unpacked_fault();
      if (fault.empty()) continue;
      progress_.note(concat(file.name, ": ", fault, "; fetching it again"));
      return false;
    }
    return true;
  }

  // Compares the files with the checksums that were recorded when they were unpacked. Files that
  // users unpacked themselves have no checksums; only their sizes are checked, before this call.
  std::string find_unpacked_fault() const {
    std::ifstream sums(fs::path(result()) / kSums);
    std::string sha256;
    std::string name;
    while (sums >> sha256 >> name) {
      const fs::path path = fs::path(result()) / name;
      std::error_code error;
      if (!fs::is_regular_file(path, error)) return concat(name, " is missing");
      const std::string found = digest_of_file(path.string(), DigestKind::sha256);
      if (found != sha256) {
        return concat("the sha256 of ", name, " is ", found, ", expected ", sha256);
      }
    }
    return "";
  }

  // Checks the space before hours of download, not after.
  void check_space() const {
    int64_t needed = 0;
    for (const RemoteFile& file : entry_.files) {
      needed += file.bytes;
      for (const ArchivedFile& inner : file.contents) needed += inner.bytes;
      for (const char* ending : {"", ".part"}) {
        std::error_code error;
        const auto here = fs::file_size(folder_ / (file.name + ending), error);
        if (!error && !options_.force) needed -= std::min(file.bytes, static_cast<int64_t>(here));
      }
    }
    std::error_code error;
    const fs::space_info space = fs::space(folder_, error);
    if (error || needed <= 0 || space.available >= static_cast<uintmax_t>(needed)) return;
    throw IoError(entry_.name, ": the disk of '", folder_.string(), "' has ",
                  human_bytes(static_cast<double>(space.available)), " free, expected at least ",
                  human_bytes(static_cast<double>(needed)), "; free some space or ",
                  other_folder_advice(options_.folder));
  }

  void get_plain(const RemoteFile& file) {
    const std::string path = (folder_ / file.name).string();
    if (options_.force || !find_fault(file, path).empty()) get(file);
  }

  void get_archive(const RemoteFile& file) {
    const fs::path path = folder_ / file.name;
    const bool was_there = !options_.force && find_fault(file, path.string()).empty();
    if (!was_there) get(file);
    progress_.note(concat("unpacking ", file.name));
    unpack(file, path);
    if (!was_there) fs::remove(path);  // an archive that was put there by hand stays
  }

  void get(RemoteFile file) {
    if (!options_.mirror.empty()) {
      const bool ends = options_.mirror.ends_with('/');
      file.addresses = {concat(options_.mirror, ends ? "" : "/", file.name)};
    }
    std::error_code ignored;
    if (options_.force) fs::remove((folder_ / file.name).string() + ".part", ignored);
    try {
      download(file, folder_.string(),
               {.retry = options_.retry, .stop = options_.stop, .progress = &progress_});
    } catch (const NotFetched& error) {
      throw NotFetched(entry_.name, ": ", error.what(), ". ", without_network());
    }
  }

  std::string without_network() const {
    std::vector<std::string> missing;
    for (const RemoteFile& file : entry_.files) {
      const std::string path = (folder_ / file.name).string();
      const std::string fault = find_fault(file, path);
      if (fault.empty()) continue;
      std::error_code error;
      missing.push_back(fs::exists(path, error)
                            ? concat(file.name, " (the file there: ", fault, ")")
                            : file.name);
    }
    return concat("Without a network: get ", join(missing, ", "), " elsewhere (see also ",
                  entry_.homepage, "), put ", missing.size() == 1 ? "it" : "them", " into ",
                  folder_.string(),
                  " and fetch again, or train with --dataset-path and the folder ",
                  "of the data set; to use a mirror of your own: pando data fetch ", entry_.name,
                  " --mirror ADDRESS");
  }

  // Unpacks under another name first, so that readers find all files or none.
  void unpack(const RemoteFile& file, const fs::path& archive) {
    const WorkFolder work(folder_);
    const std::vector<ExtractedFile> files =
        extract(archive.string(), file.contents, work.path().string());
    const fs::path made = work.path() / entry_.subfolder;
    std::string sums;
    for (const ExtractedFile& one : files) {
      sums +=
          concat(one.sha256, "  ",
                 fs::path(one.path).lexically_relative(entry_.subfolder).generic_string(), "\n");
    }
    NewFile out((made / kSums).string());
    out.write(std::as_bytes(std::span(sums)));
    out.commit();
    replace_folder(made.string(), result(), (work.path() / "old").string());
  }

  const RemoteDataset& entry_;
  const FetchOptions& options_;
  fs::path folder_;
  ProgressLine progress_;
  bool told_ = false;  // whether it has said that another fetch is running
};

}  // namespace

std::string fetch_dataset(const RemoteDataset& entry, const FetchOptions& options) {
  return Fetch(entry, options).run();
}

}  // namespace pando::fetch
