#include "doppler/formats/ncnn/ncnn_layers.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "doppler/base/names.h"
#include "doppler/base/text.h"

namespace doppler::formats {
namespace {

constexpr std::string_view kMagic = "7767517";
constexpr std::uint64_t kMaxLayers = 1'000'000;
constexpr std::uint64_t kMaxBlobsOfLayer = 100'000;
constexpr std::size_t kMaxArray = 100'000;
constexpr int kFirstArrayId = -23300;  // the number -23300 - k stands for parameter k as an array
constexpr int kMaxParamId = 1000;

class ParamParser {
 public:
  ParamParser(const std::string& file, std::string_view text) : file_(file), text_(text) {}

  NcnnModel parse() {
    require_utf8(file_, text_);
    if (text_.starts_with("\xef\xbb\xbf")) at_ = 3;  // skips a byte order mark
    if (next_line_word("the magic number 7767517") != kMagic) {
      fail(word_at_, "an ncnn param file starts with 7767517");
    }
    const std::uint64_t layers =
        count(next_line_word("the number of layers"), kMaxLayers, "layers");
    count(word_on_line("the number of blobs"), kMaxLayers * 100, "blobs");
    // No memory is reserved for the announced number of layers, since the file may be damaged.
    for (std::uint64_t i = 0; i < layers; ++i) parse_layer(i, layers);
    skip_space(true);
    if (at_ < text_.size()) {
      fail(at_, fmt::format("text follows the last of the {} layers announced", layers));
    }
    return std::move(model_);
  }

 private:
  [[noreturn]] void fail(std::size_t at, const std::string& message) const {
    fail_at_offset(file_, text_, at, message);
  }

  static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

  void skip_space(bool over_lines) {
    while (at_ < text_.size() && (is_blank(text_[at_]) || (over_lines && text_[at_] == '\n'))) {
      ++at_;
    }
  }
  bool at_line_end() {
    skip_space(false);
    return at_ >= text_.size() || text_[at_] == '\n';
  }
  // Takes the next word on this line, in which blanks between quotes are kept. Fails, saying that
  // `what` is missing, if the line ends before.
  std::string_view word_on_line(const char* what) {
    if (at_line_end()) fail(at_, fmt::format("the line ends where {} should be", what));
    word_at_ = at_;
    bool quoted = false;
    while (at_ < text_.size() && text_[at_] != '\n' && (quoted || !is_blank(text_[at_]))) {
      quoted ^= text_[at_] == '"';
      ++at_;
    }
    return text_.substr(word_at_, at_ - word_at_);
  }
  std::string_view next_line_word(const char* what) {
    skip_space(true);
    if (at_ >= text_.size()) fail(at_, fmt::format("the file ends where {} should be", what));
    return word_on_line(what);
  }

  std::uint64_t count(std::string_view word, std::uint64_t limit, const char* what) const {
    std::uint64_t value = 0;
    const auto result = std::from_chars(word.data(), word.data() + word.size(), value);
    if (result.ec != std::errc{} || result.ptr != word.data() + word.size() || value > limit) {
      fail(word_at_, fmt::format("expected a number of {} of at most {}", what, limit));
    }
    return value;
  }

  void parse_layer(std::uint64_t index, std::uint64_t count_of_layers) {
    skip_space(true);
    if (at_ >= text_.size()) {
      fail(at_, fmt::format("the file ends after {} of {} layers", index, count_of_layers));
    }
    NcnnLayer layer;
    layer.at = at_;
    layer.type = word_on_line("a layer's type");
    layer.name = word_on_line("a layer's name");
    const std::uint64_t inputs =
        count(word_on_line("the number of inputs"), kMaxBlobsOfLayer, "inputs");
    const std::uint64_t outputs =
        count(word_on_line("the number of outputs"), kMaxBlobsOfLayer, "outputs");
    for (std::uint64_t i = 0; i < inputs; ++i) {
      const std::string_view blob = word_on_line("an input blob");
      const auto found = names_.find(blob);
      if (!found) fail(word_at_, fmt::format("blob '{}' is read before a layer writes it", blob));
      layer.inputs.push_back(*found);
    }
    for (std::uint64_t i = 0; i < outputs; ++i) {
      const std::string_view blob = word_on_line("an output blob");
      const auto [number, is_new] = names_.add(blob);
      if (!is_new) fail(word_at_, fmt::format("two layers write blob '{}'", blob));
      model_.blobs.push_back(blob);
      layer.outputs.push_back(number);
    }
    while (!at_line_end()) parse_param(layer, word_on_line("a parameter"));
    model_.layers.push_back(std::move(layer));
  }

  // Reads a parameter: id=value or, for an array, (-23300 - id)=length,value,value,… . Newer files
  // also write id=value,value,… and id="text".
  void parse_param(NcnnLayer& layer, std::string_view word) {
    const char* const end = word.data() + word.size();
    int id = 0;
    const auto key = std::from_chars(word.data(), end, id);
    // pnnx, ncnn's converter, writes a similar file of its own with parameters such as "bias=True",
    // "@weight=(8,3)f32", "#0=(1,3)f32" and "$input=0".
    const char first = word.front();
    if (key.ec != std::errc{} && word.find('=') != std::string_view::npos &&
        (first == '@' || first == '#' || first == '$' || layer.type.find('.') != layer.type.npos)) {
      fail(word_at_,
           "this is pnnx's own graph, which is not read; ncnn's is the .ncnn.param beside it");
    }
    if (key.ec != std::errc{} || key.ptr == end || *key.ptr != '=') {
      fail(word_at_, fmt::format("expected a parameter 'number=value', found '{}'", word));
    }
    const bool counted = id <= kFirstArrayId;
    if (counted) id = kFirstArrayId - id;
    if (id < 0 || id > kMaxParamId) fail(word_at_, "there is no parameter of this number");
    std::vector<double> values;
    const char* at = key.ptr + 1;
    if (at < end && *at == '"') {
      std::string_view text = word.substr(static_cast<std::size_t>(at + 1 - word.data()));
      layer.params.set_text(id, text.substr(0, text.find('"')));
      return;
    }
    while (true) {
      double value = 0.0;
      const auto number = std::from_chars(at, end, value);
      if (number.ec != std::errc{}) {
        // Some newer layers have a name instead of a number. The parameter is then present, but has
        // no value.
        if (values.empty()) break;
        fail(word_at_ + static_cast<std::size_t>(at - word.data()), "expected a number");
      }
      if (values.size() > kMaxArray) fail(word_at_, fmt::format("more than {} values", kMaxArray));
      values.push_back(std::isfinite(value) ? value : 0.0);
      at = number.ptr;
      if (at == end) break;
      if (*at != ',') fail(word_at_ + static_cast<std::size_t>(at - word.data()), "expected ','");
      ++at;
    }
    if (counted) {
      if (values.empty() || values[0] != static_cast<double>(values.size() - 1)) {
        fail(word_at_, "an array starts with the number of its values");
      }
      values.erase(values.begin());
    }
    layer.params.set(id, std::move(values));
  }

  const std::string& file_;
  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t word_at_ = 0;
  NameIndex names_;
  NcnnModel model_;
};

}  // namespace

double NcnnParams::number(int id, double absent) const {
  const auto found = values_.find(id);
  return found == values_.end() || found->second.empty() ? absent : found->second.front();
}

std::int64_t NcnnParams::integer(int id, std::int64_t absent) const {
  constexpr double kLargest = 1099511627776.0;  // 2^40
  const double value = number(id, static_cast<double>(absent));
  return std::llround(std::min(std::max(value, -kLargest), kLargest));
}

std::string_view NcnnParams::text(int id) const {
  const auto found = texts_.find(id);
  return found == texts_.end() ? std::string_view() : found->second;
}

const std::vector<double>& NcnnParams::array(int id) const {
  static const std::vector<double> kEmpty;
  const auto found = values_.find(id);
  return found == values_.end() ? kEmpty : found->second;
}

NcnnModel parse_ncnn_param(const std::string& file, std::string_view text) {
  return ParamParser(file, text).parse();
}

}  // namespace doppler::formats
