/* vm.h - the virtual machine's process-wide switches. */
#ifndef STELE_EXEC_VM_H
#define STELE_EXEC_VM_H
#include "base/base.h"
/* "baseline", "avx2", "avx512"; NULL = the best this processor has. False when it lacks it. Not while queries run. */
bool vm_set_isa(const char *name);
const char *vm_isa(void);
#endif
