# Build options and the flags that every target of ours gets.

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

option(DOPPLER_BUILD_APP "Build the dopp command" ON)
option(DOPPLER_BUILD_TESTS "Build the tests (GoogleTest, rapidcheck)" OFF)
option(DOPPLER_BUILD_BENCH "Build the benchmarks (Google Benchmark)" OFF)
option(DOPPLER_BUILD_EXAMPLES "Build the examples" OFF)
option(DOPPLER_BUILD_FUZZ "Build the fuzz targets (clang, libFuzzer)" OFF)
option(DOPPLER_UNITY "Compile sources in larger units, with precompiled headers" OFF)
option(DOPPLER_WERROR "Treat warnings as errors" OFF)
option(DOPPLER_WITH_SIMGRID "Cross-check the simulator against SimGrid in the tests" OFF)
option(DOPPLER_WITH_RIVALS "Benchmark the engine beside StarPU and oneTBB" OFF)
set(DOPPLER_SANITIZE "" CACHE STRING "Sanitizers, as -fsanitize takes them (e.g. address,undefined)")

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

add_library(doppler_flags INTERFACE)
target_compile_options(doppler_flags INTERFACE -Wall -Wextra -Wshadow -Wnon-virtual-dtor
                                               -Woverloaded-virtual)
# GCC 12 sees overlaps and overreads in its own std::string and std::vector that are not there
# (gcc.gnu.org/PR105651 and the like).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(doppler_flags INTERFACE -Wno-restrict -Wno-stringop-overread)
  # In precompiled headers it also takes its own for ours; presets without them keep these two.
  if(DOPPLER_UNITY)
    target_compile_options(doppler_flags INTERFACE -Wno-array-bounds -Wno-stringop-overflow)
  endif()
endif()
# Simulated times are compared exactly and must not depend on whether a compiler fuses a
# multiplication with an addition. Nobody reads errno after a function of <cmath>, and setting it keeps
# loops with square roots from being vectorised.
target_compile_options(doppler_flags INTERFACE -ffp-contract=off -fno-math-errno)
if(DOPPLER_WERROR)
  target_compile_options(doppler_flags INTERFACE -Werror)
endif()
if(DOPPLER_SANITIZE)
  target_compile_options(doppler_flags INTERFACE -fsanitize=${DOPPLER_SANITIZE}
                                                 -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(doppler_flags INTERFACE -fsanitize=${DOPPLER_SANITIZE})
endif()
