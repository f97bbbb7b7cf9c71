// What HLO instructions cost: flops, and bytes moved between memory and the device. Bodies of
// fusions, loops, calls and branches are summed up, each computation once.
//
// Not thread safe.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "doppler/formats/hlo/hlo_module.h"

namespace doppler::formats {

struct HloCost {
  double flops = 0.0;
  double bytes_read = 0.0;
  double bytes_written = 0.0;
  bool product = false;  // has a dot or a convolution in it

  void add(const HloCost& other, double times = 1.0);
};

// How an instruction is treated in the graph.
enum class HloKind {
  kWork,
  kView,       // its only operand of interest under another shape: bitcast, reshape, broadcast, …
  kGenerated,  // made from nothing, where it is needed: iota, partition-id, …
  kTuple,      // puts operands together
  kElement,    // takes one out of a tuple
  kParameter,
  kConstant,
  kCall,  // a computation that may as well stand here
};
HloKind hlo_kind(const HloInstruction& instruction);

// True for work that depends on its operands alone and that compilers do ahead where these are
// constants.
bool hlo_foldable(const HloInstruction& instruction);
// True for work that must happen even where nobody reads its result.
bool hlo_has_effect(const HloInstruction& instruction);
bool hlo_is_collective(std::string_view opcode);
// "all-gather" of "all-gather-start", "-update" and "-done"; "async" of those that name a
// computation.
std::string_view hlo_without_phase(std::string_view opcode);
// Asynchronous operations hand a tuple from their start to their done, (operands, result, …), or
// (result, …) for a copy, send or recv. Which element of such a shape is the result; nothing where
// all of it is.
std::optional<std::size_t> hlo_async_result(std::string_view opcode, const HloShape& shape);

class HloCosts {
 public:
  // Both must outlive this. Throws InputError where an instruction calls a computation that is not
  // there, or a computation calls itself.
  HloCosts(const std::string& file, std::string_view text, const HloModule& module);

  HloCost cost(const HloComputation& computation, const HloInstruction& instruction);

  // Null where the instruction has no such attribute.
  const HloComputation* callee(const HloInstruction& instruction, std::string_view key) const;
  // How often a loop runs: what the compiler noted, else the bound that its condition compares
  // with.
  std::optional<double> trip_count(const HloInstruction& loop) const;

  // Things met that cost() had to guess: opcodes and custom-call targets without a rule with their
  // numbers, and loops without a known count.
  const std::map<std::string, std::size_t>& without_rule() const { return without_rule_; }
  std::size_t loops_without_count() const { return loops_without_count_; }

 private:
  struct Memo {
    bool done = false;
    HloCost cost;
  };

  [[noreturn]] void fail(const HloInstruction& instruction, const std::string& message) const;
  void check_calls() const;
  std::vector<std::uint32_t> callees(const HloInstruction& instruction) const;
  HloCost sum_of(const HloComputation& computation);
  HloCost fusion(const HloComputation& computation, const HloInstruction& instruction);
  // `results`: its shape, less what an asynchronous start puts around it.
  HloCost custom_call(const HloComputation& computation, const HloInstruction& instruction,
                      const HloShape& results);
  double body_flops(const HloInstruction& instruction);

  // Who reads an instruction, and as which operand; by instruction.
  struct Use {
    std::uint32_t reader, operand;
  };
  using Uses = std::vector<std::vector<Use>>;
  const Uses& uses_of(const HloComputation& computation);
  double bytes_read_of(const HloComputation& computation, std::uint32_t value, int depth);

  const std::string& file_;
  std::string_view text_;
  const HloModule& module_;
  std::unordered_map<std::string_view, std::uint32_t> by_name_;
  std::vector<Memo> sums_;  // of each computation
  std::unordered_map<const HloComputation*, Uses> uses_;
  std::unordered_map<const HloInstruction*, double> bytes_read_;
  std::map<std::string, std::size_t> without_rule_;
  std::size_t loops_without_count_ = 0;
};

// What convolutions of HLO cost, also those that vendor libraries do.

// Multiplications and additions of a convolution with the instruction's window and dim_labels. Taps
// on padding and on the zeros that dilation puts between elements are not counted: compilers for
// TPUs write products as convolutions that hang over their input nearly everywhere.
double hlo_convolution_flops(const HloInstruction& instruction, const HloShape& input,
                             const HloShape& kernel, const HloShape& out);

// cuDNN's gradients, whose windows and labels are those of the convolution forward: `other` is the
// gradient of its result, which both work from.
double hlo_convolution_gradient_flops(const HloInstruction& instruction, const HloShape& other,
                                      const HloShape& kernel);

}  // namespace doppler::formats
