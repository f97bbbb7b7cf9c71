# Fails the build on an include that the architecture forbids. Runs only when a source changed.
find_package(Python3 COMPONENTS Interpreter QUIET)
if(Python3_FOUND)
  file(GLOB_RECURSE layered CONFIGURE_DEPENDS
       "${PROJECT_SOURCE_DIR}/doppler/*.h" "${PROJECT_SOURCE_DIR}/doppler/*.cc"
       "${PROJECT_SOURCE_DIR}/lab/*.h" "${PROJECT_SOURCE_DIR}/lab/*.cc"
       "${PROJECT_SOURCE_DIR}/app/*.h" "${PROJECT_SOURCE_DIR}/app/*.cc")
  set(stamp "${PROJECT_BINARY_DIR}/check_layers.stamp")
  add_custom_command(
      OUTPUT ${stamp}
      COMMAND Python3::Interpreter "${PROJECT_SOURCE_DIR}/tools/check_layers.py"
              "${PROJECT_SOURCE_DIR}"
      COMMAND ${CMAKE_COMMAND} -E touch ${stamp}
      DEPENDS ${layered} "${PROJECT_SOURCE_DIR}/tools/check_layers.py"
              "${PROJECT_SOURCE_DIR}/doppler/CMakeLists.txt"
      COMMENT "Checking which module includes which"
      VERBATIM)
  add_custom_target(check_layers ALL DEPENDS ${stamp})
endif()
