/* rank_int.h - the text of the kernels that rank_device.c launches (codegen/prelude/txn), made at build time. */
#ifndef STELE_TXN_ORDER_RANK_INT_H
#define STELE_TXN_ORDER_RANK_INT_H

extern const char kernel_rank_text[];

#endif
