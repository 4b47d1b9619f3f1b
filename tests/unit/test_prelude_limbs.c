/* test_prelude_limbs.c - test_prelude.c with 128-bit integers of two limbs, the form that OpenCL devices run. */
#define KC_TWO_LIMBS
#include "test_prelude.c"
