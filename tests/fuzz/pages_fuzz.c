/*
 * tests/fuzz/pages_fuzz.c - the file of a coordinator's data, whatever is in it
 *
 * The bytes are the file. It is found sound or refused; what is read of it has
 * the sum that was written, and what is found sound is read without a
 * complaint.
 */

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "storage/pages.h"

struct tally {
    uint64_t n_records;
    uint64_t n_damages;
};

static void
on_record(void *owner, struct storage_span key, struct storage_span value)
{
    struct tally *tally = owner;

    fuzz_require(key.n_bytes > 0);
    (void)record_checksum(key, value);
    tally->n_records++;
}

static void
on_damage(void *owner, const char *text)
{
    fuzz_require(text[0] != '\0');
    ((struct tally *)owner)->n_damages++;
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    struct tally tally = {0};
    const struct pages_visitor visitor = {on_record, on_damage, &tally};
    const struct storage_span file = {bytes, n_bytes};
    struct commit_record commit_record = {0};
    const bool is_sound = pages_check(file) == HOOP_OK;
    const enum hoop_status status =
        pages_visit_records(file, &visitor, &commit_record);

    if (is_sound) {
        fuzz_require(status == HOOP_OK);
        fuzz_require(tally.n_damages == 0);
        fuzz_require(tally.n_records == commit_record.n_records);
    }
    return 0;
}
