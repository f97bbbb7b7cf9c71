#include "lab/reproduce.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "doppler/base/error.h"
#include "doppler/base/file.h"
#include "doppler/base/parallel.h"
#include "doppler/base/stop.h"
#include "doppler/render/table.h"
#include "lab/online_learning.h"
#include "lab/results_folder.h"

namespace doppler::lab {

MarkdownTable::MarkdownTable(std::vector<std::string> titles) : columns_(titles.size()) {
  add(titles);
  text_ += "|";
  for (std::size_t i = 0; i < columns_; ++i) text_ += "---|";
  text_ += "\n";
}

void MarkdownTable::add(const std::vector<std::string>& cells) {
  DOPPLER_CHECK(cells.size() == columns_);
  text_ += "|";
  for (const std::string& cell : cells) text_ += cell.empty() ? " |" : " " + cell + " |";
  text_ += "\n";
}

namespace {

constexpr std::size_t kPageWidth = 120;  // of lines, but for those of tables

std::string paragraph(std::string_view text) {
  return render::wrap("", text, kPageWidth) + "\n";
}

std::string first_lines(const ReproductionContext& context) {
  const Scale& scale = context.scale();
  const bool full = scale.name == Scale::full().name;
  std::string text =
      "# The paper, reproduced\n\n" +
      paragraph(fmt::format("Written by `dopp reproduce{}`; do not edit. The published figures are "
                            "those of arXiv 2505.23131 (ICLR 2026).",
                            full ? "" : " --" + scale.name));
  if (!full) {
    text += paragraph(fmt::format(
        "**This is the {} run**: {} seeds instead of {}, and a fraction of the episodes (stage I "
        "{}, stage II {}, Placeto {} for 100 nodes, GDP {}). It shows that everything works and "
        "which way things "
        "go; its verdicts are not those of the full run.",
        scale.name, scale.seeds, Scale::full().seeds, scale.imitation_episodes, scale.episodes,
        scale.placeto_episodes, scale.gdp_episodes));
  }
  const PerturbedMachine hidden;
  text += paragraph(fmt::format(
      "Means over {} seeds; behind ± and in brackets are 95 % intervals by Student's t (of ratios "
      "by their logarithms, over the same seeds). The paper ran four P100 and eight V100; here "
      "both are cost models, and \"engine\" is an emulated machine on a virtual clock whose costs "
      "are not those that the placer believes in: every kind of kernel is slower or faster by a "
      "random factor (log-normal, sigma {:g}), every device likewise ({:g}), the link between two "
      "of the devices {:g} times slower, every other transfer under way adds {:g} of a transfer's "
      "time, and every run varies "
      "by {:g} %.{}",
      scale.seeds, hidden.op_spread, hidden.device_spread, hidden.slow_link, hidden.contention,
      100.0 * hidden.jitter,
      context.online()
          ? ""
          : " Stage III, learning from the engine, is not part of this build: what needs "
            "it, DOPPLER-SYS above all, is absent and marked so."));
  return text;
}

std::string anchor_of(std::string_view title) {
  std::string anchor;
  for (const char c : title) {
    if (c == ' ') {
      anchor += '-';
    } else if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-') {
      anchor += c;
    } else if (c >= 'A' && c <= 'Z') {
      anchor += static_cast<char>(c - 'A' + 'a');
    }
  }
  return anchor;
}

std::string findings_text(const std::vector<PagePart>& parts) {
  std::map<Verdict, int> counts;
  MarkdownTable table({"claim", "published", "here", "verdict"});
  for (const PagePart& part : parts) {
    for (const Finding& finding : part.section.findings) {
      ++counts[finding.verdict];
      table.add({fmt::format("[{}](#{})", finding.claim, anchor_of(part.experiment->title())),
                 finding.published, finding.ours,
                 finding.verdict == Verdict::kOpen
                     ? "open"
                     : fmt::format("**{}**", verdict_name(finding.verdict))});
    }
  }
  const std::string counted = fmt::format(
      "Confirmed: {}; partly: {}; not confirmed: {}; open: {} (not measured here, or not a claim "
      "of "
      "the paper). A claim that one is better than another is confirmed where the whole interval "
      "of their ratio says so on every graph, partly where it does on some.",
      counts[Verdict::kConfirmed], counts[Verdict::kPartly], counts[Verdict::kNotConfirmed],
      counts[Verdict::kOpen]);
  return "## What is confirmed\n\n" + paragraph(counted) + table.text();
}

std::string section_text(const PagePart& part, const std::string& prefix) {
  const Experiment& experiment = *part.experiment;
  std::string text =
      fmt::format("## {}\n\n", experiment.title()) + paragraph(part.section.question);
  if (part.done < part.total) {
    text += fmt::format("*Not complete: {} of {} cells.*\n\n", part.done, part.total);
  }
  if (experiment.timed()) {
    text += "*Measured with a clock on the machine at hand: no two runs give the same.*\n\n";
  }
  text += part.section.tables;
  for (const Picture& picture : part.section.pictures) {
    text += fmt::format("![{}]({}{}.svg)\n\n", picture.title, prefix, picture.name);
  }
  return text +
         paragraph(fmt::format("**What differs.** {} Numbers: [{}.csv]({}{}.csv).",
                               part.section.differs, experiment.name(), prefix, experiment.name()));
}

}  // namespace

std::string page_of(const ReproductionContext& context, const std::vector<PagePart>& parts,
                    const std::string& files) {
  const std::string prefix = files.empty() ? "" : files + "/";
  std::string text = first_lines(context) + findings_text(parts);
  for (const PagePart& part : parts) text += section_text(part, prefix);
  while (text.ends_with("\n\n")) text.pop_back();
  return text;
}

namespace {

using Clock = std::chrono::steady_clock;

// An experiment with its cells and the results so far.
struct CellWork {
  std::unique_ptr<Experiment> experiment;
  Columns columns;
  std::vector<Cell> cells;
  Results results;
};

std::string duration_text(double seconds) {
  if (seconds < 90.0) return fmt::format("{:.0f} s", seconds);
  if (seconds < 5400.0) return fmt::format("{:.0f} min", seconds / 60.0);
  return fmt::format("{:.1f} h", seconds / 3600.0);
}

std::vector<std::unique_ptr<Experiment>> chosen(const std::vector<std::string>& only) {
  std::vector<std::unique_ptr<Experiment>> all = all_experiments();
  if (only.empty()) return all;
  std::vector<std::string_view> names;
  for (const auto& experiment : all) names.push_back(experiment->name());
  for (const std::string& name : only) {
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      throw ParameterError(
          fmt::format("unknown experiment '{}'; one of: {}", name, fmt::join(names, ", ")));
    }
  }
  std::erase_if(all, [&](const auto& experiment) {
    return std::find(only.begin(), only.end(), experiment->name()) == only.end();
  });
  return all;
}

class CellScheduler {
 public:
  CellScheduler(const ReproduceSettings& settings, const ReproductionContext& context,
                ResultsFolder& folder, std::vector<CellWork>& works)
      : settings_(settings),
        context_(context),
        folder_(folder),
        works_(works),
        began_(Clock::now()) {
    for (const CellWork& work : works_) {
      for (const Cell& cell : work.cells) {
        ++total_;
        if (work.results.find(cell.key, cell.seed)) {
          ++done_;
        } else {
          weight_left_ += weight_of(*work.experiment, cell);
        }
      }
    }
  }

  void run() {
    for (CellWork& work : works_) {
      std::vector<const Cell*> missing;
      for (const Cell& cell : work.cells) {
        if (!work.results.find(cell.key, cell.seed)) missing.push_back(&cell);
      }
      const int threads = work.experiment->alone() ? 1 : settings_.threads;
      parallel_for(missing.size(), threads, [&](std::size_t i) { run_cell(work, *missing[i]); });
      if (context_.stop().stop_requested()) return;
    }
  }

  std::size_t done() const { return done_; }
  std::size_t total() const { return total_; }

 private:
  // A cell that has the machine to itself takes all of its threads.
  double weight_of(const Experiment& experiment, const Cell& cell) const {
    return cell.weight * (experiment.alone() ? settings_.threads : 1);
  }

  void run_cell(CellWork& work, const Cell& cell) {
    if (context_.stop().stop_requested()) return;
    say(work, cell);
    Outcome outcome;
    try {
      outcome = work.experiment->run(context_, cell);
    } catch (const Error&) {
      if (!context_.stop().stop_requested()) throw;  // else it may be for want of time
    }
    if (context_.stop().stop_requested()) return;
    folder_.append(*work.experiment, work.columns, cell, outcome);
    const std::lock_guard lock(mutex_);
    work.results.add(cell, std::move(outcome));
    ++done_;
    weight_done_ += weight_of(*work.experiment, cell);
    weight_left_ -= weight_of(*work.experiment, cell);
  }

  void say(const CellWork& work, const Cell& cell) {
    if (!settings_.progress) return;
    const std::lock_guard lock(mutex_);
    const double seconds = seconds_since(began_);
    // An estimate is not given too early, when it would be wild.
    const std::string left =
        weight_done_ > 0.0 && seconds > 5.0
            ? ", about " + duration_text(seconds * weight_left_ / weight_done_) + " left"
            : "";
    settings_.progress(fmt::format("{} of {} cells{}; {}: {}, seed {}", done_, total_, left,
                                   work.experiment->name(), fmt::join(cell.key, " "), cell.seed));
  }

  const ReproduceSettings& settings_;
  const ReproductionContext& context_;
  ResultsFolder& folder_;
  std::vector<CellWork>& works_;
  const Clock::time_point began_;
  std::mutex mutex_;
  std::size_t done_ = 0, total_ = 0;
  double weight_done_ = 0.0, weight_left_ = 0.0;
};

std::string page_path(const ReproduceSettings& settings) {
  return settings.page.empty() ? settings.folder + "/index.md" : settings.page;
}

// Returns the path from the page to the folder.
std::string files_from(const std::string& page, const std::string& folder) {
  namespace fs = std::filesystem;
  const fs::path base = fs::absolute(page).parent_path();
  const std::string seen = fs::absolute(folder).lexically_relative(base).generic_string();
  return seen == "." ? "" : seen;
}

}  // namespace

ReproduceReport reproduce(const ReproduceSettings& settings, const place::Registry& methods) {
  const Clock::time_point began = Clock::now();
  std::vector<std::unique_ptr<Experiment>> experiments = chosen(settings.only);
  const ReproductionContext context(settings.scale, methods, settings.graphs_folder,
                                    settings.online, settings.stop);
  ReproduceReport report{.page = page_path(settings)};
  if (!report.page.ends_with(".md")) {
    throw ParameterError(
        fmt::format("{}: the page is a Markdown file: its name ends in .md", report.page));
  }
  // A page in the folder itself can be written when the folder is there.
  if (!files_from(report.page, settings.folder).empty()) check_writable(report.page);
  ResultsFolder folder(
      settings.folder,
      {.version = settings.version, .scale = settings.scale.name, .hash = context.hash()});

  std::vector<CellWork> works;
  for (auto& experiment : experiments) {
    Columns columns = experiment->columns(context);
    std::vector<Cell> cells = experiment->cells(context);
    Results results = folder.read(*experiment, columns, cells);
    // A line that a kill cut off is removed before anything is added behind it.
    folder.rewrite(*experiment, results, cells);
    works.push_back(
        {std::move(experiment), std::move(columns), std::move(cells), std::move(results)});
  }
  CellScheduler scheduler(settings, context, folder, works);
  report.before = scheduler.done();
  scheduler.run();
  report.done = scheduler.done();
  report.total = scheduler.total();
  report.interrupted = context.stop().stop_requested();

  std::vector<PagePart> parts;
  for (const CellWork& work : works) {
    folder.rewrite(*work.experiment, work.results, work.cells);
    Section section = work.experiment->show(context, work.results);
    for (const Picture& picture : section.pictures) {
      write_file(folder.file(picture.name + ".svg"), picture.svg);
    }
    report.findings.insert(report.findings.end(), section.findings.begin(), section.findings.end());
    parts.push_back(
        {work.experiment.get(), std::move(section), work.results.size(), work.cells.size()});
  }
  write_file(report.page, page_of(context, parts, files_from(report.page, settings.folder)));
  report.seconds = seconds_since(began);
  return report;
}

}  // namespace doppler::lab
