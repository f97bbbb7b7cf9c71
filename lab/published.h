// Published figures: the tables of arXiv 2505.23131 (ICLR 2026) and measurements of its code.
// Constants only.
#pragma once

#include <array>
#include <limits>
#include <string_view>

namespace doppler::lab {

// The published times of one graph, in milliseconds on a real engine, four P100 with 16 GB.
struct PublishedTimes {
  std::string_view graph;
  double critical_path, placeto, gdp, enumerative, doppler_sim, doppler_sys;
  // The enumerative assignment with barriers; only two were published.
  double synchronous = std::numeric_limits<double>::quiet_NaN();
  // One policy learned, the other as the critical-path method does it; doppler_sys is both.
  double sel_only = 0.0, plc_only = 0.0;
  // CPU seconds of one training episode, one thread, as the code was published.
  double episode_seconds = 0.0;
};

inline constexpr std::array<PublishedTimes, 4> kPublished{{
    {.graph = "chainmm",
     .critical_path = 230.4,
     .placeto = 137.1,
     .gdp = 198.0,
     .enumerative = 139.0,
     .doppler_sim = 122.5,
     .doppler_sys = 123.4,
     .synchronous = 185.3,
     .sel_only = 127.0,
     .plc_only = 121.6,
     .episode_seconds = 1.2},
    {.graph = "ffnn",
     .critical_path = 217.8,
     .placeto = 126.3,
     .gdp = 100.3,
     .enumerative = 50.2,
     .doppler_sim = 49.9,
     .doppler_sys = 47.4,
     .synchronous = 76.9,
     .sel_only = 59.1,
     .plc_only = 63.2,
     .episode_seconds = 2.65},
    {.graph = "llama-block",
     .critical_path = 230.9,
     .placeto = 411.5,
     .gdp = 336.5,
     .enumerative = 172.7,
     .doppler_sim = 191.5,
     .doppler_sys = 160.3,
     .sel_only = 175.6,
     .plc_only = 172.9,
     .episode_seconds = 2.7},
    {.graph = "llama-layer",
     .critical_path = 292.6,
     .placeto = 295.1,
     .gdp = 231.5,
     .enumerative = 174.8,
     .doppler_sim = 167.0,
     .doppler_sys = 150.6,
     .sel_only = 161.7,
     .plc_only = 159.5,
     .episode_seconds = 3.8},
}};

// Returns the published times of a graph, or null if there are none.
constexpr const PublishedTimes* published(std::string_view graph) {
  for (const PublishedTimes& times : kPublished) {
    if (times.graph == graph) return &times;
  }
  return nullptr;
}

// The share of the traffic that stayed on a device after a transfer from 4 x P100 to 8 x V100:
// without further training, and after 2000 episodes.
inline constexpr double kPublishedKeptZeroShot = 0.827, kPublishedKeptFewShot = 0.947;
// The effect of passing messages at every step: the factor on the work, and the share by which
// results are better at most.
inline constexpr double kPublishedStepwiseWork = 30.0, kPublishedStepwiseGain = 0.01;

}  // namespace doppler::lab
