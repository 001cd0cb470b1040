/*
 * http/rows.h - an answer in rows, and which of them a reader has not seen
 *
 * An answer is a JSON object in lines. The first, its head, ends with "[": it
 * begins a member of the object that is an array of objects. Then comes a line
 * for each of these, its rows, and at last one that ends the array and the
 * object, as "]}". That line, the tail, may have further members between the
 * two, as "],"order":[1,0]}", which are sent only if they have changed. An answer
 * of another form is a head alone. Rows are known by their places.
 *
 * When something began is told anew with each answer, and differs by how long
 * that took. Of two rows that differ only in this, the first one stays.
 *
 * Thread: that of the caller.
 */

#ifndef HTTP_ROWS_H
#define HTTP_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct row {
    char *text;
    uint64_t revision; /* of the answer that changed it last */
};

/* Zeroed: there is no answer yet. */
struct rows {
    char *head; /* of the last answer; NULL: none */
    struct row *items;
    size_t n_items;
    struct row tail;   /* its text is NULL before the first answer */
    uint64_t revision; /* raised when anything changes */
};

/* What a reader has seen. Zeroed: nothing. */
struct rows_seen {
    uint64_t revision; /* it has all rows of this one, and some later ones */
    size_t next; /* not 0: the rows from here on are still to be written */
    uint64_t next_revision; /* of the answer when that began */
};

void
rows_deinit(struct rows *rows);

/* Take over an answer. Without memory, rows are missing until the next one. */
void
rows_update(struct rows *rows, const char *json);

/* Return whether rows_write() has something to write. */
bool
rows_have_news(const struct rows *rows, const struct rows_seen *seen);

/* Write the answer as JSON in one line: the array is an object of those rows by
 * their places that the reader has not seen, and "n_rows" the number of all. Of
 * many rows, only those of about n_bytes_max bytes are written; the next call
 * goes on. Members of the tail that the reader has not seen come with the last
 * rows. */
void
rows_write(const struct rows *rows,
           struct rows_seen *seen,
           size_t n_bytes_max,
           FILE *out);

#endif
