/*
 * tests/integration/parallel/mapping_cases.h - a table of the mappings
 *
 * Each row has one function of hoop/tensor_parallel.h or hoop/mappings.h, in
 * both of its forms, and what it does by definition. The table repeats the
 * definition independently of the library's own.
 */

#ifndef TESTS_INTEGRATION_MAPPING_CASES_H
#define TESTS_INTEGRATION_MAPPING_CASES_H

#include "hoop/hoop.h"

/* The effect is what a function does to the tensors of all ranks by
 * definition. */
enum effect {
    EFFECT_SAME,
    EFFECT_SUM,
    EFFECT_CUT_LAST,
    EFFECT_CUT_FIRST,
    EFFECT_JOIN_LAST,
    EFFECT_JOIN_FIRST,
    EFFECT_SUM_CUT_LAST,
    EFFECT_SUM_CUT_FIRST,
    EFFECT_ROWS,      /* rows go to and come from all ranks */
    EFFECT_ROWS_BACK, /* the same, with the splits of the way forward */
    EFFECT_SP2HP,
    EFFECT_HP2SP,
};

/* Returns whether no data move. */
bool
effect_stays_here(enum effect effect);

enum {
    MAPPING_VALUES = 256,
};

/* Tensors of mapping_table() have this data, which is zero. */
extern int64_t mapping_values[MAPPING_VALUES];
struct hoop_tensor
mapping_table(size_t n_rows, size_t n_columns);

/* A call has these arguments. */
struct redistribute_call_arguments {
    const struct hoop_tensor *tensor;
    struct hoop_tensor *out;
    const struct hoop_rows *rows;
    const struct hoop_row_splits *splits;
    hoop_comm_t *comm;
};

typedef enum hoop_status
plain_fn(const struct hoop_tensor *, struct hoop_tensor *, hoop_comm_t *);
typedef enum hoop_status
plain_start_fn(const struct hoop_tensor *,
               struct hoop_tensor *,
               hoop_comm_t *,
               hoop_op_t **);
typedef enum hoop_status
rows_fn(const struct hoop_tensor *,
        struct hoop_tensor *,
        const struct hoop_rows *,
        hoop_comm_t *);
typedef enum hoop_status
rows_start_fn(const struct hoop_tensor *,
              struct hoop_tensor *,
              const struct hoop_rows *,
              hoop_comm_t *,
              hoop_op_t **);
typedef enum hoop_status
consumer_fn(const struct hoop_tensor *,
            struct hoop_tensor *,
            enum hoop_consumer,
            const struct hoop_rows *,
            hoop_comm_t *);
typedef enum hoop_status
consumer_start_fn(const struct hoop_tensor *,
                  struct hoop_tensor *,
                  enum hoop_consumer,
                  const struct hoop_rows *,
                  hoop_comm_t *,
                  hoop_op_t **);
typedef enum hoop_status
splits_fn(const struct hoop_tensor *,
          struct hoop_tensor *,
          const struct hoop_row_splits *,
          hoop_comm_t *);
typedef enum hoop_status
splits_start_fn(const struct hoop_tensor *,
                struct hoop_tensor *,
                const struct hoop_row_splits *,
                hoop_comm_t *,
                hoop_op_t **);

struct mapping_case {
    const char *name;
    enum effect effect;
    /* A row has one of these pairs. */
    plain_fn *plain;
    plain_start_fn *plain_start; /* NULL: there is no such form */
    rows_fn *rows;
    rows_start_fn *rows_start;
    consumer_fn *consuming;
    consumer_start_fn *consuming_start;
    enum hoop_consumer consumer;
    splits_fn *splits;
    splits_start_fn *splits_start;
};

extern const struct mapping_case mapping_cases[];
extern const size_t n_mapping_cases;

/* Returns the row of this name, or NULL. */
const struct mapping_case *
mapping_case_find(const char *name);

/* Returns whether the rows may be uneven, with sizes. */
bool
mapping_case_takes_sizes(const struct mapping_case *mapping_case);
/* Returns whether the function takes a struct hoop_rows. */
bool
mapping_case_takes_rows(const struct mapping_case *mapping_case);
bool
mapping_case_has_start(const struct mapping_case *mapping_case);

/* The first calls the blocking form. The second calls the _start form and
 * waits. */
enum hoop_status
mapping_case_run(const struct mapping_case *mapping_case,
                 const struct redistribute_call_arguments *call);
enum hoop_status
mapping_case_start(const struct mapping_case *mapping_case,
                   const struct redistribute_call_arguments *call,
                   hoop_op_t **out_op);
enum hoop_status
mapping_case_run_started(const struct mapping_case *mapping_case,
                         const struct redistribute_call_arguments *call);

#endif
