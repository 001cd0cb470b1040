/*
 * tune/record_rows.c - what was fastest, up to which size, in many jobs
 *
 * Written by bench/selection/record.py. No test of its own: record_test.c.
 */

#include "base/cleanup.h"
#include "plan/algorithms.h"
#include "tune/record.h"

const struct record_sheet record_sheets[] = {
    {.kind = RECORD_TCP,
     .n_processors = 2,
     .n_ranks = 2,
     .rows =
         {
             [CATALOG_ALLGATHER] = {{UINT64_MAX, &algorithm_allgather_ring}},
             [CATALOG_ALLREDUCE] =
                 {{1048576, &algorithm_allreduce_recursive_doubling},
                  {UINT64_MAX, &algorithm_allreduce_hierarchical_halving}},
             [CATALOG_ALLTOALL] = {{UINT64_MAX, &algorithm_alltoall_pairwise}},
             [CATALOG_BROADCAST] = {{UINT64_MAX, &algorithm_broadcast_chain}},
             [CATALOG_EXSCAN] = {{UINT64_MAX, &algorithm_exscan_chain}},
             [CATALOG_GATHER] = {{UINT64_MAX, &algorithm_gather_linear}},
             [CATALOG_REDUCE] = {{UINT64_MAX, &algorithm_reduce_chain}},
             [CATALOG_REDUCE_SCATTER] = {{UINT64_MAX,
                                          &algorithm_reduce_scatter_halving}},
             [CATALOG_SCAN] = {{UINT64_MAX, &algorithm_scan_chain}},
             [CATALOG_SCATTER] = {{UINT64_MAX, &algorithm_scatter_linear}},
         }},
    {.kind = RECORD_TCP,
     .n_processors = 2,
     .n_ranks = 3,
     .rows =
         {
             [CATALOG_ALLGATHER] = {{UINT64_MAX, &algorithm_allgather_bruck}},
             [CATALOG_ALLREDUCE] = {{UINT64_MAX,
                                     &algorithm_allreduce_hierarchical_tree}},
             [CATALOG_ALLTOALL] = {{UINT64_MAX, &algorithm_alltoall_pairwise}},
             [CATALOG_BROADCAST] = {{1048576, &algorithm_broadcast_binomial},
                                    {UINT64_MAX, &algorithm_broadcast_chain}},
             [CATALOG_EXSCAN] = {{UINT64_MAX, &algorithm_exscan_chain}},
             [CATALOG_GATHER] = {{UINT64_MAX, &algorithm_gather_linear}},
             [CATALOG_REDUCE] = {{65536, &algorithm_reduce_binomial},
                                 {5931641, &algorithm_reduce_chain},
                                 {UINT64_MAX, &algorithm_reduce_binomial}},
             [CATALOG_REDUCE_SCATTER] =
                 {{65525, &algorithm_reduce_scatter_halving},
                  {5931629, &algorithm_reduce_scatter_pairwise},
                  {UINT64_MAX, &algorithm_reduce_scatter_halving}},
             [CATALOG_SCAN] = {{UINT64_MAX, &algorithm_scan_chain}},
             [CATALOG_SCATTER] = {{UINT64_MAX, &algorithm_scatter_linear}},
         }},
    {.kind = RECORD_TCP,
     .n_processors = 2,
     .n_ranks = 4,
     .rows =
         {
             [CATALOG_ALLGATHER] = {{65536,
                                     &algorithm_allgather_hierarchical_tree},
                                    {UINT64_MAX, &algorithm_allgather_bruck}},
             [CATALOG_ALLREDUCE] = {{UINT64_MAX,
                                     &algorithm_allreduce_hierarchical_tree}},
             [CATALOG_ALLTOALL] = {{UINT64_MAX, &algorithm_alltoall_pairwise}},
             [CATALOG_BROADCAST] = {{UINT64_MAX,
                                     &algorithm_broadcast_binomial}},
             [CATALOG_EXSCAN] = {{16384, &algorithm_exscan_doubling},
                                 {UINT64_MAX, &algorithm_exscan_chain}},
             [CATALOG_GATHER] = {{UINT64_MAX, &algorithm_gather_linear}},
             [CATALOG_REDUCE] = {{UINT64_MAX, &algorithm_reduce_binomial}},
             [CATALOG_REDUCE_SCATTER] = {{UINT64_MAX,
                                          &algorithm_reduce_scatter_halving}},
             [CATALOG_SCAN] = {{16384, &algorithm_scan_doubling},
                               {UINT64_MAX, &algorithm_scan_chain}},
             [CATALOG_SCATTER] = {{UINT64_MAX, &algorithm_scatter_linear}},
         }},
    {.kind = RECORD_TCP,
     .n_processors = 2,
     .n_ranks = 7,
     .rows =
         {
             [CATALOG_ALLGATHER] = {{65526,
                                     &algorithm_allgather_hierarchical_tree},
                                    {5931628, &algorithm_allgather_bruck},
                                    {UINT64_MAX, &algorithm_allgather_ring}},
             [CATALOG_ALLREDUCE] = {{UINT64_MAX,
                                     &algorithm_allreduce_hierarchical_tree}},
             [CATALOG_ALLTOALL] = {{65526, &algorithm_alltoall_bruck},
                                   {UINT64_MAX, &algorithm_alltoall_pairwise}},
             [CATALOG_BROADCAST] = {{UINT64_MAX,
                                     &algorithm_broadcast_binomial}},
             [CATALOG_EXSCAN] = {{UINT64_MAX, &algorithm_exscan_chain}},
             [CATALOG_GATHER] = {{UINT64_MAX, &algorithm_gather_linear}},
             [CATALOG_REDUCE] = {{UINT64_MAX, &algorithm_reduce_binomial}},
             [CATALOG_REDUCE_SCATTER] = {{UINT64_MAX,
                                          &algorithm_reduce_scatter_halving}},
             [CATALOG_SCAN] = {{UINT64_MAX, &algorithm_scan_chain}},
             [CATALOG_SCATTER] = {{262136, &algorithm_scatter_binomial},
                                  {UINT64_MAX, &algorithm_scatter_linear}},
         }},
    {.kind = RECORD_TCP,
     .n_processors = 2,
     .n_ranks = 8,
     .rows =
         {
             [CATALOG_ALLGATHER] = {{65536,
                                     &algorithm_allgather_hierarchical_tree},
                                    {262144, &algorithm_allgather_bruck},
                                    {UINT64_MAX, &algorithm_allgather_ring}},
             [CATALOG_ALLREDUCE] = {{UINT64_MAX,
                                     &algorithm_allreduce_hierarchical_tree}},
             [CATALOG_ALLTOALL] = {{65536, &algorithm_alltoall_bruck},
                                   {UINT64_MAX, &algorithm_alltoall_pairwise}},
             [CATALOG_BROADCAST] = {{5931641, &algorithm_broadcast_binomial},
                                    {UINT64_MAX, &algorithm_broadcast_chain}},
             [CATALOG_EXSCAN] = {{16384, &algorithm_exscan_doubling},
                                 {UINT64_MAX, &algorithm_exscan_chain}},
             [CATALOG_GATHER] = {{UINT64_MAX, &algorithm_gather_linear}},
             [CATALOG_REDUCE] = {{UINT64_MAX, &algorithm_reduce_binomial}},
             [CATALOG_REDUCE_SCATTER] =
                 {{5931641, &algorithm_reduce_scatter_halving},
                  {UINT64_MAX, &algorithm_reduce_scatter_ring}},
             [CATALOG_SCAN] = {{4096, &algorithm_scan_doubling},
                               {UINT64_MAX, &algorithm_scan_chain}},
             [CATALOG_SCATTER] = {{UINT64_MAX, &algorithm_scatter_linear}},
         }},
};

const size_t record_n_sheets = COUNT_OF(record_sheets);
