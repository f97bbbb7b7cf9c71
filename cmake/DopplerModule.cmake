# doppler_module(NAME [DEPENDS module…] [PRIVATE library…])
#
# One library target per folder doppler/NAME, alias doppler::NAME, holding every .cc file below it.
# tools/check_layers.py holds the same dependency table and fails on an include that is not in it.
function(doppler_module name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;PRIVATE" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/${name}/*.cc")
  add_library(doppler_${name} STATIC ${sources})
  add_library(doppler::${name} ALIAS doppler_${name})
  target_include_directories(doppler_${name} PUBLIC
      $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  list(TRANSFORM ARG_DEPENDS PREPEND doppler_)
  target_link_libraries(doppler_${name} PUBLIC ${ARG_DEPENDS} PRIVATE $<BUILD_INTERFACE:doppler_flags> ${ARG_PRIVATE})
  target_compile_features(doppler_${name} PUBLIC cxx_std_20)
  set_target_properties(doppler_${name} PROPERTIES EXPORT_NAME ${name})
  set_property(GLOBAL APPEND PROPERTY DOPPLER_MODULES doppler_${name})
endfunction()
