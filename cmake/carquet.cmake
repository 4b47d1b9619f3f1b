# Carquet (third_party/carquet): a static library whose symbols stay inside. See its README. STELE_ROOT is the checkout.
set(CARQUET ${STELE_ROOT}/third_party/carquet)
file(GLOB CARQUET_SOURCES ${CARQUET}/src/core/*.c ${CARQUET}/src/thrift/*.c ${CARQUET}/src/encoding/*.c
     ${CARQUET}/src/compression/*.c ${CARQUET}/src/reader/*.c ${CARQUET}/src/writer/*.c ${CARQUET}/src/metadata/*.c
     ${CARQUET}/src/util/*.c ${CARQUET}/src/simd/*.c ${CARQUET}/no_lz4.c)
add_library(carquet STATIC ${CARQUET_SOURCES})
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  target_sources(carquet PRIVATE ${CARQUET}/src/simd/x86/sse_ops.c ${CARQUET}/src/simd/x86/avx_ops.c
                 ${CARQUET}/src/simd/x86/avx2_ops.c ${CARQUET}/src/simd/x86/avx512_ops.c)
  set_source_files_properties(${CARQUET}/src/compression/snappy.c PROPERTIES COMPILE_OPTIONS "-mssse3")
  set_source_files_properties(${CARQUET}/src/simd/x86/sse_ops.c PROPERTIES COMPILE_OPTIONS "-msse4.2")
  set_source_files_properties(${CARQUET}/src/simd/x86/avx_ops.c PROPERTIES COMPILE_OPTIONS "-mavx;-msse4.2")
  set_source_files_properties(${CARQUET}/src/simd/x86/avx2_ops.c PROPERTIES COMPILE_OPTIONS "-mavx2;-mfma;-mbmi2")
  set_source_files_properties(${CARQUET}/src/simd/x86/avx512_ops.c PROPERTIES
                              COMPILE_OPTIONS "-mavx512f;-mavx512bw;-mavx512vl")
  target_compile_definitions(carquet PRIVATE CARQUET_ARCH_X86 CARQUET_ENABLE_SSE CARQUET_ENABLE_AVX
                             CARQUET_ENABLE_AVX2 CARQUET_ENABLE_AVX512)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
  target_sources(carquet PRIVATE ${CARQUET}/src/simd/arm/neon_ops.c)
  target_compile_definitions(carquet PRIVATE CARQUET_ARCH_ARM CARQUET_ENABLE_NEON)
endif()
target_include_directories(carquet PRIVATE ${CARQUET}/include ${CARQUET}/src)
# Its loads are not always aligned, which the processors that it is built for allow.
target_compile_options(carquet PRIVATE -w -fno-sanitize=undefined)
target_link_libraries(carquet PUBLIC ${ZSTD_LIB} ${ZLIB_LIB} m)
set_target_properties(carquet PROPERTIES C_VISIBILITY_PRESET hidden C_EXTENSIONS ON)
# The files that see it.
set_source_files_properties(${STELE_ROOT}/src/io/parquet_footer.c ${STELE_ROOT}/src/io/parquet_memory.c
  ${STELE_ROOT}/src/io/parquet_out.c PROPERTIES COMPILE_OPTIONS "-isystem${CARQUET}/include")
