# One source per instruction set and family of kernels, compiled with its own flags; what runs is
# chosen at start. Sums are exactly as written (no contraction), and inner loops are optimised in
# debug builds too, which would otherwise take minutes for a test. Sanitizers leave these files out:
# they make g++ need minutes for each; the same shapes run through ref/, which they do watch.
set(GODWIT_ISA_generic "")
set(GODWIT_ISA_avx2 "-mavx2 -mfma -mf16c")
set(GODWIT_ISA_avx512
    "-mavx2 -mfma -mf16c -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx512vnni -mprefer-vector-width=512")
# g++ 12 takes its own _mm512_undefined_ps() for an uninitialised variable (its bug 105593).
string(APPEND GODWIT_ISA_avx512 " -Wno-uninitialized -Wno-maybe-uninitialized")
set(GODWIT_ISA_avx512bf16 "${GODWIT_ISA_avx512} -mavx512bf16")
set(GODWIT_ISA_amx "${GODWIT_ISA_avx512} -mamx-tile -mamx-int8")

set(GODWIT_ISA_unwatched "")
if(CMAKE_CXX_FLAGS MATCHES "-fsanitize")
  set(GODWIT_ISA_unwatched "-fno-sanitize=all")
endif()

foreach(isa generic avx2 avx512 avx512bf16 amx)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/kernels/cpu/isa/*_${isa}.cc)
  set_source_files_properties(${sources} PROPERTIES COMPILE_FLAGS
                              "-O3 -ffp-contract=off ${GODWIT_ISA_${isa}} ${GODWIT_ISA_unwatched}")
endforeach()
file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/kernels/ref/*.cc
     ${PROJECT_SOURCE_DIR}/src/kernels/cpu/*.cc)
set_source_files_properties(${sources} PROPERTIES COMPILE_FLAGS "-ffp-contract=off")

# Other processors have no use for these sources; what is left of the tables is in cpu_kernels.cc.
if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/kernels/cpu/isa/*_avx*.cc
       ${PROJECT_SOURCE_DIR}/src/kernels/cpu/isa/*_amx.cc)
  set_source_files_properties(${sources} PROPERTIES HEADER_FILE_ONLY ON)
endif()
