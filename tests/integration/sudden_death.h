/*
 * tests/integration/sudden_death.h - die at the n-th change of a folder
 *
 * Linked in, it stands between the library and the kernel wherever a file is
 * created, written, synced, renamed or removed. Between two such calls a folder
 * does not change, so that these are all the moments at which a process can be
 * killed.
 */

#ifndef TESTS_SUDDEN_DEATH_H
#define TESTS_SUDDEN_DEATH_H

/* From now on n calls of this thread go through; at the next the process kills
 * itself, a write having written half. */
void
sudden_death_after(unsigned n);

/* No more. Returns how many calls there have been. */
unsigned
sudden_death_never(void);

#endif
