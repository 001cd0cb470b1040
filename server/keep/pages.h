/*
 * keep/pages.h - whether the file of a database is what its library wrote
 *
 * The library trusts its file: a damaged page may crash it, or let it find
 * records that were replaced long ago. So every page that can be reached is
 * looked at here first, without it, in the layout that LMDB 0.9 documents in its
 * source. Pure: reads only the bytes that it is given, whatever they are.
 *
 * Thread: any.
 */

#ifndef KEEP_PAGES_H
#define KEEP_PAGES_H

#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

#include "keep/changeset.h"
#include "keep/commit_record.h"

/* Borrowed for the call. */
struct pages_visitor {
    /* A record whose sum is right. NULL: nobody wants them. */
    void (*on_record)(void *owner,
                      struct storage_bytes key,
                      struct storage_bytes value);
    /* Something cannot be read; what follows may be. NULL: that is the end. */
    void (*on_damage)(void *owner, const char *text);
    void *owner;
};

/*
 * Every page in its place, every record's sum right, and all records those that
 * were committed last, neither more nor fewer.
 *
 * Handle: HOOP_E_DATA_LOSS (what is damaged, and where), HOOP_E_PRECONDITION
 * (written by a hoopd that kept no such sums), HOOP_E_EXHAUSTED.
 */
enum hoop_status
pages_check(struct storage_bytes file);

/*
 * The records of the last commit that can be read, in the order of their keys;
 * what cannot be is told, also that they may be those of the commit before.
 * *out_written: what that commit says it left, zeroed if it does not say.
 * Handle: HOOP_E_DATA_LOSS (no page says where they begin), HOOP_E_EXHAUSTED.
 */
enum hoop_status
pages_read(struct storage_bytes file,
           const struct pages_visitor *visitor,
           struct commit_record *out_written);

#endif
