/* unit_versions.h - what tests of tables with versions begin and end with: an account, and a domain of epochs in it. */
#ifndef STELE_UNIT_VERSIONS_H
#define STELE_UNIT_VERSIONS_H

#include "base/epoch.h"
#include "base/mem.h"
#include "unit.h"

static MemAccount root;
static EpochDomain *domain;

static int versions_setup(void **state) {
    (void)state;
    mem_account_init(&root, NULL, "test", 0, NULL);
    return epoch_domain_new(&root, &domain, NULL) != ST_OK;
}
static int versions_teardown(void **state) {
    (void)state;
    epoch_domain_free(domain);
    return atomic_load(&root.used) != 0; /* nothing leaks */
}

#endif
