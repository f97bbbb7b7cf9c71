#include "doppler/formats/ncnn/ncnn.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "doppler/base/error.h"
#include "doppler/base/file.h"
#include "doppler/base/text.h"
#include "doppler/formats/model_graph.h"
#include "doppler/formats/ncnn/ncnn_layers.h"
#include "doppler/formats/ncnn/ncnn_rules.h"
#include "doppler/formats/work_list.h"

namespace doppler::formats {
namespace {

// Returns the type of weights of that many bits, or nothing if there is none.
std::optional<ElementType> type_of_bits(double bits) {
  if (bits == 32.0) return ElementType::kF32;
  if (bits == 8.0) return ElementType::kI8;
  if (bits == 4.0) return ElementType::kI4;
  return std::nullopt;
}

// The layer types and parameters that hold sizes as expressions of the inputs' sizes.
constexpr std::pair<std::string_view, int> kExpressions[] = {
    {"Reshape", 6}, {"Interp", 9}, {"Crop", 19}, {"Crop", 20}, {"Crop", 21}};

bool has_unreadable_sizes(const NcnnLayer& layer, NcnnInputs inputs) {
  return std::any_of(std::begin(kExpressions), std::end(kExpressions), [&](const auto& expression) {
    const auto& [type, id] = expression;
    return layer.type == type && !layer.params.text(id).empty() &&
           !ncnn_evaluate(layer.params.text(id), inputs);
  });
}

class NcnnReader {
 public:
  NcnnReader(const std::string& file, std::string_view text, const ImportOptions& options)
      : file_(file), text_(text), options_(options), model_(parse_ncnn_param(file, text)) {}

  Imported read() && {
    tensors_.resize(model_.blobs.size());
    types_.assign(model_.blobs.size(), ElementType::kF32);
    find_readers();
    infer_shapes();
    for (const NcnnLayer& layer : model_.layers) add_layer(layer);
    // Blobs that no layer reads are the outputs of the model.
    for (std::size_t blob = 0; blob < model_.blobs.size(); ++blob) {
      if (!is_read_[blob]) graph_.mark_output(tensors_[blob]);
    }
    try {
      Imported imported{std::move(graph_).build(file_stem(file_)).graph, std::nullopt, {}};
      imported.notes = notes();
      return imported;
    } catch (const InputError& error) {
      throw InputError(fmt::format("{}: {}", file_, error.what()));
    }
  }

 private:
  // Finds which blobs are read, and which sizes their readers want. Goes from the last layer to the
  // first, so that of several readers the wish of the first one holds.
  void find_readers() {
    is_read_.assign(model_.blobs.size(), false);
    wanted_.assign(model_.blobs.size(), kNcnnNothingWanted);
    for (std::size_t i = model_.layers.size(); i-- > 0;) {
      const NcnnLayer& layer = model_.layers[i];
      // Of several results, such as those of a Split, converters give the last to the first reader,
      // so the last wish holds.
      NcnnShape wanted_result = kNcnnNothingWanted;
      for (const std::uint32_t blob : layer.outputs) {
        if (wanted_[blob].rank > 0) wanted_result = wanted_[blob];
      }
      for (std::size_t k = 0; k < layer.inputs.size(); ++k) {
        const std::uint32_t blob = layer.inputs[k];
        is_read_[blob] = true;
        const NcnnShape wanted = ncnn_wanted_input(layer, k, wanted_result);
        if (wanted.rank > 0) wanted_[blob] = wanted;
      }
    }
  }

  static bool is_source(NcnnKind kind) {
    return kind == NcnnKind::kInput || kind == NcnnKind::kMemory;
  }

  void check_inputs(const NcnnLayer& layer) const {
    const bool source = is_source(ncnn_kind(layer.type));
    if (layer.inputs.empty() == source) return;
    fail_at_offset(file_, text_, layer.at,
                   fmt::format("layer '{}' of type {} {}", layer.name, layer.type,
                               source ? "reads a blob" : "reads no blob"));
  }

  // Computes the shapes of all blobs. If sizes of inputs had to be guessed, a Reshape to another
  // number of elements than its data has shows that the guess was wrong. The guessed images, or
  // sequences if there are no images, are then scaled by the ratio of the two numbers. The scale is
  // kept only if every Reshape fits afterwards.
  void infer_shapes() {
    for (const NcnnLayer& layer : model_.layers) check_inputs(layer);
    pass_shapes();
    if (!misfit_ || guessed_.empty()) return;
    const double scale = misfit_->asked / misfit_->got;
    const bool images = std::any_of(guessed_.begin(), guessed_.end(),
                                    [&](std::uint32_t blob) { return shapes_[blob].rank == 3; });
    (images ? pixel_scale_ : token_scale_) = scale;
    pass_shapes();
    if (!misfit_) return;
    pixel_scale_ = token_scale_ = 1.0;
    pass_shapes();
  }

  void pass_shapes() {
    shapes_.assign(model_.blobs.size(), {});
    trained_.assign(model_.blobs.size(), false);
    guessed_.clear();
    misfit_.reset();
    unreadable_sizes_.clear();
    for (const NcnnLayer& layer : model_.layers) {
      if (layer.outputs.empty()) continue;
      const NcnnKind kind = ncnn_kind(layer.type);
      std::vector<NcnnShape> inputs = shapes_of(layer.inputs);
      if (kind == NcnnKind::kUnknown) {
        // An unknown layer is taken to keep the shape of its first input that is not trained data.
        const auto data = std::find_if(layer.inputs.begin(), layer.inputs.end(),
                                       [&](std::uint32_t blob) { return !trained_[blob]; });
        if (data != layer.inputs.end()) {
          std::swap(inputs[0], inputs[static_cast<std::size_t>(data - layer.inputs.begin())]);
        }
      }
      const std::vector<NcnnShape> outputs = ncnn_output_shapes(layer, inputs);
      for (std::size_t i = 0; i < outputs.size(); ++i) {
        const std::uint32_t blob = layer.outputs[i];
        shapes_[blob] = outputs[i];
        trained_[blob] =
            kind == NcnnKind::kMemory || (kind == NcnnKind::kView && trained_[layer.inputs[0]]);
        if (kind == NcnnKind::kInput) complete(blob, shapes_[blob]);
      }
      if (has_unreadable_sizes(layer, inputs)) unreadable_sizes_.push_back(layer.name);
      if (layer.type != "Reshape" || misfit_) continue;
      const double asked = outputs[0].elements(), got = inputs[0].elements();
      if (asked != got && asked > 0.0 && got > 0.0) misfit_ = {layer.name, asked, got};
    }
  }

  std::vector<NcnnShape> shapes_of(const std::vector<std::uint32_t>& blobs) const {
    std::vector<NcnnShape> shapes;
    for (const std::uint32_t blob : blobs) shapes.push_back(shapes_[blob]);
    return shapes;
  }

  void add_layer(const NcnnLayer& layer) {
    const NcnnKind kind = ncnn_kind(layer.type);
    if (layer.outputs.empty()) {
      ++unread_;
      return;
    }
    if (kind == NcnnKind::kUnknown) ++unknown_types_[std::string(layer.type)];
    const std::vector<NcnnShape> inputs = shapes_of(layer.inputs);
    const std::vector<NcnnShape> outputs = shapes_of(layer.outputs);
    if (is_source(kind)) {
      for (const std::uint32_t blob : layer.outputs) {
        const double bytes = bytes_of(blob);
        std::string name(model_.blobs[blob]);
        tensors_[blob] = kind == NcnnKind::kInput
                             ? graph_.add_input(std::move(name), bytes, types_[blob])
                             : graph_.add_parameter(std::move(name), bytes, types_[blob]);
      }
      return;
    }
    for (const std::uint32_t blob : layer.outputs)
      types_[blob] = ncnn_result_type(layer, types_[layer.inputs[0]]);
    if (kind == NcnnKind::kView) {
      for (const std::uint32_t blob : layer.outputs) tensors_[blob] = tensors_[layer.inputs[0]];
      ++views_;
      return;
    }
    const NcnnCost cost = ncnn_cost(layer, inputs, outputs);
    ModelGraph::OpSpec spec{
        .name = std::string(layer.name), .kind = std::string(layer.type), .flops = cost.flops};
    for (const std::uint32_t blob : layer.inputs) spec.operands.push_back(tensors_[blob]);
    const double weight_bytes = std::ceil(cost.weights * cost.weight_bits / 8.0);
    if (cost.weights > 0.0) {
      spec.operands.push_back(graph_.add_parameter(fmt::format("{}.weight", layer.name),
                                                   weight_bytes, type_of_bits(cost.weight_bits)));
      quantised_ += cost.weight_bits < 32.0;
    }
    const bool reads_results =
        layer.type == "Embed" || layer.type == "Slice" || layer.type == "Crop";
    spec.works = works_of(layer, cost, weight_bytes, reads_results);
    if (reads_results) {
      // These layers read only those elements of their input that they return.
      double bytes = 0.0;
      for (const std::uint32_t blob : layer.outputs) bytes += bytes_of(blob);
      spec.bytes_read = bytes;
    }
    const ModelGraph::Op op = graph_.add_op(std::move(spec));
    for (const std::uint32_t blob : layer.outputs) {
      tensors_[blob] =
          graph_.add_result(op, std::string(model_.blobs[blob]), bytes_of(blob), types_[blob]);
    }
  }

  double bytes_of(std::uint32_t blob) const {
    return shapes_[blob].elements() * element_bytes(types_[blob]);
  }

  // Returns the works of a layer, with the bytes that blobs of their types take.
  std::vector<kernel::Work> works_of(const NcnnLayer& layer, const NcnnCost& cost,
                                     double weight_bytes, bool reads_results) const {
    WorkList list;
    for (kernel::Work work : cost.works) {
      if (cost.works.size() > 1 && work.flops) list.add(std::move(work));
    }
    if (cost.works.size() > 1) return list.list();
    kernel::Work work = cost.works.empty() ? kernel::Work{} : cost.works.front();
    if (!work.flops) work.flops = cost.flops / work.count;
    double read = weight_bytes, written = 0.0;
    std::set<ModelGraph::Tensor> seen;
    for (const std::uint32_t blob : layer.inputs) {
      if (seen.insert(tensors_[blob]).second) read += bytes_of(blob);
    }
    for (const std::uint32_t blob : layer.outputs) written += bytes_of(blob);
    work.bytes_read = (reads_results ? written : read) / work.count;
    work.bytes_written = written / work.count;
    return {work};
  }

  // Sets the sizes of an input that the file leaves open: to the user's, else to those that the
  // first layer with weights behind it wants, else to defaults. The user's also replace the file's.
  void complete(std::uint32_t blob, NcnnShape& shape) {
    const std::string_view name = model_.blobs[blob];
    if (shape.rank == 0) {
      const NcnnShape& wanted = wanted_[blob];
      shape = {wanted.rank == 0 ? 1 : wanted.rank, 1, 1, 1, 1};
      const auto scaled = [](std::int64_t size, double scale) {
        return std::max<std::int64_t>(
            bounded_ncnn_size(std::round(static_cast<double>(size) * scale)), 1);
      };
      shape.w = wanted.w > 0 ? wanted.w : 1;
      if (shape.rank == 1 && wanted.h > 0) shape.w = scaled(wanted.h, token_scale_);
      if (shape.rank == 2 && wanted.w == 0) shape.w = scaled(kDefaultSequence, token_scale_);
      if (shape.rank == 2)
        shape.h = wanted.h > 0 ? wanted.h : scaled(kDefaultSequence, token_scale_);
      if (shape.rank == 3) {
        shape.w = shape.h = scaled(kDefaultImageSide, std::sqrt(pixel_scale_));
        shape.c = wanted.c > 0 ? wanted.c : 3;
      }
      guessed_.push_back(blob);
    }
    const auto bind = [&](const char* size_name, std::int64_t& size, int rank) {
      const auto found = options_.dimensions.find(fmt::format("{}.{}", name, size_name));
      if (found == options_.dimensions.end()) return;
      bound_.insert(found->first);
      size = found->second;
      shape.rank = std::max(shape.rank, rank);
    };
    bind("w", shape.w, 1);
    bind("h", shape.h, 2);
    bind("c", shape.c, 3);
    bind("d", shape.d, 4);
  }

  std::vector<std::string> notes() const {
    std::vector<std::string> lines{"blobs and weights are taken as float32"};
    if (quantised_ > 0) {
      lines[0] += fmt::format(", but for the quantised weights of {} layers", quantised_);
    }
    for (const std::uint32_t blob : guessed_) {
      const NcnnShape& shape = shapes_[blob];
      lines.push_back(fmt::format(
          "the file has no shape for input '{0}': taken as w={1} h={2} c={3} (set with {4} "
          "{0}.w=N, .h, .c)",
          model_.blobs[blob], shape.w, shape.h, shape.c, options_.dimension_setting));
      if (lines.size() > 8 && guessed_.size() > 9) {
        lines.push_back(
            fmt::format("{} more inputs have no shape: taken alike", guessed_.size() - 8));
        break;
      }
    }
    if (misfit_) {
      lines.push_back(
          fmt::format("layer '{}' gives {} elements the shape of {}: sizes of inputs that fit are "
                      "set with {}",
                      misfit_->layer, misfit_->got, misfit_->asked, options_.dimension_setting));
    }
    if (!unreadable_sizes_.empty()) {
      lines.push_back(
          fmt::format("sizes of {} layers, the first '{}', are no expressions of their "
                      "inputs' sizes: not counted",
                      unreadable_sizes_.size(), unreadable_sizes_.front()));
    }
    for (const auto& [name, size] : options_.dimensions) {
      if (!bound_.contains(name)) {
        lines.push_back(fmt::format("{} {}={}: the model has no such input size",
                                    options_.dimension_setting, name, size));
      }
    }
    if (views_ > 0) {
      lines.push_back(fmt::format(
          "{} layers that only rename or reshape (Split, Reshape, …) are folded into their readers",
          views_));
    }
    if (unread_ > 0) lines.push_back(fmt::format("{} layers without results are dropped", unread_));
    for (const auto& [type, count] : unknown_types_) {
      lines.push_back(
          fmt::format("layer type {} ({} times) has no rule: taken as elementwise", type, count));
    }
    return lines;
  }

  const std::string& file_;
  std::string_view text_;
  const ImportOptions& options_;
  std::set<std::string> bound_;  // the options' dimensions that the model has
  NcnnModel model_;
  ModelGraph graph_;
  // The next six have an entry for each blob.
  std::vector<NcnnShape> shapes_;
  std::vector<ModelGraph::Tensor> tensors_;
  std::vector<ElementType> types_;
  std::vector<bool> is_read_;
  std::vector<bool> trained_;                     // whether it is trained data
  std::vector<NcnnShape> wanted_;                 // the shape that its readers want
  std::vector<std::uint32_t> guessed_;            // the inputs whose shapes were guessed
  double pixel_scale_ = 1.0, token_scale_ = 1.0;  // factors of the guessed numbers of each
  // The first Reshape to another number of elements than its data has.
  struct Misfit {
    std::string_view layer;
    double asked, got;
  };
  std::optional<Misfit> misfit_;
  std::vector<std::string_view> unreadable_sizes_;  // names of layers
  std::map<std::string, std::size_t> unknown_types_;
  std::size_t views_ = 0;
  std::size_t unread_ = 0;     // number of layers without results
  std::size_t quantised_ = 0;  // number of layers with quantised weights
};

}  // namespace

bool is_ncnn(const Content& content) {
  return content.starts_with_word("7767517");
}

Imported read_ncnn(const std::string& file, std::string_view text, const ImportOptions& options) {
  return NcnnReader(file, text, options).read();
}

}  // namespace doppler::formats
