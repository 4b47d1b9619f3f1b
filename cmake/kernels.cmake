# Kernel C that becomes part of the library as text: adds the generated files to STELE_SOURCES. STELE_ROOT is the top of the source tree.
# KERNEL_LINES, where it is set: 1, so that compilers name the headers' own lines (codegen/prelude.h, parts).
function(embed_kernels out name declared folder)
  list(TRANSFORM ARGN PREPEND ${STELE_ROOT}/src/codegen/prelude/${folder} OUTPUT_VARIABLE headers)
  set(file ${CMAKE_BINARY_DIR}/${name}.c)
  add_custom_command(OUTPUT ${file}
    COMMAND ${CMAKE_COMMAND} -DOUT=${file} "-DHEADERS=${headers}" -DNAME=${name}_text -DDECLARED=${declared} -DLINES=${KERNEL_LINES} -P ${STELE_ROOT}/cmake/embed_prelude.cmake
    DEPENDS ${headers} ${STELE_ROOT}/cmake/embed_prelude.cmake VERBATIM)
  set(${out} ${${out}} ${file} PARENT_SCOPE)
endfunction()
embed_kernels(STELE_SOURCES kernel_prelude codegen/prelude.h "" kc_codes.h kc_base.h kc_int128.h kc_scalar.h kc_text.h kc_state.h kc_gen.h)
embed_kernels(STELE_SOURCES kernel_interp codegen/interp.h interp/ ki_codes.h ki_value.h ki_expr.h ki_join.h ki_agg.h ki_sort.h ../kc_sort.h ki_main.h)
embed_kernels(STELE_SOURCES kernel_order exec/device/dev_int.h "" kr_order.h kc_sort.h)
embed_kernels(STELE_SOURCES kernel_merge exec/device/dev_int.h "" kr_merge.h kc_sort.h)
embed_kernels(STELE_SOURCES kernel_rank txn/order/rank_int.h txn/ kr_codes.h kr_rank.h)
embed_kernels(STELE_SOURCES kernel_image txn/store/device_kernels.h txn/ kp_codes.h kr_image_codes.h kr_image.h kr_device_rows_codes.h kr_device_rows.h)
embed_kernels(STELE_SOURCES kernel_kc_channel codegen/prelude.h "" kc_channel.h)
embed_kernels(STELE_SOURCES kernel_kc_sort codegen/prelude.h "" kc_sort.h)
set(KERNEL_LINES 1)
embed_kernels(STELE_SOURCES kernel_kc_make codegen/prelude.h "" kc_make.h)
embed_kernels(STELE_SOURCES kernel_kc_order codegen/prelude.h "" kc_order.h)
embed_kernels(STELE_SOURCES kernel_kp_base codegen/prelude.h txn/ kr_codes.h kp_codes.h kp_base.h)
foreach(part kp_rows kp_call_locks kp_slots kp_find kp_enter kp_calls kp_hot kp_ops kp_foot kp_statement_locks kp_dequeue
             kp_parallel kp_parallel_loop kp_run_statement kp_run_warp kp_run kp_undo)
  embed_kernels(STELE_SOURCES kernel_${part} codegen/prelude.h txn/ ${part}.h)
endforeach()
