# doppler_unity(TARGET [BYTES n] [PRECOMPILE header… | REUSE target])
#
# Where DOPPLER_UNITY is on (the presets release and check), compiles TARGET's sources together, in
# even units of at most about BYTES of text (50000 take some 8 seconds), with the headers PRECOMPILE
# or those of another target that has the same flags. Presets without it compile every source by
# itself, so that each must include what it uses.
function(doppler_unity target)
  cmake_parse_arguments(ARG "" "BYTES;REUSE" "PRECOMPILE" ${ARGN})
  if(NOT DOPPLER_UNITY)
    return()
  endif()
  if(NOT ARG_BYTES)
    set(ARG_BYTES 50000)
  endif()
  get_target_property(sources ${target} SOURCES)
  set(total 0)
  foreach(source IN LISTS sources)
    file(SIZE ${source} size)
    math(EXPR total "${total} + ${size}")
  endforeach()
  math(EXPR units "(${total} + ${ARG_BYTES} - 1) / ${ARG_BYTES}")
  # A source goes to the unit that its middle falls into.
  set(before 0)
  foreach(source IN LISTS sources)
    file(SIZE ${source} size)
    math(EXPR unit "(2 * ${before} + ${size}) * ${units} / (2 * ${total})")
    math(EXPR before "${before} + ${size}")
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${unit})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  # GCC inlines less in a unit that it finds large (above 10,000 instructions), which a unit of many
  # sources always is: reading HLO took 19 % more instructions than when each source was a unit.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${target} PRIVATE "SHELL:--param large-unit-insns=200000")
  endif()
  if(ARG_REUSE)
    target_precompile_headers(${target} REUSE_FROM ${ARG_REUSE})
  elseif(ARG_PRECOMPILE)
    target_precompile_headers(${target} PRIVATE ${ARG_PRECOMPILE})
  endif()
endfunction()

# What nearly every source includes.
set(DOPPLER_COMMON_HEADERS <algorithm> <chrono> <cmath> <cstdint> <functional> <map> <memory>
                           <optional> <span> <string> <string_view> <unordered_map> <utility>
                           <vector> <fmt/format.h>)
