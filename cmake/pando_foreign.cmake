# The foreign libraries, each as an imported target `pando_foreign::<name>`. Used by the build, and
# installed beside pandoConfig.cmake for projects that link the static library.
include_guard(GLOBAL)

# name: header, library ("-" if it is header-only), Debian package
set(PANDO_FOREIGN_TABLE
  "absl: absl/synchronization/mutex.h absl_synchronization libabsl-dev"
  "archive: archive.h archive libarchive-dev"
  "beast: boost/beast/http.hpp - libboost1.81-dev"
  "crypto: openssl/evp.h crypto libssl-dev"
  "curl: curl/curl.h curl libcurl4-openssl-dev"
  "dnnl: dnnl.hpp dnnl libdnnl-dev"
  "fmt: fmt/core.h fmt libfmt-dev"
  "gpr: grpc/support/time.h gpr libgrpc++-dev"
  "grpc: grpcpp/grpcpp.h grpc++ libgrpc++-dev"
  "grpc_core: grpc/grpc.h grpc libgrpc++-dev"
  "hdf5: hdf5.h hdf5 libhdf5-dev"
  "nghttp2: nghttp2/nghttp2.h nghttp2 libnghttp2-dev"
  "hwloc: hwloc.h hwloc libhwloc-dev"
  "jpeg: jpeglib.h jpeg libjpeg62-turbo-dev"
  "json: nlohmann/json.hpp - nlohmann-json3-dev"
  "pcre2: pcre2.h pcre2-8 libpcre2-dev"
  "png: png.h png libpng-dev"
  "protobuf: google/protobuf/message.h protobuf libprotobuf-dev"
  "ssl: openssl/ssl.h ssl libssl-dev"
  "yaml_cpp: yaml-cpp/yaml.h yaml-cpp libyaml-cpp-dev"
  "zlib: zlib.h z zlib1g-dev")

# pando_foreign(<name>...): finds each library once and defines pando_foreign::<name>, or stops with
# the name of the package that is missing.
function(pando_foreign)
  foreach(name IN LISTS ARGN)
    if(TARGET pando_foreign::${name})
      continue()
    endif()
    if(name STREQUAL "mpi")
      pando_foreign_mpi()
      continue()
    endif()
    set(row ${PANDO_FOREIGN_TABLE})
    list(FILTER row INCLUDE REGEX "^${name}: ")
    if(NOT row)
      message(FATAL_ERROR "pando: unknown library '${name}'; cmake/pando_foreign.cmake has "
                          "${PANDO_FOREIGN_TABLE}")
    endif()
    string(REGEX MATCH "^[^ ]+ ([^ ]+) ([^ ]+) ([^ ]+)$" row "${row}")
    set(header ${CMAKE_MATCH_1})
    set(library ${CMAKE_MATCH_2})
    set(package ${CMAKE_MATCH_3})
    # HDF5 exists in a serial and in MPI flavours; we use the serial one.
    find_path(PANDO_${name}_INCLUDE_DIR ${header} PATH_SUFFIXES hdf5/serial)
    set(found ${PANDO_${name}_INCLUDE_DIR})
    if(NOT library STREQUAL "-")
      find_library(PANDO_${name}_LIBRARY ${library} PATH_SUFFIXES hdf5/serial)
      if(NOT PANDO_${name}_LIBRARY)
        set(found FALSE)
      endif()
      mark_as_advanced(PANDO_${name}_LIBRARY)
    endif()
    mark_as_advanced(PANDO_${name}_INCLUDE_DIR)
    if(NOT found)
      message(FATAL_ERROR "pando: cannot find ${header} or its library; "
                          "on Debian install ${package}")
    endif()
    add_library(pando_foreign::${name} INTERFACE IMPORTED GLOBAL)
    set_target_properties(pando_foreign::${name} PROPERTIES
      INTERFACE_INCLUDE_DIRECTORIES ${PANDO_${name}_INCLUDE_DIR})
    if(NOT library STREQUAL "-")
      set_target_properties(pando_foreign::${name} PROPERTIES
        INTERFACE_LINK_LIBRARIES ${PANDO_${name}_LIBRARY})
    endif()
  endforeach()
endfunction()

# pando_find_mpi(<found>): finds MPI by its compiler wrapper, the first one on PATH; choose another
# with -DMPI_CXX_COMPILER=mpicxx.mpich or -DMPI_HOME=... Sets PANDO_MPI_INCLUDE_DIRS,
# PANDO_MPI_DEFINITIONS and PANDO_MPI_LIBRARIES in the caller.
function(pando_find_mpi found)
  set(MPI_CXX_SKIP_MPICXX TRUE)
  find_package(MPI QUIET COMPONENTS CXX)
  set(${found} ${MPI_CXX_FOUND} PARENT_SCOPE)
  set(libraries ${MPI_CXX_LIBRARIES})  # without the C++ interface, which we do not use
  list(FILTER libraries EXCLUDE REGEX "mpi_cxx|mpichcxx|mpicxx")
  set(PANDO_MPI_INCLUDE_DIRS ${MPI_CXX_INCLUDE_DIRS} PARENT_SCOPE)
  set(PANDO_MPI_DEFINITIONS ${MPI_CXX_COMPILE_DEFINITIONS} PARENT_SCOPE)
  set(PANDO_MPI_LIBRARIES ${libraries} PARENT_SCOPE)
endfunction()

function(pando_foreign_mpi)
  pando_find_mpi(found)
  if(NOT found)
    message(FATAL_ERROR "pando: cannot find an MPI library; on Debian install libopenmpi-dev, or "
                        "build without MPI: -DPANDO_MPI=OFF")
  endif()
  add_library(pando_foreign::mpi INTERFACE IMPORTED GLOBAL)
  set_target_properties(pando_foreign::mpi PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${PANDO_MPI_INCLUDE_DIRS}"
    INTERFACE_COMPILE_DEFINITIONS "${PANDO_MPI_DEFINITIONS}"
    INTERFACE_LINK_LIBRARIES "${PANDO_MPI_LIBRARIES}")
endfunction()

# pando_with_mpi(<out>): whether to use MPI, according to PANDO_MPI (AUTO, ON or OFF).
function(pando_with_mpi out)
  if(PANDO_MPI STREQUAL "AUTO")
    pando_find_mpi(found)
  elseif(PANDO_MPI MATCHES "^(ON|OFF)$")
    set(found ${PANDO_MPI})
  else()
    message(FATAL_ERROR "pando: PANDO_MPI: expected AUTO, ON or OFF, got '${PANDO_MPI}'")
  endif()
  set(${out} ${found} PARENT_SCOPE)
endfunction()

# pando_foreign_packages(<out> <name>...): their Debian packages.
function(pando_foreign_packages out)
  set(packages "")
  foreach(name IN LISTS ARGN)
    set(row ${PANDO_FOREIGN_TABLE})
    list(FILTER row INCLUDE REGEX "^${name}: ")
    if(row)
      string(REGEX REPLACE "^.* " "" package "${row}")
      list(APPEND packages ${package})
    elseif(name STREQUAL "mpi")
      list(APPEND packages libopenmpi-dev)
    endif()
  endforeach()
  set(${out} ${packages} PARENT_SCOPE)
endfunction()

# pando_foreign_linked(<out> <name>...): the given names without header-only libraries.
function(pando_foreign_linked out)
  set(linked "")
  foreach(name IN LISTS ARGN)
    get_target_property(libraries pando_foreign::${name} INTERFACE_LINK_LIBRARIES)
    if(libraries)
      list(APPEND linked ${name})
    endif()
  endforeach()
  set(${out} ${linked} PARENT_SCOPE)
endfunction()
