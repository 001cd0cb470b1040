/*
 * storage/pages.h - verify the pages of an LMDB file
 *
 * LMDB trusts its file: a damaged page may crash it, or let it find records
 * that were replaced long ago. So every reachable page is checked here first,
 * without LMDB, using the layout that LMDB 0.9 documents in its source. The
 * functions are pure and read only the bytes they are given, whatever these
 * contain.
 *
 * Thread: any.
 */

#ifndef STORAGE_PAGES_H
#define STORAGE_PAGES_H

#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

#include "storage/changeset.h"

/* Callbacks of a reader; borrowed for the call. */
struct pages_visitor {
    /* Called for each record whose checksum is right. May be NULL. */
    void (*on_record)(void *owner,
                      struct storage_span key,
                      struct storage_span value);
    /* Called when something cannot be read; reading then continues. NULL:
     * reading ends there. */
    void (*on_damage)(void *owner, const char *text);
    void *owner;
};

/*
 * Check that every page is in its place, that every record's checksum is right,
 * and that the records are exactly those of the last commit.
 * Handle: HOOP_E_DATA_LOSS (the text says what is damaged and where),
 * HOOP_E_PRECONDITION (written by a hoopd that stored no checksums),
 * HOOP_E_EXHAUSTED.
 */
enum hoop_status
pages_check(struct storage_span file);

/*
 * Visit the readable records of the last commit in the order of their keys, and
 * report what cannot be read, also if the records may be those of the commit
 * before. *out_written is the commit record of that commit, zeroed if there is
 * none.
 * Handle: HOOP_E_DATA_LOSS (no page says where the records begin),
 * HOOP_E_EXHAUSTED.
 */
enum hoop_status
pages_visit_records(struct storage_span file,
                    const struct pages_visitor *visitor,
                    struct commit_record *out_written);

#endif
