/*
 * storage/pages.c - verify the pages of an LMDB file
 *
 * The first two pages are the meta pages. They hold the roots of the two trees,
 * records and free pages, of the last two commits. Numbers are in the machine's
 * byte order. Every offset and size in the file is checked before it is used.
 */

#include "storage/pages.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"

enum {
    LMDB_FORMAT_VERSION = 1,
    PAGE_FLAG_BRANCH = 0x01,
    PAGE_FLAG_LEAF = 0x02,
    PAGE_FLAG_OVERFLOW = 0x04,
    PAGE_FLAG_META = 0x08,
    NODE_FLAG_OVERFLOW_VALUE =
        0x01, /* the value is the number of its first page */
    TREE_FLAG_NUMERIC_KEYS = 0x08, /* keys are numbers */
    TREE_FLAGS_UNSUPPORTED = 0x76, /* flags of trees that hoopd never creates */
    PAGE_BYTES_MIN = 256,
    PAGE_BYTES_MAX = 32768,
    TREE_DEPTH_MAX = 16,
    DATA_PAGE_NUMBER_FIRST = 2, /* after the two meta pages */
};

static const uint32_t meta_magic = 0xBEEFC0DE;
static const uint64_t no_page_number = UINT64_MAX;

struct page_header {
    uint64_t number;
    uint16_t pad;
    uint16_t flags;
    union {
        struct {
            uint16_t lower;
            uint16_t upper;
        };
        uint32_t n_pages; /* of a value on overflow pages */
    };
};

struct tree {
    uint32_t pad; /* in the tree of free pages: the page size */
    uint16_t flags;
    uint16_t depth;
    uint64_t n_branches;
    uint64_t n_leaves;
    uint64_t n_overflows;
    uint64_t n_entries;
    uint64_t root;
};

enum tree_kind {
    TREE_KIND_FREE_PAGES,
    TREE_KIND_RECORDS,
};

struct meta_page {
    uint32_t magic;
    uint32_t version;
    uint64_t address;
    uint64_t n_map;
    struct tree trees[2];
    uint64_t page_number_last;
    uint64_t commit;
};

struct page_node {
    uint16_t low;
    uint16_t high;
    uint16_t flags;
    uint16_t n_key_bytes;
};

/* The state of a walk through one tree. */
struct walk {
    struct storage_span file;
    size_t n_page; /* page size */
    const struct meta_page *meta;
    uint8_t *is_used; /* one bit per page; NULL: not tracked */
    const struct pages_visitor *visitor;
    enum tree_kind kind;
    struct tree found; /* counts of what was found */
    struct storage_span last;
    bool may_equal_last_key; /* the next key may equal last */
    struct commit_record sums;
    struct commit_record written; /* the commit record that was read */
    bool lacks_checksums;         /* the records have no checksums */
};

static void
bytes_read_at(const void *bytes, size_t at, void *out, size_t n_bytes)
{
    memcpy(out, (const uint8_t *)bytes + at, n_bytes);
}

static enum hoop_status
page_damage_raise(uint64_t page, const char *what)
{
    return error_raise(HOOP_E_DATA_LOSS, "page %" PRIu64 ": %s", page, what);
}

/* Return the bytes of a page, and refuse a page that is used twice. */
static enum hoop_status
page_mark_used(struct walk *walk, uint64_t page, const uint8_t **out_bytes)
{
    if (page < DATA_PAGE_NUMBER_FIRST || page > walk->meta->page_number_last ||
        page >= walk->file.n_bytes / walk->n_page)
        return page_damage_raise(page, "it is beyond the end of the file");
    if (walk->is_used && walk->is_used[page / 8] & (1U << (page % 8)))
        return page_damage_raise(page, "two others refer to it");
    if (walk->is_used)
        walk->is_used[page / 8] |= (uint8_t)(1U << (page % 8));
    *out_bytes = (const uint8_t *)walk->file.bytes + page * walk->n_page;
    return HOOP_OK;
}

static enum hoop_status
page_check_open(struct walk *walk,
                uint64_t page,
                unsigned int flags,
                const uint8_t **out_bytes)
{
    struct page_header head;
    const enum hoop_status status = page_mark_used(walk, page, out_bytes);

    if (status != HOOP_OK)
        return error_pass(status);
    bytes_read_at(*out_bytes, 0, &head, sizeof(head));
    if (head.number != page)
        return page_damage_raise(page, "another page stands in its place");
    if (head.flags != flags)
        return page_damage_raise(page, "it is of another kind than expected");
    if (flags != PAGE_FLAG_OVERFLOW &&
        (head.lower < sizeof(head) || head.lower % 2 ||
         head.upper < head.lower || head.upper > walk->n_page))
        return page_damage_raise(page, "its sizes contradict each other");
    return HOOP_OK;
}

static int
keys_compare(enum tree_kind kind, struct storage_span a, struct storage_span b)
{
    const size_t n_both = a.n_bytes < b.n_bytes ? a.n_bytes : b.n_bytes;

    if (kind == TREE_KIND_FREE_PAGES) {
        uint64_t left;
        uint64_t right;

        memcpy(&left, a.bytes, sizeof(left));
        memcpy(&right, b.bytes, sizeof(right));
        return (left > right) - (left < right);
    }

    const int order = n_both ? memcmp(a.bytes, b.bytes, n_both) : 0;

    return order ? order : (a.n_bytes > b.n_bytes) - (a.n_bytes < b.n_bytes);
}

static enum hoop_status
key_check_order(struct walk *walk, uint64_t page, struct storage_span key)
{
    if (walk->kind == TREE_KIND_FREE_PAGES && key.n_bytes != sizeof(uint64_t))
        return page_damage_raise(page, "a key is no number");
    if (key.n_bytes == 0)
        return page_damage_raise(page, "a key is empty");
    if (walk->last.bytes) {
        const int order = keys_compare(walk->kind, walk->last, key);

        if (order > 0 || (order == 0 && !walk->may_equal_last_key))
            return page_damage_raise(page, "its keys are out of order");
    }
    walk->last = key;
    walk->may_equal_last_key = false;
    return HOOP_OK;
}

static enum hoop_status
overflow_value_read(struct walk *walk,
                    uint64_t first,
                    size_t n_bytes,
                    struct storage_span *out_value)
{
    struct page_header head;
    const uint8_t *bytes = NULL;
    const uint64_t n_least = (sizeof(head) - 1 + n_bytes) / walk->n_page + 1;

    enum hoop_status status =
        page_check_open(walk, first, PAGE_FLAG_OVERFLOW, &bytes);
    if (status != HOOP_OK)
        return error_pass(status);
    bytes_read_at(bytes, 0, &head, sizeof(head));
    /* The value may have replaced a larger one. */
    if (head.n_pages < n_least)
        return page_damage_raise(first, "its value has another size");
    for (uint64_t i = 1; i < head.n_pages; i++) {
        const uint8_t *more = NULL;

        status = page_mark_used(walk, first + i, &more);
        if (status != HOOP_OK)
            return error_pass(status);
    }
    walk->found.n_overflows += head.n_pages;
    *out_value = (struct storage_span){bytes + sizeof(head), n_bytes};
    return HOOP_OK;
}

/* Return whether this is hoopd's first record as written before records had
 * checksums. */
static bool
is_pre_checksum_record(struct storage_span key, struct storage_span stored)
{
    static const uint8_t begin[] = {0x94, 0xa5, 'h', 'o', 'o', 'p', 'd'};

    return key.n_bytes == 5 && memcmp(key.bytes, "\0term", 5) == 0 &&
           stored.n_bytes > sizeof(begin) &&
           memcmp(stored.bytes, begin, sizeof(begin)) == 0;
}

static enum hoop_status
record_verify_visit(struct walk *walk,
                    uint64_t page,
                    struct storage_span key,
                    struct storage_span stored)
{
    struct storage_span value;
    uint64_t sum = 0;

    if (!record_split_and_verify(key, stored, &value, &sum)) {
        walk->lacks_checksums |= is_pre_checksum_record(key, stored);
        return page_damage_raise(page, "a record is not what was written");
    }
    if (commit_record_is_key(key)) {
        return commit_record_decode(value, &walk->written)
                   ? HOOP_OK
                   : page_damage_raise(page, "the count of records is none");
    }
    walk->sums.n_records++;
    walk->sums.sum += sum;
    if (walk->visitor && walk->visitor->on_record)
        walk->visitor->on_record(walk->visitor->owner, key, value);
    return HOOP_OK;
}

/* The value is the number of free pages, then each page, in descending
 * order. */
static enum hoop_status
free_list_check(struct walk *walk, uint64_t page, struct storage_span value)
{
    uint64_t n_free = 0;
    uint64_t former = UINT64_MAX;

    if (value.n_bytes >= sizeof(n_free))
        bytes_read_at(value.bytes, 0, &n_free, sizeof(n_free));
    if (value.n_bytes < sizeof(n_free) ||
        n_free > value.n_bytes / sizeof(n_free) - 1)
        return page_damage_raise(page,
                                 "a list of free pages has another length");
    for (uint64_t i = 1; i <= n_free; i++) {
        uint64_t free_page;

        bytes_read_at(value.bytes, i * sizeof(free_page), &free_page,
                      sizeof(free_page));
        if (free_page < DATA_PAGE_NUMBER_FIRST ||
            free_page > walk->meta->page_number_last || free_page >= former)
            return page_damage_raise(page, "a list of free pages is damaged");
        former = free_page;
        if (walk->is_used &&
            walk->is_used[free_page / 8] & (1U << (free_page % 8)))
            return page_damage_raise(free_page, "it is in use, and free");
        if (walk->is_used)
            walk->is_used[free_page / 8] |= (uint8_t)(1U << (free_page % 8));
    }
    return HOOP_OK;
}

/* Report damage and go on, or end the walk if there is no on_damage. */
static enum hoop_status
damage_report(const struct walk *walk, enum hoop_status status)
{
    if (status != HOOP_E_DATA_LOSS || !walk->visitor ||
        !walk->visitor->on_damage)
        return status;
    walk->visitor->on_damage(walk->visitor->owner, error_text());
    return HOOP_OK;
}

/* Read an entry of a page; *out_at is the offset of its key. */
static enum hoop_status
node_read(const struct walk *walk,
          const uint8_t *bytes,
          size_t index,
          struct page_node *out_node,
          size_t *out_at)
{
    struct page_header head;
    uint16_t at;

    bytes_read_at(bytes, 0, &head, sizeof(head));
    bytes_read_at(bytes, sizeof(head) + index * sizeof(at), &at, sizeof(at));
    if (at < head.upper || at % 2 || at + sizeof(*out_node) > walk->n_page)
        return page_damage_raise(head.number, "an entry is outside of it");
    bytes_read_at(bytes, at, out_node, sizeof(*out_node));
    if (at + sizeof(*out_node) + out_node->n_key_bytes > walk->n_page)
        return page_damage_raise(head.number, "a key is outside of it");
    *out_at = at + sizeof(*out_node);
    return HOOP_OK;
}

static enum hoop_status
leaf_entry_walk(struct walk *walk,
                uint64_t page,
                const uint8_t *bytes,
                size_t index)
{
    struct page_node node;
    uint64_t first = 0;
    size_t at = 0;

    enum hoop_status status = node_read(walk, bytes, index, &node, &at);
    if (status != HOOP_OK)
        return error_pass(status);

    const struct storage_span key = {bytes + at, node.n_key_bytes};
    struct storage_span value = {
        bytes + at + node.n_key_bytes,
        (size_t)node.low | (size_t)node.high << 16,
    };
    const size_t n_here =
        node.flags == NODE_FLAG_OVERFLOW_VALUE ? sizeof(first) : value.n_bytes;

    if (node.flags & ~(unsigned int)NODE_FLAG_OVERFLOW_VALUE ||
        at + node.n_key_bytes + n_here > walk->n_page)
        return page_damage_raise(page, "a value is outside of it");
    status = key_check_order(walk, page, key);
    if (status == HOOP_OK && node.flags == NODE_FLAG_OVERFLOW_VALUE) {
        memcpy(&first, value.bytes, sizeof(first));
        status = overflow_value_read(walk, first, value.n_bytes, &value);
    }
    if (status != HOOP_OK)
        return error_pass(status);
    walk->found.n_entries++;
    return walk->kind == TREE_KIND_FREE_PAGES
               ? free_list_check(walk, page, value)
               : record_verify_visit(walk, page, key, value);
}

static enum hoop_status
page_walk(struct walk *walk, uint64_t page, unsigned int depth);

/* Walk the subtree below an entry of a branch page. The entry's key is a lower
 * bound for its keys. */
static enum hoop_status
branch_entry_walk(struct walk *walk,
                  const uint8_t *bytes,
                  size_t index,
                  unsigned int depth)
{
    struct page_node node;
    size_t at = 0;

    enum hoop_status status = node_read(walk, bytes, index, &node, &at);
    if (status != HOOP_OK)
        return error_pass(status);

    const uint64_t below = (uint64_t)node.low | (uint64_t)node.high << 16 |
                           (uint64_t)node.flags << 32;

    if (index > 0) {
        struct page_header head;

        bytes_read_at(bytes, 0, &head, sizeof(head));
        status = key_check_order(
            walk, head.number,
            (struct storage_span){bytes + at, node.n_key_bytes});
        if (status != HOOP_OK)
            return error_pass(status);
        walk->may_equal_last_key = true;
    }
    status = page_walk(walk, below, depth + 1);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static enum hoop_status
page_walk(struct walk *walk, uint64_t page, unsigned int depth)
{
    const struct tree *tree = &walk->meta->trees[walk->kind];
    const bool is_leaf = depth == tree->depth;
    const uint8_t *bytes = NULL;
    struct page_header head;

    enum hoop_status status = page_check_open(
        walk, page, is_leaf ? PAGE_FLAG_LEAF : PAGE_FLAG_BRANCH, &bytes);
    if (status != HOOP_OK)
        return error_pass(status);
    bytes_read_at(bytes, 0, &head, sizeof(head));

    const size_t n_entries = (head.lower - sizeof(head)) / sizeof(uint16_t);

    if (n_entries < (is_leaf ? 1 : 2))
        return page_damage_raise(page, "it has too few entries");
    if (is_leaf)
        walk->found.n_leaves++;
    else
        walk->found.n_branches++;
    for (size_t i = 0; i < n_entries; i++) {
        status = is_leaf ? leaf_entry_walk(walk, page, bytes, i)
                         : branch_entry_walk(walk, bytes, i, depth);
        status = damage_report(walk, status);
        if (status != HOOP_OK)
            return error_pass(status);
    }
    return HOOP_OK;
}

static bool
tree_has_root(const struct tree *tree)
{
    return tree->depth <= TREE_DEPTH_MAX &&
           (tree->depth == 0) == (tree->root == no_page_number);
}

static enum hoop_status
tree_walk(struct walk *walk, enum tree_kind kind)
{
    const struct tree *tree = &walk->meta->trees[kind];

    walk->kind = kind;
    walk->found = (struct tree){0};
    walk->last = (struct storage_span){0};
    walk->may_equal_last_key = false;
    if (!tree_has_root(tree))
        return error_raise(HOOP_E_DATA_LOSS, "a tree has no root");
    if (tree->root != no_page_number) {
        const enum hoop_status status =
            damage_report(walk, page_walk(walk, tree->root, 1));

        if (status != HOOP_OK)
            return error_pass(status);
    }
    if (tree->n_branches != walk->found.n_branches ||
        tree->n_leaves != walk->found.n_leaves ||
        tree->n_overflows != walk->found.n_overflows ||
        tree->n_entries != walk->found.n_entries)
        return damage_report(
            walk, error_raise(HOOP_E_DATA_LOSS,
                              "%" PRIu64 " entries are there, and %" PRIu64
                              " were written",
                              walk->found.n_entries, tree->n_entries));
    return HOOP_OK;
}

/* Read meta page 0 or 1; n_page is the page size, 0 if not known yet. */
static enum hoop_status
meta_read(struct storage_span file,
          size_t n_page,
          unsigned int page,
          struct meta_page *out_meta)
{
    const size_t at = page * n_page;
    struct page_header head;
    struct meta_page meta;

    if (file.n_bytes < at + sizeof(head) + sizeof(meta))
        return page_damage_raise(page, "it is beyond the end of the file");
    bytes_read_at(file.bytes, at, &head, sizeof(head));
    bytes_read_at(file.bytes, at + sizeof(head), &meta, sizeof(meta));

    const uint32_t n_bytes = meta.trees[TREE_KIND_FREE_PAGES].pad;

    if (head.number != page || head.flags != PAGE_FLAG_META ||
        meta.magic != meta_magic || meta.version != LMDB_FORMAT_VERSION)
        return page_damage_raise(page, "it is no file of hoopd's, or damaged");
    if (n_bytes < PAGE_BYTES_MIN || n_bytes > PAGE_BYTES_MAX ||
        n_bytes & (n_bytes - 1) || (n_page && n_bytes != n_page))
        return page_damage_raise(page, "its size of pages is wrong");
    /* Free pages at the end may never have been written. */
    if (meta.page_number_last < DATA_PAGE_NUMBER_FIRST - 1 ||
        meta.page_number_last > UINT32_MAX ||
        meta.trees[TREE_KIND_RECORDS].flags != 0 ||
        meta.trees[TREE_KIND_FREE_PAGES].flags & TREE_FLAGS_UNSUPPORTED ||
        !(meta.trees[TREE_KIND_FREE_PAGES].flags & TREE_FLAG_NUMERIC_KEYS))
        return page_damage_raise(page, "it contradicts itself");
    *out_meta = meta;
    return HOOP_OK;
}

/* Both meta pages, and which one was written last. */
struct meta_pages {
    struct meta_page meta[2];
    bool is_meta_valid[2];
    unsigned int last;
    size_t n_page;
};

/* Read both meta pages. On failure the error text describes the first bad one.
 * The second is at the page size that the first names, or else at one of the
 * usual page sizes. */
static enum hoop_status
meta_pages_read(struct storage_span file, struct meta_pages *metas)
{
    enum hoop_status status = meta_read(file, 0, 0, &metas->meta[0]);

    metas->is_meta_valid[0] = status == HOOP_OK;
    if (metas->is_meta_valid[0])
        metas->n_page = metas->meta[0].trees[TREE_KIND_FREE_PAGES].pad;
    for (size_t n_page = PAGE_BYTES_MIN;
         !metas->is_meta_valid[1] && n_page <= PAGE_BYTES_MAX; n_page *= 2) {
        if (metas->n_page && metas->n_page != n_page)
            continue;

        const enum hoop_status second =
            meta_read(file, n_page, 1, &metas->meta[1]);

        metas->is_meta_valid[1] = second == HOOP_OK;
        if (metas->is_meta_valid[1])
            metas->n_page = n_page;
        else if (metas->is_meta_valid[0])
            status = second;
    }
    if (!metas->is_meta_valid[0])
        status = meta_read(file, 0, 0, &metas->meta[0]);
    metas->last = metas->is_meta_valid[1] &&
                  (!metas->is_meta_valid[0] ||
                   metas->meta[1].commit > metas->meta[0].commit);
    return status;
}

/* Commits alternate between the two meta pages. */
static enum hoop_status
meta_pages_check_commits(const struct meta_pages *metas)
{
    const struct meta_page *last = &metas->meta[metas->last];
    const struct meta_page *other = &metas->meta[!metas->last];

    if (last->commit == 0 && other->commit == 0)
        return HOOP_OK;
    if (last->commit % 2 != metas->last || last->commit != other->commit + 1)
        return error_raise(HOOP_E_DATA_LOSS,
                           "pages 0 and 1 are of commits %" PRIu64
                           " and %" PRIu64 ", which do not follow each other",
                           metas->meta[0].commit, metas->meta[1].commit);
    return HOOP_OK;
}

static void
damage_ignore(void *owner, const char *text)
{
    (void)owner;
    (void)text;
}

/* The pages of the commit before the last still exist, with its commit record.
 * This shows whether the other meta page names the commit that it should. */
static enum hoop_status
previous_commit_check(const struct meta_pages *metas, struct storage_span file)
{
    static const struct pages_visitor visitor = {.on_damage = damage_ignore};
    const struct meta_page *other = &metas->meta[!metas->last];
    struct walk walk = {
        .file = file,
        .n_page = metas->n_page,
        .meta = other,
        .visitor = &visitor,
    };

    if (other->commit == 0)
        return HOOP_OK;

    const enum hoop_status status = tree_walk(&walk, TREE_KIND_RECORDS);

    if (status != HOOP_OK)
        return error_pass(status);
    if (walk.written.commit != other->commit)
        return error_raise(HOOP_E_DATA_LOSS,
                           "page %d: it is of commit %" PRIu64 ", and its "
                           "records are of %" PRIu64,
                           !metas->last, other->commit, walk.written.commit);
    return HOOP_OK;
}

static enum hoop_status
commit_checksum_record_check(const struct walk *walk)
{
    const struct commit_record *written = &walk->written;

    if (walk->meta->commit == 0 && walk->sums.n_records == 0)
        return HOOP_OK;
    if (written->commit == 0)
        return error_raise(HOOP_E_PRECONDITION,
                           "it was written by an earlier hoopd, whose records "
                           "are not counted: use the release that wrote it, or "
                           "begin with an empty folder");
    if (written->commit != walk->meta->commit ||
        written->n_records != walk->sums.n_records ||
        written->sum != walk->sums.sum)
        return error_raise(HOOP_E_DATA_LOSS,
                           "%" PRIu64 " records of commit %" PRIu64
                           " are there; commit %" PRIu64 " left %" PRIu64
                           ", or others",
                           walk->sums.n_records, walk->meta->commit,
                           written->commit, written->n_records);
    return HOOP_OK;
}

enum hoop_status
pages_check(struct storage_span file)
{
    struct meta_pages metas = {0};

    enum hoop_status status = meta_pages_read(file, &metas);
    if (status == HOOP_OK)
        status = meta_pages_check_commits(&metas);
    if (status != HOOP_OK)
        return error_pass(status);

    const struct meta_page *last = &metas.meta[metas.last];
    CLEANUP(free) uint8_t *is_used = calloc(1, last->page_number_last / 8 + 1);
    struct walk walk = {
        .file = file,
        .n_page = metas.n_page,
        .meta = last,
        .is_used = is_used,
    };

    if (!is_used)
        return error_raise(HOOP_E_EXHAUSTED, "no memory to check the data");
    status = tree_walk(&walk, TREE_KIND_RECORDS);
    if (status == HOOP_OK)
        status = commit_checksum_record_check(&walk);
    else if (walk.lacks_checksums)
        return error_raise(HOOP_E_PRECONDITION,
                           "it was written by an earlier hoopd, whose records "
                           "have no checksums: use the release that wrote it, "
                           "or begin with an empty folder");
    if (status == HOOP_OK)
        status = tree_walk(&walk, TREE_KIND_FREE_PAGES);
    if (status == HOOP_OK)
        status = previous_commit_check(&metas, file);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

/* Return the number of the commit whose records a meta page leads to, from
 * their commit record; 0 if they have none, or are incomplete and the meta page
 * is damaged. */
static uint64_t
meta_records_commit(const struct meta_pages *metas,
                    struct walk *walk,
                    unsigned int page)
{
    walk->meta = &metas->meta[page];

    const bool is_whole = tree_walk(walk, TREE_KIND_RECORDS) == HOOP_OK &&
                          walk->sums.n_records == walk->written.n_records &&
                          walk->sums.sum == walk->written.sum;

    return is_whole || (metas->is_meta_valid[page] &&
                        walk->written.commit == walk->meta->commit)
               ? walk->written.commit
               : 0;
}

/* Use the meta page of the later commit, and report what the damage may have
 * cost. */
static enum hoop_status
meta_pages_use_later_commit(struct meta_pages *metas,
                            const uint64_t commits[2],
                            const struct walk *reading)
{
    if (commits[0] != commits[1])
        metas->last = commits[1] > commits[0];

    const unsigned int last = metas->last;
    const bool is_sure = commits[!last] != 0;
    const bool is_last_damaged =
        is_sure && (!metas->is_meta_valid[last] ||
                    metas->meta[last].commit != commits[last]);

    (void)page_damage_raise(is_last_damaged ? last : !last,
                            is_sure
                                ? "it is damaged; both of the last changes can "
                                  "be read all the same"
                                : "it is damaged: the last change may be lost, "
                                  "and what it replaced be back");
    return damage_report(reading, HOOP_E_DATA_LOSS);
}

/* Return whether both meta pages are intact and the last one has a valid
 * root. */
static bool
meta_pages_are_intact(const struct meta_pages *metas,
                      const struct walk *reading)
{
    const struct meta_page *last = &metas->meta[metas->last];
    const struct tree *tree = &last->trees[TREE_KIND_RECORDS];
    struct walk walk = {
        .file = reading->file,
        .n_page = metas->n_page,
        .meta = last,
    };
    const uint8_t *bytes;

    if (!metas->is_meta_valid[0] || !metas->is_meta_valid[1] ||
        meta_pages_check_commits(metas) != HOOP_OK || !tree_has_root(tree))
        return false;
    return tree->root == no_page_number ||
           page_check_open(&walk, tree->root,
                           tree->depth == 1 ? PAGE_FLAG_LEAF : PAGE_FLAG_BRANCH,
                           &bytes) == HOOP_OK;
}

/* If a meta page is damaged, the commit numbers on both prove nothing, so read
 * those of the records they lead to. */
static enum hoop_status
meta_choose(struct meta_pages *metas, const struct walk *reading)
{
    const struct storage_span file = reading->file;
    const size_t n_used = file.n_bytes / metas->n_page / 8 + 1;
    uint64_t commits[2] = {0};

    if (meta_pages_are_intact(metas, reading))
        return HOOP_OK;
    for (unsigned int page = 0; page < 2; page++) {
        const size_t at = page * metas->n_page + sizeof(struct page_header);
        struct walk walk = {.file = file, .n_page = metas->n_page};

        if (file.n_bytes < at + sizeof(struct meta_page))
            continue;
        walk.is_used = calloc(1, n_used);
        if (!walk.is_used)
            return error_raise(HOOP_E_EXHAUSTED, "no memory to read the data");
        bytes_read_at(file.bytes, at, &metas->meta[page],
                      sizeof(struct meta_page));
        commits[page] = meta_records_commit(metas, &walk, page);
        free(walk.is_used);
    }
    return meta_pages_use_later_commit(metas, commits, reading);
}

enum hoop_status
pages_visit_records(struct storage_span file,
                    const struct pages_visitor *visitor,
                    struct commit_record *out_written)
{
    struct meta_pages metas = {0};

    (void)meta_pages_read(file, &metas);
    if (!metas.is_meta_valid[0] && !metas.is_meta_valid[1])
        return error_raise(HOOP_E_DATA_LOSS,
                           "neither page 0 nor page 1 is one of hoopd's");

    CLEANUP(free)
    uint8_t *is_used = calloc(1, file.n_bytes / metas.n_page / 8 + 1);
    struct walk walk = {
        .file = file,
        .n_page = metas.n_page,
        .is_used = is_used,
        .visitor = visitor,
    };

    if (!is_used)
        return error_raise(HOOP_E_EXHAUSTED, "no memory to read the data");

    enum hoop_status status = meta_choose(&metas, &walk);
    walk.meta = &metas.meta[metas.last];
    if (status == HOOP_OK)
        status = tree_walk(&walk, TREE_KIND_RECORDS);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_written = walk.written;
    return HOOP_OK;
}
