/*
 * tests/unit/worker/engine/allocation.h - allocations that fail on request
 *
 * It is for programs that are linked with the wrappers of allocation.c, which
 * the calls of the library then reach. Thread: any, also one of the library.
 */

#ifndef TESTS_ALLOCATION_H
#define TESTS_ALLOCATION_H

/* From now on malloc() fails. calloc() still succeeds. */
void
malloc_refuse(void);
void
malloc_allow(void);

/* The n-th calloc() from now on fails. If n is 0, each one fails. */
void
calloc_refuse_nth(unsigned n);

#endif
