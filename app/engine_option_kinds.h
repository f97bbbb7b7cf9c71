// Options of commands that run graphs on an engine. For the files of options only.
#pragma once

#include <map>
#include <string>

#include "app/option_kinds.h"
#include "doppler/exec/duration_model.h"
#include "doppler/exec/execute.h"

namespace doppler::app {

inline const std::map<std::string, exec::EngineClock> kClocks = {
    {"wall", exec::EngineClock::kWall}, {"virtual", exec::EngineClock::kVirtual}};

// What runs a graph; `settings` has a machine, a clock and a time scale.
template <class Settings>
CLI::Option* add_engine(CLI::App& app, Settings& settings) {
  CLI::Option* engine = app.add_option("--engine", settings.backend,
                                       "This machine's cores, or any devices by sleeping")
                            ->check(CLI::IsMember(exec::backend_names()))
                            ->type_name("threads|emulated");
  add_choice<exec::EngineClock>(
      app, "--clock", kClocks, [&settings](exec::EngineClock c) { settings.clock = c; },
      "Of the emulated engine: real time, or jumps from event to event (default wall)",
      "wall|virtual");
  add_number<double>(
      app, "--time-scale", [&settings](double x) { settings.time_scale = x; }, 1e-6, 1e9,
      "Emulated: stretch time (default: half of the nodes take at least 5 ms)", "X");
  return engine;
}

// How an emulated machine differs from the costs that the placer sees.
inline void add_deviation(CLI::App& app, exec::MachineSkew& deviation) {
  add_number<double>(
      app, "--jitter", [&deviation](double s) { deviation.jitter = s; }, 0.0, 10.0,
      "Emulated: multiply every duration by exp(S x a normal number) (default 0)", "S");
  add_assignments(app, "--slow-op", deviation.op_factors, 1e-6, "KIND=X",
                  "Emulated: kernels of a kind take X times as long as the costs say");
  add_assignments(app, "--slow-device", deviation.device_factors, 1e-6, "NAME=X",
                  "Emulated: everything on a device does");
  add_assignments(app, "--slow-link", deviation.link_factors, 1e-6, "FROM>TO=X",
                  "Emulated: transfers between two devices do");
  add_number<double>(
      app, "--contention", [&deviation](double x) { deviation.contention = x; }, 0.0, 1e3,
      "Emulated: every other transfer under way makes one take X times its time longer (default 0)",
      "X");
}

}  // namespace doppler::app
