// Loaded before the C library (LD_PRELOAD) by tests/faults/run.py: breaks one of the calls by which
// a process changes files. DOPPLER_FAULT says how: "before" and "after" kill the process on either
// side of the call, "full" makes this and all later writes fail as on a full disk, which half of
// this one still fits on. DOPPLER_FAULT_AT says which call, counted from 1 over all threads.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

enum class Fault { kNone, kBefore, kAfter, kFull };

Fault wanted_fault() {
  const char* text = std::getenv("DOPPLER_FAULT");
  if (text == nullptr) return Fault::kNone;
  if (std::strcmp(text, "before") == 0) return Fault::kBefore;
  if (std::strcmp(text, "after") == 0) return Fault::kAfter;
  return Fault::kFull;
}

long wanted_call() {
  const char* text = std::getenv("DOPPLER_FAULT_AT");
  return text == nullptr ? 0 : std::atol(text);
}

std::atomic<long> calls{0};

template <class Function>
Function* real(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

[[noreturn]] void die() {
  ::kill(::getpid(), SIGKILL);
  for (;;) ::pause();
}

// Calls `call`, or breaks it if it is its turn. `on_full_disk` is what it does on a disk that
// becomes full (true) or is so already.
template <class Call, class OnFullDisk>
auto broken(const Call& call, const OnFullDisk& on_full_disk) -> decltype(call()) {
  const Fault fault = wanted_fault();
  const long number = ++calls, at = wanted_call();
  if (fault == Fault::kFull && number >= at) return on_full_disk(number == at);
  if (fault == Fault::kBefore && number == at) die();
  const auto result = call();
  const int reason = errno;
  if (fault == Fault::kAfter && number == at) die();
  errno = reason;
  return result;
}

int no_space() {
  errno = ENOSPC;
  return -1;
}

bool is_file(int descriptor) {
  struct stat info {};
  return ::fstat(descriptor, &info) == 0 && S_ISREG(info.st_mode);
}

}  // namespace

extern "C" {

ssize_t write(int descriptor, const void* data, size_t size) {
  static auto* const next = real<ssize_t(int, const void*, size_t)>("write");
  if (!is_file(descriptor)) return next(descriptor, data, size);
  return broken([&] { return next(descriptor, data, size); },
                [&](bool becomes) -> ssize_t {
                  return becomes && size > 1 ? next(descriptor, data, size / 2) : no_space();
                });
}

int rename(const char* from, const char* to) noexcept {
  static auto* const next = real<int(const char*, const char*)>("rename");
  const auto call = [&] { return next(from, to); };
  return broken(call, [&](bool) { return call(); });
}

int fsync(int descriptor) {
  static auto* const next = real<int(int)>("fsync");
  return broken([&] { return next(descriptor); }, [](bool) { return no_space(); });
}

int unlink(const char* path) noexcept {
  static auto* const next = real<int(const char*)>("unlink");
  const auto call = [&] { return next(path); };
  return broken(call, [&](bool) { return call(); });
}
}
