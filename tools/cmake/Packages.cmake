# What `cpack` makes of the install: a .tar.gz that runs wherever it is unpacked, and
# where Debian's tools are a .deb. Both need the shared libraries that they are linked
# with, of which the .deb names the packages.
set(CPACK_PACKAGE_NAME dist-mlir)
set(CPACK_PACKAGE_VENDOR dist-mlir)
set(CPACK_PACKAGE_CONTACT "the maintainers of dist-mlir <dist-mlir@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGE_DESCRIPTION
  "dist-opt compiles a model file and its training step for several devices, dist-run trains,
evaluates and predicts, and libdist_runtime, which has a C API, is what apps embed.")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGE_FILE_NAME "dist-mlir-${PROJECT_VERSION}-${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR}")
set(CPACK_STRIP_FILES ON)
set(CPACK_GENERATOR TGZ)

find_program(DIST_SHLIBDEPS dpkg-shlibdeps)
find_program(DIST_FILE file)
mark_as_advanced(DIST_SHLIBDEPS DIST_FILE)
if(DIST_SHLIBDEPS AND DIST_FILE)
  list(APPEND CPACK_GENERATOR DEB)
  set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
  set(CPACK_DEBIAN_PACKAGE_SECTION science)
  set(CPACK_DEBIAN_COMPRESSION_TYPE zstd)
  # What is linked is found by dpkg-shlibdeps. Written down: the linker, which is a
  # program, and LLVM, whose package says only how it was called before.
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
  if(ship_onednn)
    set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${onednn_folder})
  endif()
  if(TARGET dist-opt)
    set(CPACK_DEBIAN_PACKAGE_DEPENDS "libllvm${LLVM_VERSION_MAJOR}, lld-${LLVM_VERSION_MAJOR}")
  endif()
  # To link the static library into an app.
  set(CPACK_DEBIAN_PACKAGE_SUGGESTS "libprotobuf-dev, zlib1g-dev")
endif()
include(CPack)
