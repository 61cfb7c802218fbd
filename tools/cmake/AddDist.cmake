# The project's CMake helpers: one way to add a library, so that every target
# gets the same include roots, warnings, sanitizers and precompiled headers.

if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  add_link_options(-fuse-ld=lld)
  # ccache can share precompiled headers that hold no time.
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:SHELL:-Xclang -fno-pch-timestamp>")
endif()
# With threads, whatever is linked: precompiled headers hold for one way.
add_compile_options(-Wall -Wextra -Wno-unused-parameter -pthread)
if(DIST_SANITIZE)
  # What is undefined fails a test instead of only being printed.
  add_compile_options(-fsanitize=${DIST_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer -g1)
  add_link_options(-fsanitize=${DIST_SANITIZE})
  add_compile_definitions(DIST_SANITIZED)
  if("thread" IN_LIST DIST_SANITIZE)
    # With it, protobuf's maps have two fields more than in the library.
    add_compile_options(-U__SANITIZE_THREAD__)
  endif()
endif()
if(DIST_ENABLE_FUZZERS)
  # libFuzzer is guided by what the libraries execute.
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
if(DIST_ENABLE_ASSERTS)
  string(REPLACE "-DNDEBUG" "" CMAKE_CXX_FLAGS_RELEASE "${CMAKE_CXX_FLAGS_RELEASE}")
endif()
include_directories(${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR} ${CMAKE_SOURCE_DIR}/runtime/include)

# Brings MLIR's CMake modules in. A macro, so that the variables they set reach
# the caller.
macro(dist_use_mlir)
  list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
  if(NOT LLVM_EXTERNAL_LIT AND EXISTS ${LLVM_TOOLS_BINARY_DIR}/lit)
    set(LLVM_EXTERNAL_LIT ${LLVM_TOOLS_BINARY_DIR}/lit CACHE FILEPATH "" FORCE)
  endif()
  set(LLVM_RUNTIME_OUTPUT_INTDIR ${CMAKE_BINARY_DIR}/bin)
  set(LLVM_LIBRARY_OUTPUT_INTDIR ${CMAKE_BINARY_DIR}/lib)
  # Where add_mlir_doc puts docs/.
  set(MLIR_BINARY_DIR ${CMAKE_BINARY_DIR})
  include(TableGen)
  include(AddLLVM)
  include(AddMLIR)
  include_directories(SYSTEM ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
  add_definitions(${LLVM_DEFINITIONS})
  dist_add_precompiled(MLIRLibrary MLIRPrecompiled.h -fPIC ${dist_mlir_flags})
  dist_add_precompiled(MLIRProgram MLIRPrecompiled.h -fPIE ${dist_mlir_flags})
  if(DIST_ENABLE_TESTS)
    dist_add_precompiled(MLIRTestProgram MLIRPrecompiled.h -fPIE ${dist_mlir_flags} ${dist_test_flags})
  endif()
endmacro()

# MLIR's package is built without exceptions; ours throws none across it.
set(dist_mlir_flags -fno-exceptions -Wno-redundant-move)

# To optimize a test takes longer than to run it: two minutes in all. Sanitized code
# is too slow without.
set(dist_test_flags)
if(NOT DIST_SANITIZE)
  set(dist_test_flags -O0)
endif()

# dist_add_precompiled(NAME HEADER FLAGS... [LINK LIBS...]): a header of this folder,
# once for all targets that are compiled with these flags and libraries.
function(dist_add_precompiled name header)
  if(NOT DIST_ENABLE_PCH)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/pch/${name}.cpp CONTENT "")
  add_library(DistPCH${name} OBJECT ${CMAKE_BINARY_DIR}/pch/${name}.cpp)
  set_target_properties(DistPCH${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(DistPCH${name} PRIVATE ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(DistPCH${name} PRIVATE ${ARG_LINK})
  target_precompile_headers(DistPCH${name} PRIVATE ${CMAKE_SOURCE_DIR}/tools/cmake/${header})
endfunction()

# dist_precompiled(TARGET KIND): its C++ sources get the headers of MLIR, the Standard
# library or, a program with the flags of tests, Test or MLIRTest.
function(dist_precompiled target kind)
  if(NOT DIST_ENABLE_PCH)
    return()
  endif()
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "EXECUTABLE")
    target_precompile_headers(${target} REUSE_FROM DistPCH${kind}Program)
  else()
    target_precompile_headers(${target} REUSE_FROM DistPCH${kind}Library)
  endif()
endfunction()

# dist_mlir_target(TARGET): what is compiled against MLIR.
function(dist_mlir_target target)
  target_compile_options(${target} PRIVATE ${dist_mlir_flags})
  dist_precompiled(${target} MLIR)
endfunction()

# dist_add_compiler_library(NAME SOURCES... [LINK LIBS...] [DEPENDS TARGETS...])
# A static library above MLIR; links the MLIR dylib, never its components.
function(dist_add_compiler_library name)
  cmake_parse_arguments(ARG "" "" "LINK;DEPENDS" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  dist_mlir_target(${name})
  target_link_libraries(${name} PUBLIC ${ARG_LINK} MLIR LLVM)
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
endfunction()

# dist_add_tablegen(TARGET FILE.td OUT GENERATOR-ARGS... ...): one call a file,
# pairs separated by the word AND.
function(dist_tablegen target td)
  set(LLVM_TARGET_DEFINITIONS ${td})
  set(args)
  foreach(word ${ARGN} AND)
    if(word STREQUAL "AND")
      mlir_tablegen(${args})
      set(args)
    else()
      list(APPEND args ${word})
    endif()
  endforeach()
  add_public_tablegen_target(${target})
  # The precompiled headers include the dialects'.
  foreach(kind MLIRLibrary MLIRProgram MLIRTestProgram)
    if(TARGET DistPCH${kind})
      add_dependencies(DistPCH${kind} ${target})
    endif()
  endforeach()
endfunction()

# dist_add_runtime_library(NAME SOURCES... [LINK LIBS...]): no LLVM, no MLIR.
function(dist_add_runtime_library name)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PUBLIC ${ARG_LINK})
  dist_precompiled(${name} Standard)
endfunction()

# A test that hangs ends so many seconds after it began: ten times what the
# slowest takes on two cores. lit.cfg.py has the same for its tests.
set(DIST_TEST_SECONDS 600)
if(DIST_SANITIZE)
  set(DIST_TEST_SECONDS 1800)
endif()

# dist_add_test(NAME COMMAND...): the one way to add a test to ctest.
function(dist_add_test name)
  add_test(NAME ${name} COMMAND ${ARGN})
  set_tests_properties(${name} PROPERTIES TIMEOUT ${DIST_TEST_SECONDS})
endfunction()

# dist_test_target(TARGET): a program of tests alone.
function(dist_test_target target)
  target_compile_options(${target} PRIVATE ${dist_test_flags})
  dist_precompiled(${target} Test)
endfunction()

# dist_add_gtest(NAME [MLIR] [OPTIMIZED] SOURCES... [LINK LIBS...])
# MLIR: it is compiled against MLIR, and linked with it. OPTIMIZED: its own code,
# not only what it tests, is long at work.
function(dist_add_gtest name)
  cmake_parse_arguments(ARG "MLIR;OPTIMIZED" "" "LINK" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE ${ARG_LINK} GTest::gtest GTest::gtest_main)
  if(ARG_MLIR)
    target_link_libraries(${name} PRIVATE MLIR LLVM)
  endif()
  if(ARG_MLIR AND ARG_OPTIMIZED)
    dist_mlir_target(${name})
  elseif(ARG_MLIR)
    target_compile_options(${name} PRIVATE ${dist_mlir_flags} ${dist_test_flags})
    dist_precompiled(${name} MLIRTest)
  elseif(ARG_OPTIMIZED)
    dist_precompiled(${name} Standard)
  else()
    dist_test_target(${name})
  endif()
  if("thread" IN_LIST DIST_SANITIZE)
    target_sources(${name} PRIVATE ${CMAKE_SOURCE_DIR}/test/sanitizers/libgomp_forks.cpp)
    target_link_libraries(${name} PRIVATE ${CMAKE_DL_LIBS})
  endif()
  dist_add_test(${name} ${name})
endfunction()

# dist_add_proto_library(NAME FILE.proto): messages as a static library; the
# header is included by its path in the tree.
function(dist_add_proto_library name proto)
  get_filename_component(stem ${proto} NAME_WE)
  set(out ${CMAKE_CURRENT_BINARY_DIR}/${stem}.pb)
  add_custom_command(OUTPUT ${out}.cc ${out}.h
    COMMAND protobuf::protoc --cpp_out=${CMAKE_BINARY_DIR} -I${CMAKE_SOURCE_DIR}
            ${CMAKE_CURRENT_SOURCE_DIR}/${proto}
    DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${proto} protobuf::protoc VERBATIM)
  # A target of its own, so that users can wait for the header.
  add_custom_target(${name}Headers DEPENDS ${out}.h)
  add_library(${name} STATIC ${out}.cc)
  target_compile_options(${name} PRIVATE -w)
  target_link_libraries(${name} PUBLIC protobuf::libprotobuf)
  add_dependencies(${name} ${name}Headers)
endfunction()
