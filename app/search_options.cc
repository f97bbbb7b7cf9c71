#include "app/search_options.h"

#include "app/interrupt.h"

namespace doppler::app {

place::RunSettings run_settings(const SearchOptions& search) {
  return {.seed = search.seed,
          .objective = search.objective,
          .budget_seconds = search.budget_seconds,
          .max_evaluations = search.max_evaluations,
          .threads = search.threads,
          .stop = StopToken(catch_interrupts()),
          .progress = {}};
}

}  // namespace doppler::app
