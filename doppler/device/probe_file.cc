#include "doppler/device/probe_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "doppler/base/error.h"
#include "doppler/base/file.h"
#include "doppler/device/topology_json.h"

namespace doppler::device {
namespace {

std::optional<std::string> variable(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

std::string processor_model() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown processor";
}

// One kind of CPU and one channel, as the probe writes it.
bool is_probe(const TopologySpec& spec) {
  return spec.kinds.size() == 1 && spec.kinds[0].device_class == DeviceClass::kCpu &&
         spec.kinds[0].peak_flops && spec.kinds[0].memory_bandwidth && spec.channels.size() == 1 &&
         spec.channels[0].bandwidth && spec.routes.empty() && !spec.given_costs_by_default;
}

}  // namespace

std::string this_machine() {
  const long cores = sysconf(_SC_NPROCESSORS_ONLN);
  return fmt::format("{}, {} core{}", processor_model(), cores, cores == 1 ? "" : "s");
}

std::optional<std::string> probe_file_path() {
  if (auto path = variable("DOPPLER_PROBE")) return path;
  if (const auto cache = variable("XDG_CACHE_HOME")) return *cache + "/doppler/cpu.json";
  if (const auto home = variable("HOME")) return *home + "/.cache/doppler/cpu.json";
  return std::nullopt;
}

std::optional<TopologySpec> read_probe_file() {
  const std::optional<std::string> path = probe_file_path();
  std::error_code ignored;
  if (!path || !std::filesystem::exists(*path, ignored)) return std::nullopt;
  const auto refuse = [&](const std::string& why) {
    return InputError(fmt::format(
        "{}; cpu:N uses this file: measure again with dopp devices probe, or remove it", why));
  };
  TopologySpec spec;
  try {
    spec = read_topology_json(*path, read_file(*path)).spec();
  } catch (const InputError& error) {
    throw refuse(error.what());
  }
  if (!is_probe(spec)) throw refuse(*path + ": not written by dopp devices probe");
  if (!spec.description.starts_with(this_machine())) {
    throw refuse(fmt::format("{}: measured on another machine ('{}'; this is '{}')", *path,
                             spec.description, this_machine()));
  }
  return spec;
}

}  // namespace doppler::device
