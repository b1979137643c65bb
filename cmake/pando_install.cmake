# Installs the library with its headers and its CMake package, for find_package(pando).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/pando)
set(PANDO_LINKED "")
if(NOT BUILD_SHARED_LIBS)
  string(REPLACE ";" " " PANDO_LINKED "${linked}")
endif()
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/pandoConfig.cmake.in
  ${PROJECT_BINARY_DIR}/package/pandoConfig.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/package/pandoConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)

install(TARGETS pando EXPORT pando)
install(EXPORT pando NAMESPACE pando:: FILE pandoTargets.cmake DESTINATION ${package_dir})
install(FILES ${PROJECT_BINARY_DIR}/package/pandoConfig.cmake
              ${PROJECT_BINARY_DIR}/package/pandoConfigVersion.cmake
              ${PROJECT_SOURCE_DIR}/cmake/pando_foreign.cmake
        DESTINATION ${package_dir})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/src/pando DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.h" PATTERN "*_impl.h" EXCLUDE
        # Not in the library, but in the server and the board.
        PATTERN "pando/board" EXCLUDE PATTERN "pando/http" EXCLUDE PATTERN "pando/serve" EXCLUDE
        PATTERN "pando/rest" EXCLUDE PATTERN "pando/grpc" EXCLUDE PATTERN "pando/request" EXCLUDE
        PATTERN "pando/server" EXCLUDE)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/NOTICE
        DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/pando)

# The program is <build>/bin/pando here and <prefix>/bin/pando when installed.
if(TARGET pando_program)
  set_target_properties(pando_program PROPERTIES OUTPUT_NAME pando
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin
    INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
  install(TARGETS pando_program)
  # For users to read and copy from; the program has its own copy built in.
  install(FILES ${PROJECT_SOURCE_DIR}/configs/presets.yml ${PROJECT_SOURCE_DIR}/configs/benchmarks.yml
          DESTINATION ${CMAKE_INSTALL_DATADIR}/pando)
  install(DIRECTORY ${PROJECT_BINARY_DIR}/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1
          FILES_MATCHING PATTERN "*.1")
  install(FILES ${PROJECT_SOURCE_DIR}/completions/pando.bash RENAME pando
          DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
endif()
