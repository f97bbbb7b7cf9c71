# Installs the libraries, their headers and what find_package(doppler) reads. Users link
# doppler::doppler (everything) or single modules such as doppler::sim.
include(CMakePackageConfigHelpers)

add_library(doppler_doppler INTERFACE)
add_library(doppler::doppler ALIAS doppler_doppler)
target_link_libraries(doppler_doppler INTERFACE doppler_api)
set_target_properties(doppler_doppler PROPERTIES EXPORT_NAME doppler)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/doppler")
get_property(modules GLOBAL PROPERTY DOPPLER_MODULES)
install(TARGETS ${modules} doppler_doppler EXPORT doppler-targets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT doppler-targets NAMESPACE doppler:: DESTINATION ${package_dir})
install(DIRECTORY "${PROJECT_SOURCE_DIR}/doppler" DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.h")

configure_package_config_file("${CMAKE_CURRENT_LIST_DIR}/doppler-config.cmake.in"
                              "${PROJECT_BINARY_DIR}/doppler-config.cmake"
                              INSTALL_DESTINATION ${package_dir})
# Before 1.0 a minor version may change the interface.
write_basic_package_version_file("${PROJECT_BINARY_DIR}/doppler-config-version.cmake"
                                 COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/doppler-config.cmake"
              "${PROJECT_BINARY_DIR}/doppler-config-version.cmake"
              "${CMAKE_CURRENT_LIST_DIR}/FindMetis.cmake"
        DESTINATION ${package_dir})
