// dopp methods
#include <fmt/format.h>

#include "app/commands.h"
#include "app/terminal.h"
#include "doppler/api/doppler.h"
#include "doppler/base/json_writer.h"

namespace doppler::app {

void run(const MethodsRequest& request) {
  const place::Registry methods = api::default_methods();
  if (request.json) {
    JsonWriter json;
    json.begin_object().key("methods").begin_array();
    for (const place::Placer* method : methods.all()) {
      json.begin_object(JsonLayout::kCompact)
          .field("name", method->name())
          .field("summary", method->summary())
          .field("searches", method->uses_budget())
          .end_object();
    }
    print(json.end_array().end_object().take());
    return;
  }
  std::string text;
  for (const place::Placer* method : methods.all()) {
    text += fmt::format("{:<14}{} {}\n", method->name(), method->uses_budget() ? "*" : " ",
                        method->summary());
  }
  print(text + "\n* searches within --budget or --evaluations\n");
}

}  // namespace doppler::app
