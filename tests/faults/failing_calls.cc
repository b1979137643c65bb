// A library that is loaded into a program before its own (LD_PRELOAD). It counts the calls that
// change files below a folder, and lets one of them fail or kills the process there. Variables:
//   FAULT_ROOT  the folder, without symbolic links
//   FAULT_CALL  the number of the call, from 1; 0 or none: nothing fails
//   FAULT_KIND  a number of errno; or short: half of the bytes are written; or kill, kill_half,
//               kill_after: SIGKILL before, within or after the call
//   FAULT_LOG   a file that gets a line for each call: its function and its path
// SPDX-License-Identifier: MIT
#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

struct Plan {
  std::string root = variable("FAULT_ROOT");
  long call = std::atol(variable("FAULT_CALL").c_str());
  std::string kind = variable("FAULT_KIND");
  std::string log = variable("FAULT_LOG");
};

const Plan& plan() {
  static const Plan known;
  return known;
}

std::atomic<long> calls{0};

template <typename Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

std::string path_of(int descriptor) {
  char path[PATH_MAX] = {};
  const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
  const ssize_t size = readlink(link.c_str(), path, sizeof path - 1);
  return size < 0 ? "" : std::string(path, static_cast<size_t>(size));
}

std::string absolute(const char* path) {
  if (path == nullptr || path[0] == '/') return path == nullptr ? "" : path;
  char folder[PATH_MAX] = {};
  return getcwd(folder, sizeof folder) == nullptr ? path : std::string(folder) + "/" + path;
}

void write_line(const char* function, const std::string& path) {
  if (plan().log.empty()) return;
  const std::string line = std::string(function) + " " + path + "\n";
  const auto file = syscall(SYS_openat, AT_FDCWD, plan().log.c_str(),
                            O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  syscall(SYS_write, file, line.data(), line.size());
  syscall(SYS_close, file);
}

// A thread writes it at any moment, so that its calls would change the numbers of the others.
bool is_written_at_any_time(const std::string& path) { return path.ends_with("/load.csv"); }

// Whether the call is the one that is to fail. Calls outside of the folder do not count.
bool is_chosen(const char* function, const std::string& path) {
  const Plan& known = plan();
  if (is_written_at_any_time(path)) return false;
  if (known.root.empty() || path.compare(0, known.root.size(), known.root) != 0) return false;
  write_line(function, path);
  return ++calls == known.call;
}

void end_process() { syscall(SYS_kill, getpid(), SIGKILL); }

// Makes the call as planned. `half` makes a part of it.
template <typename Call, typename Half>
auto perform(const char* function, const std::string& path, const Call& call, const Half& half)
    -> decltype(call()) {
  if (!is_chosen(function, path)) return call();
  const std::string& kind = plan().kind;
  if (kind == "kill") end_process();
  if (kind == "short") return half();
  if (kind == "kill_half") {
    half();
    end_process();
  }
  if (kind == "kill_after") {
    call();
    end_process();
  }
  errno = std::atoi(kind.c_str());
  return decltype(call())(-1);
}

template <typename Call>
auto perform(const char* function, const std::string& path, const Call& call) -> decltype(call()) {
  return perform(function, path, call, call);
}

int open_file(const char* name, const char* path, int flags, mode_t mode) {
  const auto call = [&] { return next<int(const char*, int, ...)>(name)(path, flags, mode); };
  const bool writes = (flags & O_ACCMODE) != O_RDONLY;
  return writes ? perform("open", absolute(path), call) : call();
}

FILE* open_stream(const char* name, const char* path, const char* mode) {
  const auto call = [&] { return next<FILE*(const char*, const char*)>(name)(path, mode); };
  if (std::strpbrk(mode, "wa+") == nullptr) return call();
  const auto as_number = [&] { return reinterpret_cast<intptr_t>(call()); };
  const intptr_t made = perform("open", absolute(path), as_number);
  return made == -1 ? nullptr : reinterpret_cast<FILE*>(made);
}

mode_t mode_of(int flags, va_list arguments) {
  return (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0;
}

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return open_file("open", path, flags, mode);
}

int open64(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return open_file("open64", path, flags, mode);
}

FILE* fopen(const char* path, const char* mode) { return open_stream("fopen", path, mode); }
FILE* fopen64(const char* path, const char* mode) { return open_stream("fopen64", path, mode); }

ssize_t write(int file, const void* bytes, size_t size) {
  const auto part = [&](size_t length) {
    return next<ssize_t(int, const void*, size_t)>("write")(file, bytes, length);
  };
  return perform(
      "write", path_of(file), [&] { return part(size); }, [&] { return part((size + 1) / 2); });
}

ssize_t pwrite(int file, const void* bytes, size_t size, off_t offset) {
  const auto part = [&](size_t length) {
    return next<ssize_t(int, const void*, size_t, off_t)>("pwrite")(file, bytes, length, offset);
  };
  return perform(
      "write", path_of(file), [&] { return part(size); }, [&] { return part((size + 1) / 2); });
}

ssize_t pwrite64(int file, const void* bytes, size_t size, off64_t offset) {
  return pwrite(file, bytes, size, offset);
}

ssize_t writev(int file, const iovec* pieces, int count) {
  const auto part = [&](int length) {
    return next<ssize_t(int, const iovec*, int)>("writev")(file, pieces, length);
  };
  return perform(
      "write", path_of(file), [&] { return part(count); }, [&] { return part((count + 1) / 2); });
}

int fsync(int file) {
  return perform("fsync", path_of(file), [&] { return next<int(int)>("fsync")(file); });
}

int ftruncate(int file, off_t size) {
  return perform("truncate", path_of(file),
                 [&] { return next<int(int, off_t)>("ftruncate")(file, size); });
}

int ftruncate64(int file, off64_t size) { return ftruncate(file, size); }

int rename(const char* from, const char* to) {
  return perform("rename", absolute(to),
                 [&] { return next<int(const char*, const char*)>("rename")(from, to); });
}

int mkdir(const char* path, mode_t mode) {
  return perform("mkdir", absolute(path),
                 [&] { return next<int(const char*, mode_t)>("mkdir")(path, mode); });
}

int unlink(const char* path) {
  return perform("remove", absolute(path), [&] { return next<int(const char*)>("unlink")(path); });
}

int remove(const char* path) {
  return perform("remove", absolute(path), [&] { return next<int(const char*)>("remove")(path); });
}

}  // extern "C"
