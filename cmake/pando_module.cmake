# Each folder of src/pando is an object library with the same name, and with the dependencies of
# src/LAYERS; together they make the library `pando`.
include(${CMAKE_CURRENT_LIST_DIR}/pando_warnings.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/pando_foreign.cmake)

# Where CMAKE_UNITY_BUILD is on (the presets release, asan and tsan), so many sources are compiled
# as one: headers are parsed and templates compiled once for all. More would save a little more, but
# a change of one source would then compile for longer. Names in unnamed namespaces must be unique
# within a module, and within a test program. Optimising takes most of the time of hot sources.
set(PANDO_UNITY_SOURCES 30)
set(PANDO_HOT_UNITY_SOURCES 10)
set(PANDO_HOT_OPTIONS $<$<CONFIG:Release>:-O3>)
if(PANDO_SANITIZE)
  set(PANDO_HOT_OPTIONS -O1)
endif()

# pando_module(<folder> [SERVER] [SOURCES <file>...] [HOT <file>...] [DEPENDS <folder>...]
#              [FOREIGN <library>...])
# SERVER: a part of the server, not of the library; only its targets compile and link it.
# FOREIGN names rows of cmake/pando_foreign.cmake: dnnl, hdf5, yaml_cpp, ...
# HOT sources loop over bytes, samples or tensors, so they are compiled with -O3; the others as
# CMAKE_CXX_FLAGS_RELEASE says, with -Og by the preset, which compiles in two thirds of the time. The
# preset asan compiles HOT sources with -O1 and the others with -O0, which takes half the time.
function(pando_module name)
  cmake_parse_arguments(ARG "SERVER" "" "SOURCES;HOT;DEPENDS;FOREIGN" ${ARGN})
  set(hot ${name})
  if(ARG_SOURCES)
    pando_module_target(${name} ${PANDO_UNITY_SOURCES} "${ARG_SOURCES}")
    set(hot ${name}_hot)
  endif()
  if(ARG_HOT)
    pando_module_target(${hot} ${PANDO_HOT_UNITY_SOURCES} "${ARG_HOT}")
    target_compile_options(pando_${hot} PRIVATE ${PANDO_HOT_OPTIONS})
  endif()
endfunction()

# pando_module_targets(<out> <folder>...): the object libraries of the folders.
function(pando_module_targets out)
  set(targets "")
  foreach(name IN LISTS ARGN)
    list(APPEND targets pando_${name})
    if(TARGET pando_${name}_hot)
      list(APPEND targets pando_${name}_hot)
    endif()
  endforeach()
  set(${out} ${targets} PARENT_SCOPE)
endfunction()

# A part of pando_module, which sets ARG_SERVER, ARG_DEPENDS and ARG_FOREIGN: one object library.
function(pando_module_target name unity_sources sources)
  add_library(pando_${name} OBJECT ${sources})
  set_target_properties(pando_${name} PROPERTIES UNITY_BUILD_BATCH_SIZE ${unity_sources})
  target_include_directories(pando_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(pando_${name} PRIVATE pando_warnings)
  foreach(library IN LISTS ARG_FOREIGN)
    pando_foreign(${library})
    target_link_libraries(pando_${name} PRIVATE pando_foreign::${library})
  endforeach()
  foreach(dependency IN LISTS ARG_DEPENDS)
    target_link_libraries(pando_${name} PUBLIC pando_${dependency})
  endforeach()
  set(group PANDO)
  if(ARG_SERVER)
    set(group PANDO_SERVER)
    set_target_properties(pando_${name} PROPERTIES EXCLUDE_FROM_ALL ON)
  endif()
  set_property(GLOBAL APPEND PROPERTY ${group}_MODULES pando_${name})
  set_property(GLOBAL APPEND PROPERTY ${group}_FOREIGN ${ARG_FOREIGN})
endfunction()

# pando_test(<folder> [OWN_OPTIONS] SOURCES <file>... [LABELS fast|slow|mpi|tsan|unsanitized...]
#            [FOREIGN <library>...])
# OWN_OPTIONS: the caller adds compile options, so it cannot share the precompiled headers.
# Label tsan: the folder starts threads, so CI also runs its tests under the thread sanitizer. Label
# unsanitized: the folder owns neither memory nor threads, so CI leaves its tests out under the
# address sanitizer. The target sanitized_tests builds all fast ones without that label.
function(pando_test name)
  cmake_parse_arguments(ARG "OWN_OPTIONS" "" "SOURCES;LABELS;FOREIGN" ${ARGN})
  if(NOT ARG_LABELS)
    set(ARG_LABELS fast)
  endif()
  add_executable(${name}_tests ${ARG_SOURCES})
  target_include_directories(${name}_tests PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name}_tests PRIVATE pando pando_warnings GTest::gtest_main)
  foreach(library IN LISTS ARG_FOREIGN)
    pando_foreign(${library})
    target_link_libraries(${name}_tests PRIVATE pando_foreign::${library})
  endforeach()
  target_compile_definitions(${name}_tests PRIVATE
    PANDO_SOURCE_DIR="${PROJECT_SOURCE_DIR}" PANDO_BINARY_DIR="${PROJECT_BINARY_DIR}")
  if(TARGET pando_test_headers AND NOT ARG_OWN_OPTIONS)
    target_precompile_headers(${name}_tests REUSE_FROM pando_test_headers)
  endif()
  add_test(NAME ${name} COMMAND ${name}_tests)
  set(seconds 600)
  if(PANDO_SANITIZE)
    set(seconds 1800)  # sanitizers slow tests down by a factor of three and more
  endif()
  set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT ${seconds})
  foreach(label IN LISTS ARG_LABELS)
    pando_test_group(${label} ${name}_tests)
  endforeach()
  if("fast" IN_LIST ARG_LABELS AND NOT "unsanitized" IN_LIST ARG_LABELS)
    pando_test_group(sanitized ${name}_tests)
  endif()
endfunction()

# pando_server_test(<folder> SOURCES <file>... [FOREIGN <library>...]): as pando_test, but of the
# server. It has the label serving, so only the target serving_tests builds it.
function(pando_server_test name)
  pando_test(${name} ${ARGN} LABELS serving)
  set_target_properties(${name}_tests PROPERTIES EXCLUDE_FROM_ALL ON)
  target_link_libraries(${name}_tests PRIVATE pando_server)
endfunction()

# pando_mpi_test(<name> <ranks> [MPIEXEC <launcher>] COMMAND <program> <argument>...): runs <ranks>
# processes, started by the mpiexec of the MPI that was found or by <launcher>. The environment lets
# Open MPI run as root, on fewer cores than processes and unbound; other launchers do so anyway.
function(pando_mpi_test name ranks)
  cmake_parse_arguments(ARG "" "MPIEXEC" "COMMAND" ${ARGN})
  if(NOT ARG_MPIEXEC)
    set(ARG_MPIEXEC ${MPIEXEC_EXECUTABLE})
  endif()
  add_test(NAME ${name} COMMAND ${ARG_MPIEXEC} -n ${ranks} ${ARG_COMMAND})
  pando_mpi_environment(${name})
  set_tests_properties(${name} PROPERTIES LABELS "fast;mpi;unsanitized" TIMEOUT 120)
endfunction()

function(pando_mpi_environment)
  set_tests_properties(${ARGN} PROPERTIES ENVIRONMENT "OMPI_ALLOW_RUN_AS_ROOT=1;\
OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1;OMPI_MCA_rmaps_base_oversubscribe=1;\
OMPI_MCA_hwloc_base_binding_policy=none")
endfunction()

# pando_test_group(<label> <target>...): makes the target <label>_tests build the targets too.
function(pando_test_group label)
  if(NOT TARGET ${label}_tests)
    add_custom_target(${label}_tests)
  endif()
  if(ARGN)
    add_dependencies(${label}_tests ${ARGN})
  endif()
endfunction()
