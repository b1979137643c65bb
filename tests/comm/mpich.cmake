# The tests of processes once more by MPICH, where it is installed beside the MPI of this build. Only
# the folder comm is compiled again.
find_path(PANDO_MPICH_INCLUDE_DIR mpi.h PATH_SUFFIXES mpich)
find_library(PANDO_MPICH_LIBRARY mpich)
find_program(PANDO_MPICH_MPIEXEC mpiexec.mpich)
mark_as_advanced(PANDO_MPICH_INCLUDE_DIR PANDO_MPICH_LIBRARY PANDO_MPICH_MPIEXEC)
if(NOT TARGET pando_foreign::mpi OR MPIEXEC_EXECUTABLE STREQUAL PANDO_MPICH_MPIEXEC OR PANDO_SANITIZE OR
   NOT PANDO_MPICH_INCLUDE_DIR MATCHES "mpich" OR NOT PANDO_MPICH_LIBRARY OR NOT PANDO_MPICH_MPIEXEC)
  return()
endif()

get_target_property(sources pando_comm SOURCES)
list(TRANSFORM sources PREPEND ${PROJECT_SOURCE_DIR}/src/pando/comm/)
add_library(comm_mpich OBJECT ${sources})
target_include_directories(comm_mpich PUBLIC ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/src)
target_include_directories(comm_mpich SYSTEM PUBLIC ${PANDO_MPICH_INCLUDE_DIR})
target_compile_definitions(comm_mpich PUBLIC MPICH_SKIP_MPICXX)
target_link_libraries(comm_mpich PUBLIC pando_warnings ${PANDO_MPICH_LIBRARY} GTest::gtest
                                        Threads::Threads)
add_executable(comm_mpich_tests ${process_sources})
add_executable(job_program_mpich job_program.cc)
foreach(program IN ITEMS comm_mpich_tests job_program_mpich)
  target_sources(${program} PRIVATE $<TARGET_OBJECTS:pando_base>
                     $<TARGET_OBJECTS:pando_base_hot> $<TARGET_OBJECTS:pando_tensor>)
  target_link_libraries(${program} PRIVATE comm_mpich)
  pando_test_group(mpich ${program})
endforeach()
foreach(ranks IN ITEMS 2 4)
  pando_mpi_test(comm_mpich_${ranks} ${ranks} MPIEXEC ${PANDO_MPICH_MPIEXEC}
                 COMMAND $<TARGET_FILE:comm_mpich_tests> ${process_tests})
endforeach()
pando_comm_job_test(comm_mpich_job ${PANDO_MPICH_MPIEXEC} job_program_mpich)
# The ordinary tests have run them by the other MPI; the stage mpich of .ci/run runs these.
set_tests_properties(comm_mpich_2 comm_mpich_4 comm_mpich_job PROPERTIES LABELS "mpich;mpi;unsanitized")
