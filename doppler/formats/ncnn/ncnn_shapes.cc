#include <cmath>
#include <string_view>

#include "doppler/formats/ncnn/ncnn_rules.h"

namespace doppler::formats {
namespace {

using Shapes = std::vector<NcnnShape>;
using Inputs = NcnnInputs;

std::int64_t bounded(double size) {
  return bounded_ncnn_size(size);
}

constexpr std::int64_t kUnset = -233;      // ncnn's default for "not given"
constexpr std::int64_t kSameUpper = -233;  // a padding that keeps the size, as TensorFlow's SAME
constexpr std::int64_t kSameLower = -234;

NcnnShape line(std::int64_t w) {
  return {1, w};
}
NcnnShape volume(std::int64_t w, std::int64_t h, std::int64_t c) {
  return {3, w, h, 1, c};
}

// The numbers of the parameters that describe a window along one dimension.
struct WindowIds {
  int kernel, dilation, stride, pad_before, pad_after;
};

// The window of a layer along one dimension. Values that the layer does not give are those of the
// window along w.
struct NcnnWindow {
  std::int64_t kernel, dilation, stride, before, after;

  static NcnnWindow of(const NcnnParams& p, WindowIds ids, const NcnnWindow& like) {
    NcnnWindow window;
    window.kernel = std::max<std::int64_t>(p.integer(ids.kernel, like.kernel), 1);
    window.dilation = std::max<std::int64_t>(p.integer(ids.dilation, like.dilation), 1);
    window.stride = std::max<std::int64_t>(p.integer(ids.stride, like.stride), 1);
    window.before = p.integer(ids.pad_before, like.before);
    window.after = p.integer(ids.pad_after, window.before);
    return window;
  }
  double extent() const {
    return static_cast<double>(dilation) * static_cast<double>(kernel - 1) + 1;
  }
  std::int64_t convolved(std::int64_t size, bool round_up = false) const {
    const double steps = static_cast<double>(stride);
    if (before == kSameUpper || before == kSameLower) {
      return bounded(std::ceil(static_cast<double>(size) / steps));
    }
    const double free = static_cast<double>(size + before + after) - extent();
    return bounded((round_up ? std::ceil(free / steps) : std::floor(free / steps)) + 1);
  }
  std::int64_t deconvolved(std::int64_t size, std::int64_t extra) const {
    const double full = static_cast<double>(size - 1) * static_cast<double>(stride) + extent() +
                        static_cast<double>(extra);
    if (before < 0) return bounded(static_cast<double>(size) * static_cast<double>(stride));
    return bounded(full - static_cast<double>(before + after));
  }
};

constexpr NcnnWindow kPlainWindow{1, 1, 1, 0, 0};

struct ConvolutionWindows {
  explicit ConvolutionWindows(const NcnnParams& p)
      : w(NcnnWindow::of(p, {1, 2, 3, 4, 15}, kPlainWindow)),
        h(NcnnWindow::of(p, {11, 12, 13, 14, 16}, w)),
        d(NcnnWindow::of(p, {21, 22, 23, 24, 17}, w)) {}
  NcnnWindow w, h, d;
};

// Returns the shape after blocks of side x side pixels have become channels, or channels blocks.
Shapes pixels(const NcnnLayer& layer, Inputs in, bool into_channels) {
  const std::int64_t side = ncnn_block_side(layer);
  NcnnShape out = in[0];
  const auto larger = [&](std::int64_t size, std::int64_t factor) {
    return bounded(static_cast<double>(size) * static_cast<double>(factor));
  };
  out.w = into_channels ? out.w / side : larger(out.w, side);
  out.h = into_channels ? out.h / side : larger(out.h, side);
  out.c = into_channels ? larger(out.c, side * side) : out.c / (side * side);
  return {out};
}
}  // namespace

NcnnProduct ncnn_gemm_sizes(const NcnnParams& p, Inputs in) {
  const bool transposed_a = p.integer(2, 0) != 0, transposed_b = p.integer(3, 0) != 0;
  const bool constant_a = p.integer(4, 0) != 0, constant_b = p.integer(5, 0) != 0;
  NcnnProduct sizes{p.integer(7, 0), p.integer(8, 0), p.integer(9, 0)};
  std::size_t next = 0;
  const auto rows = [](const NcnnShape& s) {
    return bounded(static_cast<double>(s.h) * (s.rank == 3 ? static_cast<double>(s.c) : 1.0));
  };
  if (!constant_a && next < in.size()) {
    const NcnnShape& a = in[next++];
    sizes.m = transposed_a ? a.w : rows(a);
    sizes.k = transposed_a ? rows(a) : a.w;
  }
  if (!constant_b && next < in.size()) {
    const NcnnShape& b = in[next++];
    sizes.n = transposed_b ? rows(b) : b.w;
    if (constant_a) sizes.k = transposed_b ? b.w : rows(b);
  }
  return sizes;
}

std::int64_t ncnn_block_side(const NcnnLayer& layer) {
  if (layer.type == "YoloV5Focus") return 2;  // has no parameters
  return std::clamp<std::int64_t>(layer.params.integer(0, 1), 1, 1 << 15);
}

namespace ncnn_shapes {

Shapes convolution(const NcnnLayer& layer, Inputs in) {
  if (in[0].rank == 1) return {line(layer.params.integer(0, 1))};  // the channels of one pixel
  const ConvolutionWindows windows(layer.params);
  NcnnShape out = in[0];
  out.w = windows.w.convolved(out.w);
  if (out.rank >= 3) out.h = windows.h.convolved(out.h);
  if (out.rank >= 4) out.d = windows.d.convolved(out.d);
  // One-dimensional data has its channels in h.
  (out.rank == 2 ? out.h : out.c) = layer.params.integer(0, 1);
  return {out};
}

Shapes deconvolution(const NcnnLayer& layer, Inputs in) {
  const ConvolutionWindows windows(layer.params);
  const NcnnParams& p = layer.params;
  NcnnShape out = in[0];
  out.w = windows.w.deconvolved(out.w, p.integer(18, 0));
  if (out.rank >= 3) out.h = windows.h.deconvolved(out.h, p.integer(19, p.integer(18, 0)));
  if (out.rank >= 4) out.d = windows.d.deconvolved(out.d, p.integer(20, p.integer(18, 0)));
  (out.rank == 2 ? out.h : out.c) = p.integer(0, 1);
  return {out};
}

Shapes pooling(const NcnnLayer& layer, Inputs in) {
  const NcnnParams& p = layer.params;
  NcnnShape out = in[0];
  if (p.integer(4, 0) != 0) return {line(out.rank >= 3 ? out.c : out.h)};
  if (p.integer(7, 0) !=
      0) {  // adaptive pooling: the output's sizes are given, or -233 to keep one
    const auto sized = [&](int id, std::int64_t fallback, std::int64_t old) {
      const std::int64_t size = p.integer(id, fallback);
      return size <= 0 ? old : size;
    };
    const std::int64_t out_w = sized(8, 0, out.w);
    out.h = out.rank >= 3 ? sized(18, out_w, out.h) : out.h;
    out.d = out.rank >= 4 ? sized(28, out_w, out.d) : out.d;
    out.w = out_w;
    return {out};
  }
  NcnnWindow w = NcnnWindow::of(p, {1, -1, 2, 3, 14}, kPlainWindow);
  NcnnWindow h = NcnnWindow::of(p, {11, -1, 12, 13, 15}, w);
  const std::int64_t mode = p.integer(5, 0);  // 0 full, 1 valid, 2 and 3 same
  if (mode >= 2) w.before = h.before = kSameUpper;
  out.w = w.convolved(out.w, mode == 0);
  if (out.rank >= 3) out.h = h.convolved(out.h, mode == 0);
  if (out.rank >= 4) out.d = w.convolved(out.d, mode == 0);
  return {out};
}

Shapes inner_product(const NcnnLayer& layer, Inputs in) {
  const std::int64_t out = std::max<std::int64_t>(layer.params.integer(0, 1), 1);
  // The weights have one row of the input for each output, or else all of the input.
  const bool by_rows = in[0].w == layer.params.integer(2, 0) / out;
  if (in[0].rank == 2 && in[0].h > 1 && by_rows) return {ncnn_plane(out, in[0].h)};
  return {line(out)};
}

Shapes gemm(const NcnnLayer& layer, Inputs in) {
  const NcnnProduct sizes = ncnn_gemm_sizes(layer.params, in);
  const bool turned = layer.params.integer(14, 0) != 0;
  if (layer.params.integer(11, 0) != 0) return {volume(sizes.n, 1, sizes.m)};
  return {turned ? ncnn_plane(sizes.m, sizes.n) : ncnn_plane(sizes.n, sizes.m)};
}

Shapes mat_mul(const NcnnLayer& layer, Inputs in) {
  NcnnShape out = in[0];
  if (in.size() > 1) {
    out.w = layer.params.integer(0, 0) != 0 ? in[1].h : in[1].w;
    out.rank = std::max(in[0].rank, in[1].rank);
    out.c = std::max(in[0].c, in[1].c);
    out.d = std::max(in[0].d, in[1].d);
  }
  return {out};
}

// Returns the shape of the result and, of layers with a cache, those of the keys and values, in
// which the new ones are appended to the old ones.
Shapes attention(const NcnnLayer& layer, Inputs in) {
  Shapes out(layer.outputs.size(), in[0]);
  if (in.size() >= 3) out[0].w = in[2].w;
  for (std::size_t i = 1; i < out.size() && i < 3 && in.size() >= 3; ++i) {
    out[i] = in[i];
    // The caches are the last two inputs.
    if (in.size() >= 5) out[i].h += in[in.size() - 3 + i].rank == 3 ? in[in.size() - 3 + i].h : 0;
  }
  return out;
}

Shapes multi_head_attention(const NcnnLayer& layer, Inputs in) {
  Shapes out(layer.outputs.size(), in[0]);
  const std::int64_t width = std::max<std::int64_t>(layer.params.integer(0, 1), 1);
  out[0].w = std::max<std::int64_t>(layer.params.integer(2, 0) / width, 1);
  return out;
}

Shapes concat(const NcnnLayer& layer, Inputs in) {
  NcnnShape out = in[0];
  const std::int64_t number = layer.params.integer(0, 0);
  if (std::int64_t* size = out.axis(number)) {
    for (std::size_t i = 1; i < in.size(); ++i) {
      NcnnShape other = in[i];
      if (std::int64_t* more = other.axis(number)) *size = std::min(*size + *more, kNcnnMaxSize);
    }
  }
  return {out};
}

Shapes slice(const NcnnLayer& layer, Inputs in) {
  Shapes out(layer.outputs.size(), in[0]);
  const std::int64_t number = layer.params.integer(1, 0);
  std::int64_t* whole = out.empty() ? nullptr : out[0].axis(number);
  if (whole == nullptr) return out;
  const std::int64_t total = *whole;
  const std::vector<double>& sizes = layer.params.array(0);
  const std::vector<double>& starts = layer.params.array(2);
  std::int64_t used = 0;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::int64_t left = std::max<std::int64_t>(total - used, 0);
    // Parts without a size of their own get equal shares of the rest.
    std::int64_t part = left / static_cast<std::int64_t>(out.size() - i);
    if (i < sizes.size() && sizes[i] > 0) part = bounded(sizes[i]);
    if (!starts.empty()) {
      const std::int64_t end = i < starts.size() ? bounded(starts[i]) : total;
      part = std::max<std::int64_t>(end - used, 0);
    }
    part = std::min(part, left);
    *out[i].axis(number) = part;
    used += part;
  }
  return out;
}

Shapes reshape(const NcnnLayer& layer, Inputs in) {
  const NcnnParams& p = layer.params;
  const double total = in[0].elements();
  const std::int64_t w = p.integer(0, kUnset), h = p.integer(1, kUnset);
  const std::int64_t d = p.integer(11, kUnset), c = p.integer(2, kUnset);
  if (const auto sizes = ncnn_evaluate(p.text(6), in); sizes && sizes->size() <= 4) {
    NcnnShape shape;
    shape.rank = static_cast<int>(sizes->size());
    double known = 1.0;
    for (int i = 0; i < shape.rank; ++i) {  // innermost first
      const double size = (*sizes)[static_cast<std::size_t>(i)];
      if (size > 0) known *= size;
    }
    for (int i = 0; i < shape.rank; ++i) {
      const double size = (*sizes)[static_cast<std::size_t>(i)];
      *shape.axis(-1 - i) = bounded(size > 0 ? size : std::floor(total / known));
    }
    return {shape};
  }
  NcnnShape out;
  out.rank = w == kUnset ? 0 : h == kUnset ? 1 : c == kUnset ? 2 : d == kUnset ? 3 : 4;
  if (out.rank == 0) return {line(bounded(total))};
  double rest = total;
  std::int64_t* open = nullptr;
  const auto set = [&](std::int64_t& size, std::int64_t given, std::int64_t old) {
    if (given == kUnset) return;
    if (given == -1) {
      open = &size;
      return;
    }
    size = given == 0 ? old : given;
    rest /= std::max(static_cast<double>(size), 1.0);
  };
  set(out.w, w, in[0].w);
  set(out.h, h, in[0].h);
  set(out.d, d, in[0].d);
  set(out.c, c, in[0].c);
  if (open != nullptr) *open = bounded(std::floor(rest));
  return {out};
}

Shapes expand_dims(const NcnnLayer& layer, Inputs in) {
  NcnnShape out = in[0];
  std::vector<double> axes = layer.params.array(3);
  if (axes.empty()) axes.assign(1, 0.0);
  // The sizes are listed outermost first.
  std::vector<std::int64_t> sizes;
  for (int i = 0; i < out.rank; ++i) sizes.push_back(*out.axis(i));
  for (const double axis : axes) {
    if (sizes.size() >= 4) break;
    const auto place = static_cast<std::int64_t>(axis);
    const auto rank = static_cast<std::int64_t>(sizes.size());
    sizes.insert(
        sizes.begin() + std::clamp<std::int64_t>(place < 0 ? rank + 1 + place : place, 0, rank), 1);
  }
  NcnnShape expanded;
  expanded.rank = static_cast<int>(sizes.size());
  for (int i = 0; i < expanded.rank; ++i) *expanded.axis(i) = sizes[static_cast<std::size_t>(i)];
  return {expanded};
}

Shapes squeeze(const NcnnLayer& layer, Inputs in) {
  const std::vector<double>& axes = layer.params.array(3);
  const NcnnParams& p = layer.params;
  NcnnShape source = in[0];
  std::vector<std::int64_t> sizes;
  for (int i = 0; i < source.rank; ++i) {
    const bool named = std::any_of(axes.begin(), axes.end(), [&](double axis) {
      return static_cast<int>(axis) == i || static_cast<int>(axis) + source.rank == i;
    });
    const bool all = axes.empty() && !p.has(0) && !p.has(1) && !p.has(2) && !p.has(11);
    const std::int64_t size = *source.axis(i);
    const bool by_flag = (&source.w == source.axis(i) && p.integer(0, 0) != 0) ||
                         (&source.h == source.axis(i) && p.integer(1, 0) != 0) ||
                         (&source.c == source.axis(i) && p.integer(2, 0) != 0);
    if (size != 1 || !(named || all || by_flag)) sizes.push_back(size);
  }
  NcnnShape out;
  out.rank = std::max(1, static_cast<int>(sizes.size()));
  for (std::size_t i = 0; i < sizes.size(); ++i) *out.axis(static_cast<std::int64_t>(i)) = sizes[i];
  return {out};
}

Shapes permute(const NcnnLayer& layer, Inputs in) {
  // For each order by its number: the old dimensions that become w, h and c, or w, h, d and c.
  static constexpr std::string_view kVolumes[] = {"whc", "hwc", "wch", "cwh", "hcw", "chw"};
  static constexpr std::string_view kFields[] = {"whdc", "hwdc", "wdhc", "dwhc", "hdwc", "dhwc",
                                                 "whcd", "hwcd", "wchd", "cwhd", "hcwd", "chwd",
                                                 "wdch", "dwch", "wcdh", "cwdh", "dcwh", "cdwh",
                                                 "hdcw", "dhcw", "hcdw", "chdw", "dchw", "cdhw"};
  const NcnnShape& s = in[0];
  const std::int64_t order = layer.params.integer(0, 0);
  if (s.rank == 2 && order == 1) return {ncnn_plane(s.h, s.w)};
  std::string_view letters;
  if (s.rank == 3 && order >= 0 && order < 6) letters = kVolumes[order];
  if (s.rank == 4 && order >= 0 && order < 24) letters = kFields[order];
  NcnnShape out = s;
  for (std::size_t i = 0; i < letters.size(); ++i) {
    const char from = letters[i];
    *out.axis(-1 - static_cast<std::int64_t>(i)) = from == 'w'   ? s.w
                                                   : from == 'h' ? s.h
                                                   : from == 'd' ? s.d
                                                                 : s.c;
  }
  return {out};
}

Shapes tile(const NcnnLayer& layer, Inputs in) {
  const std::vector<double>& repeats = layer.params.array(2);
  NcnnShape out = in[0];
  const auto multiply = [&](std::int64_t axis, double times) {
    if (std::int64_t* size = out.axis(axis)) *size = bounded(static_cast<double>(*size) * times);
  };
  if (repeats.empty()) multiply(layer.params.integer(0, 0), layer.params.number(1, 1.0));
  if (repeats.size() > static_cast<std::size_t>(out.rank) && repeats.size() <= 4) {
    NcnnShape wider;
    wider.rank = static_cast<int>(repeats.size());
    for (int i = 1; i <= out.rank; ++i) *wider.axis(-i) = *out.axis(-i);
    out = wider;
  }
  for (std::size_t i = 0; i < repeats.size() && i < 4; ++i) {
    multiply(static_cast<std::int64_t>(i) - static_cast<std::int64_t>(repeats.size()), repeats[i]);
  }
  return {out};
}

Shapes crop(const NcnnLayer& layer, Inputs in) {
  const NcnnParams& p = layer.params;
  if (in.size() > 1 && p.text(19).empty()) {
    NcnnShape out = in[1];
    if (out.rank < in[0].rank) out = in[0], out.w = in[1].w, out.h = in[1].h;
    return {out};
  }
  NcnnShape out = in[0];
  const auto list = [&](int id, int text_id) {
    return ncnn_evaluate(p.text(text_id), in).value_or(p.array(id));
  };
  const std::vector<double> starts = list(9, 19), ends = list(10, 20), axes = list(11, 21);
  if (!starts.empty()) {
    for (std::size_t i = 0; i < starts.size() && i < ends.size(); ++i) {
      std::int64_t* size = out.axis(i < axes.size() ? static_cast<std::int64_t>(axes[i])
                                                    : static_cast<std::int64_t>(i));
      if (size == nullptr) continue;
      const auto place = [&](double at) {
        return std::clamp(at < 0 ? static_cast<double>(*size) + at : at, 0.0,
                          static_cast<double>(*size));
      };
      *size = bounded(place(ends[i]) - place(starts[i]));
    }
    return {out};
  }
  const auto cut = [&](std::int64_t& size, int before, int given, int after) {
    const std::int64_t wanted = p.integer(given, 0);
    const std::int64_t left = size - p.integer(before, 0) - p.integer(after, 0);
    size = bounded(static_cast<double>(wanted > 0 ? std::min(wanted, left) : left));
  };
  cut(out.w, 0, 3, 6);
  if (out.rank >= 2) cut(out.h, 1, 4, 7);
  if (out.rank >= 4) cut(out.d, 13, 14, 15);
  if (out.rank >= 3) cut(out.c, 2, 5, 8);
  return {out};
}

Shapes interp(const NcnnLayer& layer, Inputs in) {
  const NcnnParams& p = layer.params;
  NcnnShape out = in[0];
  if (const auto sizes = ncnn_evaluate(p.text(9), in)) {
    out.w = bounded((*sizes)[0]);
    if (sizes->size() > 1) out.h = bounded((*sizes)[1]);
    return {out};
  }
  if (in.size() > 1) {
    out.w = in[1].w, out.h = in[1].h;
    return {out};
  }
  const std::int64_t h = p.integer(3, 0), w = p.integer(4, 0);
  out.h = h > 0 ? h : bounded(static_cast<double>(out.h) * p.number(1, 1.0));
  out.w = w > 0 ? w : bounded(static_cast<double>(out.w) * p.number(2, 1.0));
  return {out};
}

Shapes padding(const NcnnLayer& layer, Inputs in) {
  const NcnnParams& p = layer.params;
  NcnnShape out = in[0];
  const auto grow = [&](std::int64_t& size, int before, int after) {
    size = bounded(static_cast<double>(size + p.integer(before, 0) + p.integer(after, 0)));
  };
  grow(out.w, 2, 3);
  if (out.rank >= 2) grow(out.h, 0, 1);
  if (out.rank >= 3) grow(out.rank == 4 ? out.d : out.c, 7, 8);
  return {out};
}

Shapes pixel_shuffle(const NcnnLayer& layer, Inputs in) {
  return pixels(layer, in, false);
}
Shapes reorg(const NcnnLayer& layer, Inputs in) {
  return pixels(layer, in, true);
}

Shapes reduction(const NcnnLayer& layer, Inputs in) {
  const NcnnParams& p = layer.params;
  const std::vector<double>& axes = p.array(3);
  NcnnShape source = in[0];
  if (p.integer(1, 1) != 0 || axes.empty()) return {line(1)};
  const bool keep = p.integer(4, 0) != 0;
  for (const double axis : axes) {
    if (std::int64_t* size = source.axis(static_cast<std::int64_t>(axis))) *size = keep ? 1 : 0;
  }
  if (keep) return {source};
  std::vector<std::int64_t> left;
  for (int i = 0; i < source.rank; ++i) {
    if (*source.axis(i) != 0) left.push_back(*source.axis(i));
  }
  NcnnShape out;
  out.rank = std::max(1, static_cast<int>(left.size()));
  for (std::size_t i = 0; i < left.size(); ++i) *out.axis(static_cast<std::int64_t>(i)) = left[i];
  return {out};
}

// Returns the larger size along each dimension. A blob of fewer dimensions is aligned with the
// outermost ones, as one value for each channel is. A line that does not fit there is taken as a
// row.
Shapes broadcast(const NcnnLayer&, Inputs in) {
  NcnnShape out = in[0];
  for (NcnnShape other : in.subspan(1)) {
    if (other.rank > out.rank) std::swap(out, other);
    const int behind = out.rank - other.rank;
    const bool row = behind > 0 && other.rank == 1 && other.w != *out.axis(0);
    if (row && other.w != out.w && out.w != 1) continue;  // it fits neither way and is ignored
    for (int i = 0; i < other.rank; ++i) {
      std::int64_t& size = *out.axis(row ? -1 : i);
      size = std::max(size, *other.axis(i));
    }
  }
  return {out};
}

Shapes flatten(const NcnnLayer&, Inputs in) {
  return {line(bounded(in[0].elements()))};
}

Shapes embed(const NcnnLayer& layer, Inputs in) {
  return {ncnn_plane(layer.params.integer(0, 1), bounded(in[0].elements()))};
}

Shapes recurrent(const NcnnLayer& layer, Inputs in) {
  const std::int64_t hidden = layer.params.integer(0, 1);
  const std::int64_t ways = layer.params.integer(2, 0) == 2 ? 2 : 1;
  Shapes out(layer.outputs.size(), ncnn_plane(hidden, ways));  // of the last states
  out[0] = ncnn_plane(bounded(static_cast<double>(hidden * ways)), in[0].h);
  return out;
}

}  // namespace ncnn_shapes
}  // namespace doppler::formats
