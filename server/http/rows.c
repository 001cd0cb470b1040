/* http/rows.c - an answer in rows, and which of them a reader has not seen */

#include "http/rows.h"

#include <stdlib.h>
#include <string.h>

/* Two tellings of when something began differ by less. */
static const uint64_t SINCE_SLACK_MS = 500;

/* A line of an answer, without its end and the comma before that. */
struct line {
    const char *at;
    size_t n_bytes;
};

/* Take the line at *text, which is moved to the next one. */
static struct line
line_take(const char **text)
{
    struct line line = {*text, strcspn(*text, "\n")};

    *text += line.n_bytes;
    *text += **text == '\n';
    if (line.n_bytes > 0 && line.at[line.n_bytes - 1] == ',')
        line.n_bytes--;
    return line;
}

static bool
line_equals(struct line line, const char *text, size_t n_bytes)
{
    return line.n_bytes == n_bytes && memcmp(line.at, text, n_bytes) == 0;
}

/* Return where the time is that line tells; NULL: it tells none. */
static const char *
since_find(struct line line)
{
    static const char field[] = "\"since_ms\":";
    const char *found = memmem(line.at, line.n_bytes, field, sizeof(field) - 1);

    return found ? found + sizeof(field) - 1 : NULL;
}

/* Return whether the row tells the same as the line. */
static bool
row_tells(const char *row, struct line line)
{
    const size_t n_row = strlen(row);
    const char *since = since_find((struct line){row, n_row});
    const char *other = since_find(line);
    char *end = NULL;
    char *other_end = NULL;

    if (!since || !other)
        return line_equals(line, row, n_row);
    const size_t n_before = (size_t)(since - row);
    const uint64_t ms = strtoull(since, &end, 10);
    const uint64_t other_ms = strtoull(other, &other_end, 10);
    const struct line rest = {other_end,
                              (size_t)(line.at + line.n_bytes - other_end)};

    return (ms > other_ms ? ms - other_ms : other_ms - ms) < SINCE_SLACK_MS &&
           line_equals((struct line){line.at, (size_t)(other - line.at)}, row,
                       n_before) &&
           line_equals(rest, end, n_row - (size_t)(end - row));
}

static void
rows_cut(struct rows *rows, size_t n_items)
{
    while (rows->n_items > n_items)
        free(rows->items[--rows->n_items].text);
}

void
rows_deinit(struct rows *rows)
{
    rows_cut(rows, 0);
    free(rows->items);
    free(rows->tail.text);
    free(rows->head);
    *rows = (struct rows){0};
}

static bool
head_update(struct rows *rows, struct line line)
{
    char *head = NULL;

    if (rows->head && line_equals(line, rows->head, strlen(rows->head)))
        return false;
    head = strndup(line.at, line.n_bytes);
    if (!head)
        return false;
    free(rows->head);
    rows->head = head;
    return true;
}

/* Returns false without memory. */
static bool
row_update(struct row *row, struct line line, uint64_t revision)
{
    char *text = strndup(line.at, line.n_bytes);

    if (!text)
        return false;
    free(row->text);
    *row = (struct row){text, revision};
    return true;
}

/* Returns whether it has changed. */
static bool
tail_update(struct rows *rows, struct line line, uint64_t revision)
{
    struct row *tail = &rows->tail;

    return !(tail->text && line_equals(line, tail->text, strlen(tail->text))) &&
           row_update(tail, line, revision);
}

static bool
rows_reserve(struct rows *rows, size_t n_items)
{
    struct row *larger =
        realloc(rows->items, (n_items + 1) * sizeof(*rows->items));

    if (larger)
        rows->items = larger;
    return larger != NULL;
}

/* Return the number of lines of text that are rows. */
static size_t
rows_count(const char *text)
{
    size_t n = 0;

    for (; *text == '{'; n++)
        (void)line_take(&text);
    return n;
}

void
rows_update(struct rows *rows, const char *json)
{
    const uint64_t revision = rows->revision + 1;
    bool has_changed = head_update(rows, line_take(&json));
    const size_t n_items = rows_count(json);

    if (n_items < rows->n_items) {
        rows_cut(rows, n_items);
        has_changed = true;
    }
    if (n_items > rows->n_items && !rows_reserve(rows, n_items))
        return;
    for (size_t i = 0; i < n_items; i++) {
        const struct line line = line_take(&json);

        if (i == rows->n_items)
            rows->items[rows->n_items++] = (struct row){0};
        if (rows->items[i].text && row_tells(rows->items[i].text, line))
            continue;
        if (!row_update(&rows->items[i], line, revision)) {
            rows_cut(rows, i);
            rows->revision = revision;
            return;
        }
        has_changed = true;
    }
    has_changed |= tail_update(rows, line_take(&json), revision);
    if (has_changed)
        rows->revision = revision;
}

bool
rows_have_news(const struct rows *rows, const struct rows_seen *seen)
{
    return rows->head && (rows->revision > seen->revision || seen->next > 0);
}

/* Return what follows the rows in an answer: the end of the object, and before it
 * members that the reader has not seen if it now has all rows. */
static const char *
unseen_tail(const struct rows *rows, const struct rows_seen *seen)
{
    const struct row *tail = &rows->tail;

    return seen->next >= rows->n_items && tail->revision > seen->revision &&
                   tail->text[0] == ']'
               ? tail->text + 1
               : "}";
}

void
rows_write(const struct rows *rows,
           struct rows_seen *seen,
           size_t n_bytes_max,
           FILE *out)
{
    const size_t n_head = strlen(rows->head);
    const bool has_rows = n_head > 0 && rows->head[n_head - 1] == '[';
    const char *separator = "";
    size_t n_bytes = 0;

    if (seen->next == 0)
        seen->next_revision = rows->revision;
    fprintf(out, "%.*s%s", (int)(n_head - has_rows), rows->head,
            has_rows ? "{" : "");
    for (; seen->next < rows->n_items && n_bytes < n_bytes_max; seen->next++) {
        const struct row *row = &rows->items[seen->next];

        if (row->revision <= seen->revision)
            continue;
        fprintf(out, "%s\"%zu\":%s", separator, seen->next, row->text);
        separator = ",";
        n_bytes += strlen(row->text);
    }
    if (has_rows)
        fprintf(out, "},\"n_rows\":%zu%s", rows->n_items,
                unseen_tail(rows, seen));
    if (seen->next < rows->n_items)
        return;
    seen->revision = seen->next_revision;
    seen->next = 0;
}
