/*
 * tests/unit/worker/engine/allocation.h - allocations that fail when a test
 * says so
 *
 * For programs that are linked with the wrappers of allocation.c: calls of the
 * library come to them. Thread: where the library's run, too.
 */

#ifndef TESTS_ALLOCATION_H
#define TESTS_ALLOCATION_H

/* From now on malloc() finds no memory; calloc() does. */
void
malloc_refuse(void);
void
malloc_allow(void);

/* The n-th calloc() from now on finds none; 0: each one does. */
void
calloc_refuse_nth(unsigned n);

#endif
