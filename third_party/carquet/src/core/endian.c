/**
 * @file endian.c
 * @brief Endianness utilities implementation
 *
 * Most functions are inline in the header, but some larger functions
 * or those with side effects are implemented here.
 */

#include "endian.h"

/* Currently all functions are inline in the header.
 * This file exists for future non-inline functions or
 * platform-specific implementations. */
