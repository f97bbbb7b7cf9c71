#include "lab/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "doppler/render/wrap.h"
#include "lab/hidden_machine.h"
#include "lab/markdown.h"

namespace doppler::lab {
namespace {

constexpr std::size_t kPageWidth = 120;  // of lines, but for those of tables

std::string paragraph(std::string_view text) {
  return render::wrap("", text, kPageWidth) + "\n";
}

std::string first_lines(const Lab& lab) {
  const Scale& scale = lab.scale();
  const bool full = scale.name == Scale::full().name;
  std::string text =
      "# The paper, reproduced\n\n" +
      paragraph(fmt::format("Written by `dopp reproduce{}`; do not edit. The published figures are "
                            "those of arXiv 2505.23131 (ICLR 2026).",
                            full ? "" : " --" + scale.name));
  if (!full) {
    text += paragraph(fmt::format(
        "**This is the {} run**: {} seeds instead of {}, and a fraction of the episodes (stage I "
        "{}, stage II {}, Placeto {}, GDP {}). It shows that everything works and which way things "
        "go; its verdicts are not those of the full run.",
        scale.name, scale.seeds, Scale::full().seeds, scale.imitation_episodes, scale.episodes,
        scale.placeto_episodes, scale.gdp_episodes));
  }
  const HiddenMachine hidden;
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
      lab.online() ? ""
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

std::string page_of(const Lab& lab, const std::vector<PagePart>& parts, const std::string& files) {
  const std::string prefix = files.empty() ? "" : files + "/";
  std::string text = first_lines(lab) + findings_text(parts);
  for (const PagePart& part : parts) text += section_text(part, prefix);
  while (text.ends_with("\n\n")) text.pop_back();
  return text;
}

}  // namespace doppler::lab
