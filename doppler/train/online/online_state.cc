// The state of an OnlineLearner as text (docs/formats/policy.md).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "doppler/base/error.h"
#include "doppler/base/hash.h"
#include "doppler/base/json_reader.h"
#include "doppler/base/json_writer.h"
#include "doppler/train/online/online_learner.h"
#include "doppler/train/session/checkpoint.h"

namespace doppler::train {
namespace {

constexpr std::string_view kOnlineStateFormat = "doppler.online";
constexpr std::uint64_t kOnlineStateVersion = 1;

void write_placement(JsonWriter& json, std::string_view key, const schedule::Placement& placement) {
  json.key(key)
      .begin_object(JsonLayout::kCompact)
      .field("device", packed(placement.device))
      .field("priority", packed(placement.priority))
      .end_object();
}

schedule::Placement read_placement(JsonReader& reader, const cost::Problem& problem) {
  schedule::Placement placement;
  read_json_object(reader, "a placement", [&](const std::string& key) {
    if (key == "device") return placement.device = read_packed<DeviceId>(reader), true;
    if (key == "priority") return placement.priority = read_packed<double>(reader), true;
    return false;
  });
  try {
    schedule::check_placement(problem, placement);
  } catch (const Error& error) {
    reader.fail(error.what());
  }
  return placement;
}

std::vector<double> finite_numbers(JsonReader& reader) {
  std::vector<double> values = read_packed<double>(reader);
  for (const double value : values) {
    if (!std::isfinite(value)) reader.fail("damaged numbers");
  }
  return values;
}

}  // namespace

std::string OnlineLearner::state_json() const {
  std::unique_lock lock(mutex_);
  JsonWriter json;
  json.begin_object().field("format", kOnlineStateFormat).field("version", kOnlineStateVersion);
  json.field("problem", hash_to_string(problem_->hash()));
  json.field("settings", hash_to_string(settings_.hash()));
  json.field("runs", runs_).field("explored", explored_).field("candidates", candidates_);
  json.field("proposals", proposals_).field("in_vain", in_vain_);
  json.field("ask_again_at", ask_again_at_);
  json.field("sums", packed(std::vector<double>{total_time_, paid_, predicted_}));
  json.field("noise", packed(noise_.state()));
  json.field("tried", packed(std::vector<std::uint64_t>(tried_.begin(), tried_.end())));
  json.field("unpaired",
             packed(unpaired_ ? std::vector<double>{*unpaired_} : std::vector<double>{}));
  write_placement(json, "start", start_);
  write_placement(json, "incumbent", *incumbent_);
  if (candidate_) {
    json.key("candidate").begin_object().field("source", candidate_->source);
    json.field("former", candidate_->former);
    json.field("cleared", candidate_->cleared).field("cleared_at", candidate_->cleared_at);
    json.field("race", packed(candidate_->race.log_ratios()));
    write_placement(json, "placement", *candidate_->placement);
    json.end_object();
  }
  json.key("promotions").begin_array();
  for (const Promotion& promotion : promotions_) {
    json.begin_object(JsonLayout::kCompact).field("run", promotion.run);
    json.field("source", promotion.source).field("confirmed", promotion.confirmed);
    json.field("measured",
               packed(std::vector<double>{promotion.measured.log_ratio, promotion.measured.error,
                                          promotion.moved_parameter_bytes}));
    json.end_object();
  }
  json.end_array();
  // What is large is packed while the service goes on.
  const std::shared_ptr<const cost::Calibration> calibration = lend_calibration();
  const std::vector<RaceResult> race_results = race_results_;
  lock.unlock();
  json.field("calibration", packed(calibration->state()));
  if (policy_) {
    PolicyProposer::State state = policy_->state();
    // The saved policy has learnt from all races: it is told now of those that it has not seen.
    PolicyProposer told(policy_->policy(), 0, 0);
    told.restore(std::move(state));
    for (const RaceResult& result : race_results) told.learn(*result.placement, result.measured);
    state = told.state();
    json.key("policy").begin_object().field("parameters", packed(state.parameters));
    json.field("means", packed(state.optimiser.mean));
    json.field("squares", packed(state.optimiser.square));
    json.field("optimiser_steps", state.optimiser.steps);
    // Loss weights keep the key that files have always had for them.
    json.field("stakes", packed(state.loss_weights)).key("lessons").begin_array();
    for (const schedule::Placement& raced : state.placements) {
      json.begin_object(JsonLayout::kCompact)
          .field("device", packed(raced.device))
          .field("priority", packed(raced.priority))
          .end_object();
    }
    json.end_array().end_object();
  }
  return json.checksum_field().end_object().take();
}

void OnlineLearner::restore(const std::string& file, std::string_view text) {
  const std::lock_guard lock(mutex_);
  JsonReader reader(file, text);
  JsonFormatKeys format(kOnlineStateFormat, kOnlineStateVersion);
  constexpr std::uint64_t kMost = std::uint64_t{1} << 53;
  std::uint64_t problem = 0, settings = 0;
  bool has_checksum = false;
  std::optional<schedule::Placement> start, incumbent;
  std::optional<Candidate> candidate;
  std::vector<Promotion> promotions;
  std::optional<PolicyProposer::State> policy;
  std::vector<double> sums, noise, calibration, unpaired;
  std::vector<std::uint64_t> tried;
  const auto read_candidate = [&] {
    candidate = Candidate();
    read_json_object(reader, "a candidate", [&](const std::string& key) {
      if (key == "source") return candidate->source = reader.string(), true;
      if (key == "former") return candidate->former = reader.boolean(), true;
      if (key == "cleared") return candidate->cleared = reader.boolean(), true;
      if (key == "cleared_at") {
        return candidate->cleared_at = reader.unsigned_integer(kMost), true;
      }
      if (key == "race") return candidate->race.restore(finite_numbers(reader)), true;
      if (key == "placement") {
        candidate->placement =
            std::make_shared<const schedule::Placement>(read_placement(reader, *problem_));
        return true;
      }
      return false;
    });
    if (!candidate->placement) reader.fail("a candidate has no placement");
  };
  const auto read_promotions = [&] {
    reader.begin_array();
    while (reader.next_element()) {
      Promotion& promotion = promotions.emplace_back();
      read_json_object(reader, "a promotion", [&](const std::string& key) {
        if (key == "run") return promotion.run = reader.unsigned_integer(kMost), true;
        if (key == "source") return promotion.source = reader.string(), true;
        if (key == "confirmed") return promotion.confirmed = reader.boolean(), true;
        if (key != "measured") return false;
        const std::vector<double> numbers = finite_numbers(reader);
        if (numbers.size() != 3) reader.fail("damaged numbers");
        promotion.measured = {numbers[0], numbers[1]};
        promotion.moved_parameter_bytes = numbers[2];
        return true;
      });
    }
  };
  const auto read_policy = [&] {
    policy.emplace();
    read_json_object(reader, "the policy", [&](const std::string& key) {
      if (key == "parameters") return policy->parameters = read_packed<float>(reader), true;
      if (key == "means") return policy->optimiser.mean = read_packed<float>(reader), true;
      if (key == "squares") return policy->optimiser.square = read_packed<float>(reader), true;
      if (key == "optimiser_steps") {
        return policy->optimiser.steps = reader.unsigned_integer(kMost), true;
      }
      if (key == "stakes") return policy->loss_weights = finite_numbers(reader), true;
      if (key != "lessons") return false;
      reader.begin_array();
      while (reader.next_element()) policy->placements.push_back(read_placement(reader, *problem_));
      return true;
    });
  };
  std::uint64_t runs = 0, explored = 0, candidates = 0, proposals = 0, in_vain = 0,
                ask_again_at = 0;
  read_json_object(reader, "the state", [&](const std::string& key) {
    if (format.read(reader, key)) return true;
    if (key == "problem") return problem = read_json_hash(reader), true;
    if (key == "settings") return settings = read_json_hash(reader), true;
    if (key == "runs") return runs = reader.unsigned_integer(kMost), true;
    if (key == "explored") return explored = reader.unsigned_integer(kMost), true;
    if (key == "candidates") return candidates = reader.unsigned_integer(kMost), true;
    if (key == "proposals") return proposals = reader.unsigned_integer(kMost), true;
    if (key == "in_vain") return in_vain = reader.unsigned_integer(kMost), true;
    if (key == "ask_again_at") return ask_again_at = reader.unsigned_integer(kMost), true;
    if (key == "sums") return sums = finite_numbers(reader), true;
    if (key == "noise") return noise = finite_numbers(reader), true;
    if (key == "calibration") return calibration = finite_numbers(reader), true;
    if (key == "tried") return tried = read_packed<std::uint64_t>(reader), true;
    if (key == "unpaired") return unpaired = finite_numbers(reader), true;
    if (key == "start" || key == "incumbent") {
      // A placement of another problem would be refused with less clear words.
      if (problem != problem_->hash()) reader.fail("the state is of another graph or machine");
      (key == "start" ? start : incumbent) = read_placement(reader, *problem_);
      return true;
    }
    if (key == "candidate") return read_candidate(), true;
    if (key == "promotions") return read_promotions(), true;
    if (key == "policy") return read_policy(), true;
    if (key == "checksum") return reader.read_checksum(), has_checksum = true;
    return false;
  });
  reader.finish();
  format.require(reader);
  if (!has_checksum) {
    reader.fail_at(0, "the state has no checksum: it is damaged, or an earlier doppler wrote it");
  }
  if (problem != problem_->hash()) reader.fail_at(0, "the state is of another graph or machine");
  if (settings != settings_.hash()) {
    reader.fail_at(0, "the state is of other settings: go on with those of before");
  }
  if (!start || *start != start_) reader.fail_at(0, "the state is of another start");
  if (!incumbent || sums.size() != 3 || unpaired.size() > 1 ||
      (!unpaired.empty() && unpaired.front() <= 0.0) || policy.has_value() != !!policy_) {
    reader.fail_at(0, "the state is damaged");
  }
  if (candidate && candidate->former && promotions.empty()) {
    reader.fail_at(0, "the state is damaged");
  }
  if (policy && !policy_->accepts(*policy)) {
    reader.fail_at(0, "the state is of another policy, or damaged");
  }
  const bool counted = explored <= runs && promotions.size() <= candidates &&
                       std::all_of(promotions.begin(), promotions.end(),
                                   [&](const Promotion& p) { return p.run <= runs; }) &&
                       (!candidate || candidate->cleared_at <= runs);
  if (!counted) reader.fail_at(0, "the state is damaged: its counts contradict one another");
  // All that may still be refused comes first.
  cost::Calibration calibrated(problem_);
  calibrated.restore(calibration);
  NoiseMeter meter;
  meter.restore(noise);
  if (policy) policy_->restore(std::move(*policy));
  calibration_ = std::make_shared<cost::Calibration>(std::move(calibrated));
  calibration_lent_ = false;
  noise_ = std::move(meter);
  runs_ = runs;
  explored_ = explored;
  candidates_ = candidates;
  proposals_ = proposals;
  in_vain_ = in_vain;
  ask_again_at_ = ask_again_at;
  total_time_ = sums[0];
  paid_ = sums[1];
  predicted_ = sums[2];
  tried_ = {tried.begin(), tried.end()};
  unpaired_ = unpaired.empty() ? std::nullopt : std::optional(unpaired.front());
  incumbent_ = std::make_shared<const schedule::Placement>(std::move(*incumbent));
  candidate_ = std::move(candidate);
  promotions_ = std::move(promotions);
  race_results_.clear();
  running_ = exploring_ = false;
}

}  // namespace doppler::train
