// The same graphs on our engine, on StarPU and on oneTBB's flow graph, in one run of one program:
//
//   runtime_bench [--csv FILE] [--part overhead|workloads] [--nodes N] [--runs N]
//
// bench/README.md says how to read it.
#include <fmt/format.h>
#include <oneapi/tbb/version.h>
#include <starpu.h>

#include <charconv>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "bench/rivals/overhead.h"
#include "bench/rivals/workload_runs.h"
#include "doppler/base/error.h"

namespace doppler::bench {
namespace {

constexpr int kLeastRuns = 2;  // noise is between odd and even ones

struct Request {
  std::optional<std::string> csv;
  std::string part;  // empty: all
  int nodes = 10'000;
  int runs = 20;
};

int number(std::string_view option, std::string_view text, int least) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < least) {
    throw ParameterError(fmt::format("{} is a number from {} on, not '{}'", option, least, text));
  }
  return value;
}

Request parse(int count, char** words) {
  Request request;
  for (int i = 1; i < count; i += 2) {
    const std::string option = words[i];
    if (i + 1 == count)
      throw ParameterError(option + ": a value is missing, or the option unknown");
    const std::string value = words[i + 1];
    if (option == "--csv") {
      request.csv = value;
    } else if (option == "--part" && (value == "overhead" || value == "workloads")) {
      request.part = value;
    } else if (option == "--nodes") {
      request.nodes = number(option, value, 1);
    } else if (option == "--runs") {
      request.runs = number(option, value, kLeastRuns);
    } else {
      throw ParameterError(fmt::format("unknown: {} {}", option, value));
    }
  }
  return request;
}

void run(const Request& request) {
  int version[3];
  starpu_get_version(&version[0], &version[1], &version[2]);
  fmt::print("StarPU {}.{}.{}, oneTBB {}, {} hardware threads\n\n", version[0], version[1],
             version[2], TBB_runtime_version(), std::thread::hardware_concurrency());
  Report report;
  if (request.csv) report.write_csv(*request.csv);  // fails now rather than after minutes
  if (request.part != "workloads") {
    measure_overhead(static_cast<std::size_t>(request.nodes), request.runs, report);
    fmt::print("\n");
  }
  if (request.part != "overhead") measure_workloads(request.runs, report);
  if (request.csv) report.write_csv(*request.csv);
}

}  // namespace
}  // namespace doppler::bench

int main(int argc, char** argv) {
  using namespace doppler;
  try {
    bench::run(bench::parse(argc, argv));
    return 0;
  } catch (const ParameterError& error) {
    fmt::print(
        stderr,
        "runtime_bench: error: {}\n"
        "usage: runtime_bench [--csv FILE] [--part overhead|workloads] [--nodes N] [--runs N]\n",
        error.what());
    return 2;
  } catch (const std::exception& error) {
    fmt::print(stderr, "runtime_bench: error: {}\n", error.what());
    return 1;
  }
}
