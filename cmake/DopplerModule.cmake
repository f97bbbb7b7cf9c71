# doppler_optimise_little(TARGET): compiles code in which no time is spent with -O1, which takes a third
# less time.
function(doppler_optimise_little target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
endfunction()

# doppler_module(NAME [OPTIMISE_LITTLE] [SINGLE_SOURCES] [DEPENDS module…] [PRIVATE library…] [UNIT_BYTES n])
#
# One library target per folder doppler/NAME, alias doppler::NAME, holding every .cc file below it. With
# SINGLE_SOURCES each is compiled by itself, without precompiled headers, in every preset.
# tools/check_layers.py holds the same dependency table and fails on an include that is not in it.
function(doppler_module name)
  cmake_parse_arguments(ARG "OPTIMISE_LITTLE;SINGLE_SOURCES" "UNIT_BYTES" "DEPENDS;PRIVATE" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/${name}/*.cc")
  add_library(doppler_${name} STATIC ${sources})
  target_link_libraries(doppler_${name} PRIVATE $<BUILD_INTERFACE:doppler_flags> ${ARG_PRIVATE})
  if(name STREQUAL "base")
    doppler_unity(doppler_base PRECOMPILE ${DOPPLER_COMMON_HEADERS})
  elseif(NOT ARG_SINGLE_SOURCES)
    doppler_unity(doppler_${name} BYTES "${ARG_UNIT_BYTES}" REUSE doppler_base)
  endif()
  if(ARG_OPTIMISE_LITTLE)
    doppler_optimise_little(doppler_${name})
  endif()
  add_library(doppler::${name} ALIAS doppler_${name})
  target_include_directories(doppler_${name} PUBLIC
      $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  list(TRANSFORM ARG_DEPENDS PREPEND doppler_)
  target_link_libraries(doppler_${name} PUBLIC ${ARG_DEPENDS})
  target_compile_features(doppler_${name} PUBLIC cxx_std_20)
  set_target_properties(doppler_${name} PROPERTIES EXPORT_NAME ${name})
  set_property(GLOBAL APPEND PROPERTY DOPPLER_MODULES doppler_${name})
endfunction()
