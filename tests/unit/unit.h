/* unit.h - cmocka with the headers it wants before it. */
#ifndef STELE_TESTS_UNIT_H
#define STELE_TESTS_UNIT_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>
#endif
