#include "doppler/device/spec.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <unistd.h>
#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "doppler/base/error.h"
#include "doppler/base/file.h"
#include "doppler/base/names.h"
#include "doppler/base/text.h"
#include "doppler/device/presets.h"

namespace doppler::device {

namespace {

constexpr const char* kExamples[] = {
    "4xP100",           "4xV100",    "8xV100",   "16xV100",   "8xA100",      "4xA100-40GB",
    "8xH100",           "4xT4",      "8xT4",     "4xA10",     "4xL4",        "4xA40",
    "4xRTX3090-NVLink", "4xRTX4090", "8xB200",   "8xMI300X",  "2n4xA100",    "2n4xA100@100Gb",
    "8n8xA100",         "2n8xH100",  "8xMI250X", "16xTPUv5e", "2xA100+2xT4", "2xRTX4090+1xCPU",
    "uniform:4",        "cpu:4"};
constexpr std::string_view kBridgedSuffix = "-NVLink";

bool same_word(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return to_lower(x) == to_lower(y); });
}

// Removes the number that `text` starts with and returns it, or nothing if there is none. A number
// too large to hold becomes the largest one, which the check of the device count then refuses.
std::optional<std::uint64_t> take_number(std::string_view& text) {
  std::uint64_t number = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), number);
  if (result.ec == std::errc::invalid_argument) return std::nullopt;
  if (result.ec == std::errc::result_out_of_range)
    number = std::numeric_limits<std::uint64_t>::max();
  text.remove_prefix(static_cast<std::size_t>(result.ptr - text.data()));
  return number;
}

bool take_letter(std::string_view& text, char letter) {
  if (text.empty() || to_lower(text.front()) != letter) return false;
  text.remove_prefix(1);
  return true;
}

// A part of the form [Nn]MxKIND, whether or not the kind is known.
struct WrittenPart {
  PresetPart part;
  std::string_view counts;  // "2n4x"
  std::string_view kind;    // "A100-40GB"
};

std::optional<WrittenPart> split_part(std::string_view text) {
  WrittenPart written;
  std::string_view rest = text;
  auto number = take_number(rest);
  if (!number) return std::nullopt;
  if (take_letter(rest, 'n')) {
    written.part.networked = true;
    written.part.nodes = *number;
    number = take_number(rest);
    if (!number) return std::nullopt;
  }
  written.part.gpus = *number;
  if (!take_letter(rest, 'x') || rest.empty()) return std::nullopt;
  written.counts = text.substr(0, text.size() - rest.size());
  written.kind = rest;
  return written;
}

// A name with which a kind may be written.
struct KindName {
  std::string name;
  const CatalogueEntry* model;
  bool bridged;
};

// Returns them all: "A100", "A100-80GB", "A100-40GB", "RTX3090-NVLink", ….
std::vector<KindName> kind_names() {
  std::vector<KindName> names;
  std::string_view previous;
  for (const CatalogueEntry& model : catalogue()) {
    const bool bridged = model.bridge_included;
    const std::string name(model.name);
    if (model.name != previous) names.push_back({name, &model, bridged});
    names.push_back({fmt::format("{}-{}GB", name, model.memory_gib), &model, bridged});
    // Those that have bridges anyway may be called so, too.
    if (model.bridge.exists() && model.bridged_cards == 2 && model.name != previous) {
      names.push_back({name + std::string(kBridgedSuffix), &model, true});
    }
    previous = model.name;
  }
  return names;
}

PresetPart resolve_part(const std::string& spec, const WrittenPart& written) {
  std::vector<std::string> valid;
  for (const auto& [name, model, bridged] : kind_names()) {
    if (same_word(name, written.kind)) {
      PresetPart part = written.part;
      part.model = model;
      part.bridged = bridged;
      return part;
    }
    valid.push_back(std::string(written.counts) + name);
  }
  throw ParameterError(fmt::format(
      "devices '{}': no kind of device is called '{}'; closest: {}", spec, written.kind,
      fmt::join(closest(std::string(written.counts) + std::string(written.kind), valid), ", ")));
}

// Returns the parts of a preset, or nothing if the text does not have the form of one.
std::optional<std::vector<WrittenPart>> split_preset(std::string_view spec) {
  std::vector<WrittenPart> parts;
  for (std::size_t begin = 0; begin <= spec.size();) {
    const std::size_t end = std::min(spec.find('+', begin), spec.size());
    const auto part = split_part(spec.substr(begin, end - begin));
    if (!part) return std::nullopt;
    parts.push_back(*part);
    begin = end + 1;
  }
  return parts;
}

// Reads what follows the '@' of a spec: [Kx]RATEGb.
GivenNetwork read_network(const std::string& spec, std::string_view text) {
  const std::string_view whole = text;
  const auto refuse = [&](const char* why) {
    return ParameterError(fmt::format(
        "devices '{}': '@{}': {}; write @100Gb for one card of 100 Gbit/s a node, @8x200Gb for "
        "eight of 200",
        spec, whole, why));
  };
  if (text.find('+') != std::string_view::npos) throw refuse("stands last, for all nodes");
  GivenNetwork network;
  if (const std::size_t at = text.find_first_of("xX"); at != std::string_view::npos) {
    const auto cards = take_number(text);
    if (!cards || !take_letter(text, 'x') || *cards < 1 || *cards > Topology::kMaxDevices) {
      throw refuse("not a number of network cards");
    }
    network.cards = static_cast<std::uint32_t>(*cards);
  }
  double gigabits = 0.0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), gigabits);
  if (result.ec != std::errc{}) throw refuse("not a bandwidth");
  text.remove_prefix(static_cast<std::size_t>(result.ptr - text.data()));
  if (text == "GB" || same_word(text, "GB/s")) throw refuse("in bits, not bytes");
  if (!same_word(text, "Gb")) throw refuse("not in Gb");
  if (!(gigabits >= 1e-3 && gigabits <= 1e6)) throw refuse("not from 0.001 to 1000000");
  network.bandwidth = gigabits * 1e9 / 8.0;
  return network;
}

std::optional<std::uint64_t> count_after(std::string_view spec, std::string_view prefix) {
  if (spec.size() <= prefix.size() || !same_word(spec.substr(0, prefix.size()), prefix)) {
    return std::nullopt;
  }
  spec.remove_prefix(prefix.size());
  const auto count = take_number(spec);
  return spec.empty() ? count : std::nullopt;
}

// Returns "2 x gpu, 1 x host", as the description for files that have none.
std::string describe_kinds(const TopologySpec& spec) {
  std::string text;
  for (std::uint32_t k = 0; k < spec.kinds.size(); ++k) {
    const auto devices = std::count_if(spec.devices.begin(), spec.devices.end(),
                                       [&](const Device& device) { return device.kind == k; });
    if (devices == 0) continue;
    text += fmt::format("{}{} x {}", text.empty() ? "" : ", ", devices, spec.kinds[k].name);
  }
  return text;
}

[[noreturn]] void refuse(const std::string& spec) {
  std::vector<std::string> examples(std::begin(kExamples), std::end(kExamples));
  throw ParameterError(
      fmt::format("devices '{}': neither a preset nor a file that exists; closest: {}", spec,
                  fmt::join(closest(spec, std::move(examples)), ", ")));
}

}  // namespace

std::optional<std::uint64_t> cpu_count(const std::string& spec) {
  return count_after(spec, "cpu:");
}

Topology topology_from_spec(const std::string& spec) {
  if (const auto count = count_after(spec, "uniform:"))
    return Topology(uniform_topology(spec, *count));
  if (const auto count = cpu_count(spec)) {
    const auto measured = read_probe_file();
    return Topology(measured ? measured_cpu_topology(spec, *count, *measured)
                             : cpu_topology(spec, *count));
  }
  // Text in the form of a preset means the preset even if there is a file of that name, which can
  // be written as ./NAME.
  const std::size_t at = std::min(spec.find('@'), spec.size());
  if (const auto written = split_preset(std::string_view(spec).substr(0, at))) {
    std::vector<PresetPart> parts;
    for (const WrittenPart& part : *written) parts.push_back(resolve_part(spec, part));
    std::optional<GivenNetwork> network;
    if (at < spec.size()) network = read_network(spec, std::string_view(spec).substr(at + 1));
    return Topology(preset_topology(spec, parts, network));
  }
  std::error_code ignored;
  if (!std::filesystem::exists(spec, ignored)) refuse(spec);
  TopologySpec from_file = read_topology_spec(spec, read_file(spec));
  // The topology is named as the user named it, not as the file does: the file may be an edited
  // copy.
  from_file.name = spec;
  if (from_file.description.empty()) from_file.description = describe_kinds(from_file);
  return make_topology(spec, std::move(from_file));
}

std::vector<PresetExample> preset_examples() {
  std::vector<PresetExample> examples;
  for (const char* spec : kExamples) {
    examples.push_back({spec, topology_from_spec(spec).description()});
  }
  return examples;
}

// --- the probe file ---

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

// Returns whether the topology has the form that the probe writes: one kind of CPU and one channel.
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
    return InputError(why + "; cpu:N uses this file", Hint::kProbeMachine);
  };
  TopologySpec spec;
  try {
    spec = read_topology_json(*path, read_file(*path)).spec();
  } catch (const InputError& error) {
    throw refuse(error.what());
  }
  if (!is_probe(spec)) throw refuse(*path + ": not a measurement of a machine");
  if (!spec.description.starts_with(this_machine())) {
    throw refuse(fmt::format("{}: measured on another machine ('{}'; this is '{}')", *path,
                             spec.description, this_machine()));
  }
  return spec;
}

}  // namespace doppler::device
