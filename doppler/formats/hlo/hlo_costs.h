// Costs of HLO instructions: flops, and bytes moved between memory and the device; and the way in
// which each opcode is treated. HloCosts sums up the bodies of fusions, loops, calls and branches,
// each computation once, and is not thread safe. All else is pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "doppler/formats/hlo/hlo_module.h"
#include "doppler/formats/hlo/hlo_works.h"
#include "doppler/formats/work_list.h"
#include "doppler/kernel/work.h"

namespace doppler::formats {

struct HloCost {
  double flops = 0.0;
  double bytes_read = 0.0;
  double bytes_written = 0.0;
  bool product = false;  // has a dot or a convolution in it
  // The kernels that it runs, each with its class, flops and bytes, and its type if that is known.
  std::vector<kernel::Work> works = {};
};

// The way in which an instruction is treated in the graph.
enum class HloKind {
  kWork,
  kView,       // its only relevant operand under another shape: bitcast, reshape, broadcast, …
  kGenerated,  // made from nothing where it is needed: iota, partition-id, …
  kTuple,      // puts operands together
  kElement,    // takes one out of a tuple
  kParameter,
  kConstant,
  kCall,  // a computation whose instructions can take its place
};
HloKind hlo_kind(const HloInstruction& instruction);

// Returns whether the work depends on its operands alone, so that compilers do it ahead of time if
// these are constants.
bool hlo_foldable(const HloInstruction& instruction);
// Returns whether the work must be done even if nothing reads its result.
bool hlo_has_effect(const HloInstruction& instruction);
bool hlo_is_collective(std::string_view opcode);
// Returns "all-gather" for "all-gather-start", "-update" and "-done", and "async" for those that
// name a computation.
std::string_view hlo_without_phase(std::string_view opcode);
// Returns which element of the shape of an asynchronous operation's start is its result; nothing if
// all of it is. Such operations hand a tuple from their start to their done: (operands, result, …),
// or (result, …) for a copy, send or recv.
std::optional<std::size_t> hlo_async_result(std::string_view opcode, const HloShape& shape);

// The costs of the instructions of one module.
class HloCosts {
 public:
  // The arguments must outlive this. Throws InputError if an instruction calls a computation that
  // does not exist, or a computation calls itself.
  HloCosts(const std::string& file, std::string_view text, const HloModule& module);

  // Returns the cost of an instruction with all that it calls.
  HloCost cost(const HloComputation& computation, const HloInstruction& instruction);

  // Returns the computation that an attribute of the instruction names, or null if it has no such
  // attribute.
  const HloComputation* callee(const HloInstruction& instruction, std::string_view key) const;
  // Returns how many times a loop runs: the compiler's note, else the bound that its condition
  // compares with, else nothing.
  std::optional<double> trip_count(const HloInstruction& loop) const;

  // Return what cost() had to guess so far: opcodes and custom-call targets without a rule, with
  // their numbers, and the number of loops without a known count.
  const std::map<std::string, std::size_t>& without_rule() const { return without_rule_; }
  std::size_t loops_without_count() const { return loops_without_count_; }

 private:
  struct Memo {
    bool done = false;
    HloCost cost;
  };
  // Adds up costs and their works.
  class Sum {
   public:
    void add(const HloCost& cost, double times = 1.0);
    HloCost total() &&;

   private:
    HloCost total_;
    WorkList works_;
  };

  [[noreturn]] void fail(const HloInstruction& instruction, const std::string& message) const;
  void check_calls() const;
  std::vector<std::uint32_t> callees(const HloInstruction& instruction) const;
  const HloCost& sum_of(const HloComputation& computation);
  HloCost fusion(const HloInstruction& instruction);
  HloCost loop(const HloInstruction& instruction);
  HloCost dearest_branch(const HloInstruction& instruction);

  // These return what an instruction on its own computes: its flops, and one work without flops and
  // bytes. `out` is its shape without what an asynchronous start puts around it.
  HloCost computed(const HloComputation& computation, const HloInstruction& instruction,
                   std::string_view opcode, const HloShape& out);
  HloCost custom_call(const HloComputation& computation, const HloInstruction& instruction,
                      const HloShape& out);
  // Sets the bytes that it moves.
  static void add_traffic(const HloComputation& computation, const HloInstruction& instruction,
                          std::string_view opcode, const HloShape& out, HloCost& cost);
  double body_flops(const HloInstruction& instruction);

  // A reader of an instruction, and which of its operands that is.
  struct Use {
    std::uint32_t reader, operand;
  };
  using Uses = std::vector<std::vector<Use>>;  // by instruction that is read
  const Uses& uses_of(const HloComputation& computation);
  double bytes_read_of(const HloComputation& computation, std::uint32_t value, int depth);

  const std::string& file_;
  std::string_view text_;
  const HloModule& module_;
  std::unordered_map<std::string_view, std::uint32_t> by_name_;
  std::vector<Memo> sums_;  // by computation
  std::unordered_map<const HloComputation*, Uses> uses_;
  std::unordered_map<const HloInstruction*, double> bytes_read_;
  std::map<std::string, std::size_t> without_rule_;
  std::size_t loops_without_count_ = 0;
};

// --- convolutions, also those that vendor libraries do ---

// Returns the multiplications and additions of a convolution with the instruction's window and
// dim_labels. Taps on padding, and on the zeros that dilation puts between elements, are not
// counted, since compilers for TPUs write products as convolutions whose window is outside the
// input nearly everywhere.
double hlo_convolution_flops(const HloInstruction& instruction, const HloShape& input,
                             const HloShape& kernel, const HloShape& out);

// Returns the flops of cuDNN's gradients, whose windows and labels are those of the forward
// convolution. `other` is the gradient of its result, from which both gradients are computed.
double hlo_convolution_gradient_flops(const HloInstruction& instruction, const HloShape& other,
                                      const HloShape& kernel);

// Return the products that have these flops; see kernel::Work. A convolution that sums over no
// window but only over channels, as compilers for TPUs write products, is a product.
kernel::Work hlo_convolution_work(const HloInstruction& instruction, const HloShape& input,
                                  const HloShape& kernel, const HloShape& out);
// The result of the gradient for the input has its images, that for the kernel its taps as rows.
kernel::Work hlo_input_gradient_work(const HloInstruction& instruction, const HloShape& other,
                                     const HloShape& kernel, const HloShape& out);
kernel::Work hlo_kernel_gradient_work(const HloInstruction& instruction, const HloShape& other,
                                      const HloShape& kernel);

}  // namespace doppler::formats
