#include "doppler/render/perfetto.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "doppler/base/json_reader.h"
#include "support/graphs.h"

namespace doppler::render {
namespace {

using cost::LinkMode;
using schedule::Timeline;

constexpr DeviceId kD0(0), kD1(1);

struct Event {
  std::string name, phase;
  int pid = 0, tid = 0;
  double ts = 0.0, dur = 0.0;
  std::map<std::string, std::string> args;  // numbers as text
};

std::vector<Event> events_of(const std::string& trace) {
  JsonReader reader("trace", trace);
  std::vector<Event> events;
  reader.begin_object();
  while (const auto key = reader.next_key()) {
    if (*key != "traceEvents") {
      reader.skip_value();
      continue;
    }
    reader.begin_array();
    while (reader.next_element()) {
      Event event;
      reader.begin_object();
      while (const auto field = reader.next_key()) {
        const std::string name(*field);
        if (name == "name") {
          event.name = reader.string();
        } else if (name == "ph") {
          event.phase = reader.string();
        } else if (name == "pid") {
          event.pid = static_cast<int>(reader.number());
        } else if (name == "tid") {
          event.tid = static_cast<int>(reader.number());
        } else if (name == "ts") {
          event.ts = reader.number();
        } else if (name == "dur") {
          event.dur = reader.number();
        } else if (name == "args") {
          reader.begin_object();
          while (const auto argument = reader.next_key()) {
            const std::string argument_name(*argument);
            event.args[argument_name] = reader.peek() == JsonReader::Kind::kString
                                            ? reader.string()
                                            : std::to_string(reader.number());
          }
        } else {
          reader.skip_value();
        }
      }
      events.push_back(std::move(event));
    }
  }
  reader.finish();
  return events;
}

// "process/thread" of every thread that has a name.
std::map<std::pair<int, int>, std::string> threads_of(const std::vector<Event>& events) {
  std::map<std::pair<int, int>, std::string> threads;
  for (const Event& event : events) {
    if (event.name == "thread_name") threads[{event.pid, event.tid}] = event.args.at("name");
  }
  return threads;
}

// On one thread slices may touch but not overlap: viewers would nest them.
void expect_disjoint(const std::vector<Event>& events) {
  std::map<std::pair<int, int>, std::vector<std::pair<double, double>>> slices;
  for (const Event& event : events) {
    if (event.phase == "X") slices[{event.pid, event.tid}].emplace_back(event.ts, event.dur);
  }
  for (auto& [thread, list] : slices) {
    std::sort(list.begin(), list.end());
    for (std::size_t i = 1; i < list.size(); ++i) {
      EXPECT_LE(list[i - 1].first + list[i - 1].second, list[i].first + 1e-9);
    }
  }
}

const Event& slice(const std::vector<Event>& events, const std::string& name, int pid) {
  for (const Event& event : events) {
    if (event.phase == "X" && event.name == name && event.pid == pid) return event;
  }
  throw std::runtime_error("no slice " + name);
}

// a on d0 feeds b and c on d1, transfer 2.
graph::Graph fan_out() {
  return test::simple_graph({{"a", 1}, {"b", 1}, {"c", 1}}, {{"a", "b"}, {"a", "c"}}, 2);
}

TEST(Perfetto, DevicesChannelsAndMemory) {
  const auto problem = test::uniform_problem(fan_out(), 2, LinkMode::kChannel);
  const Timeline timeline{.makespan = 5,
                          .device = {kD0, kD1, kD1},
                          .priority = {3.5, 2, 1},
                          .nodes = {{0, 1}, {3, 4}, {4, 5}},
                          .transfers = {{TensorId(0), NodeId(), kD0, kD1, 1, 3}}};
  const std::vector<std::vector<schedule::MemorySample>> memory = {{{0, 10}, {3, 0}}, {{1, 10}}};
  const auto events = events_of(trace_json(*problem, timeline, memory));
  const auto threads = threads_of(events);
  expect_disjoint(events);

  const Event& a = slice(events, "a", 1);
  EXPECT_EQ(threads.at({a.pid, a.tid}), "d0 (uniform)");
  EXPECT_EQ(a.args.at("op"), "op");
  EXPECT_EQ(a.args.at("priority"), std::to_string(3.5));
  const Event& b = slice(events, "b", 1);
  EXPECT_EQ(threads.at({b.pid, b.tid}), "d1 (uniform)");
  EXPECT_EQ(b.ts, 3e6);  // seconds become microseconds
  EXPECT_EQ(b.dur, 1e6);
  const Event& moved = slice(events, "a", 2);
  EXPECT_EQ(threads.at({moved.pid, moved.tid}), "d0->d1");
  EXPECT_EQ(moved.ts, 1e6);
  EXPECT_EQ(moved.dur, 2e6);
  EXPECT_EQ(moved.args.at("to"), "d1");
  EXPECT_EQ(threads.size(), 3u);  // channels that carried nothing are left out

  std::vector<std::pair<std::string, double>> counters;
  for (const Event& event : events) {
    if (event.phase == "C") counters.emplace_back(event.name, event.ts);
  }
  EXPECT_EQ(counters, (std::vector<std::pair<std::string, double>>{
                          {"d0 memory", 0}, {"d0 memory", 3e6}, {"d1 memory", 1e6}}));
}

TEST(Perfetto, FreeTransfersThatOverlapGetLanesOfTheirOwn) {
  const auto problem =
      test::uniform_problem(test::simple_graph({{"a", 1}, {"b", 1}, {"c", 1}, {"e", 1}},
                                               {{"a", "b"}, {"a", "c"}, {"a", "e"}}, 2),
                            2, LinkMode::kFree);
  // The first two overlap; the third begins when the first ends.
  const Timeline timeline{.makespan = 8,
                          .device = {kD0, kD1, kD1, kD1},
                          .priority = {4, 3, 2, 1},
                          .nodes = {{0, 1}, {3, 4}, {4, 5}, {7, 8}},
                          .transfers = {{TensorId(0), NodeId(1), kD0, kD1, 1, 3},
                                        {TensorId(0), NodeId(2), kD0, kD1, 1, 4},
                                        {TensorId(0), NodeId(3), kD0, kD1, 3, 5}}};
  const auto events = events_of(trace_json(*problem, timeline, {}));
  expect_disjoint(events);
  std::set<std::string> names;
  for (const auto& [thread, name] : threads_of(events)) {
    if (thread.first == 2) names.insert(name);
  }
  EXPECT_EQ(names, (std::set<std::string>{"transfers to d1 #1", "transfers to d1 #2"}));
  std::map<std::string, int> lane;
  for (const Event& event : events) {
    if (event.phase == "X" && event.pid == 2) lane[event.args.at("consumer")] = event.tid;
  }
  EXPECT_NE(lane.at("b"), lane.at("c"));
  EXPECT_EQ(lane.at("b"), lane.at("e"));
}

TEST(Perfetto, OtherUnitsOfTime) {
  for (const auto& [unit, microseconds] :
       std::map<std::string, double>{{"ms", 1e3}, {"us", 1.0}, {"ns", 1e-3}, {"1e10 flop", 1e3}}) {
    graph::GraphBuilder builder;
    builder.set_time_unit(unit);
    builder.add_node({.name = "a", .time = 7});
    const auto problem = test::uniform_problem(std::move(builder).build(), 1, LinkMode::kFree);
    const Timeline timeline{
        .makespan = 7, .device = {kD0}, .priority = {1}, .nodes = {{0, 7}}, .transfers = {}};
    const auto events = events_of(trace_json(*problem, timeline, {}));
    EXPECT_DOUBLE_EQ(slice(events, "a", 1).dur, 7 * microseconds) << unit;
  }
}

TEST(Perfetto, SlicesThatTouchStillTouchAfterRounding) {
  // Thirds of a nanosecond: 100 nodes back to back on one device.
  std::vector<test::TestNode> nodes;
  Timeline timeline;
  double now = 0.0;
  for (int i = 0; i < 100; ++i) {
    nodes.push_back({fmt::format("n{}", i), 1e-9 / 3 * (i % 5)});
    timeline.device.push_back(kD0);
    timeline.priority.push_back(0);
    timeline.nodes.push_back({now, now + nodes.back().time});
    now = timeline.nodes.back().end;
  }
  timeline.makespan = now;
  const auto problem = test::uniform_problem(test::simple_graph(nodes, {}, 0), 1, LinkMode::kFree);
  expect_disjoint(events_of(trace_json(*problem, timeline, {})));
}

}  // namespace
}  // namespace doppler::render
