/*
 * tune/record_tcp.c - what was fastest, up to which size, in many jobs
 *
 * Written by bench/selection/record.py. No test of its own: record_test.c.
 */

#include "base/cleanup.h"
#include "plan/algorithms.h"
#include "tune/record.h"

static const struct record_sheet sheets[] = {
    {.kind = RECORD_TCP,
     .n_processors = 2,
     .n_ranks = 2,
     .rows =
         {
             [CATALOG_ALLGATHER] = {{UINT64_MAX, &algorithm_allgather_ring}},
             [CATALOG_ALLREDUCE] =
                 {{65536, &algorithm_allreduce_recursive_doubling},
                  {UINT64_MAX, &algorithm_allreduce_rabenseifner}},
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
             [CATALOG_ALLREDUCE] =
                 {{64, &algorithm_allreduce_pairwise},
                  {65536, &algorithm_allreduce_recursive_doubling},
                  {UINT64_MAX, &algorithm_allreduce_pairwise}},
             [CATALOG_ALLTOALL] = {{UINT64_MAX, &algorithm_alltoall_pairwise}},
             [CATALOG_BROADCAST] = {{5931641, &algorithm_broadcast_binomial},
                                    {UINT64_MAX, &algorithm_broadcast_chain}},
             [CATALOG_EXSCAN] = {{1048576, &algorithm_exscan_doubling},
                                 {UINT64_MAX, &algorithm_exscan_chain}},
             [CATALOG_GATHER] = {{UINT64_MAX, &algorithm_gather_linear}},
             [CATALOG_REDUCE] = {{65536, &algorithm_reduce_binomial},
                                 {UINT64_MAX, &algorithm_reduce_chain}},
             [CATALOG_REDUCE_SCATTER] =
                 {{65525, &algorithm_reduce_scatter_halving},
                  {1048565, &algorithm_reduce_scatter_pairwise},
                  {UINT64_MAX, &algorithm_reduce_scatter_halving}},
             [CATALOG_SCAN] = {{UINT64_MAX, &algorithm_scan_chain}},
             [CATALOG_SCATTER] = {{UINT64_MAX, &algorithm_scatter_binomial}},
         }},
    {.kind = RECORD_TCP,
     .n_processors = 2,
     .n_ranks = 4,
     .rows =
         {
             [CATALOG_ALLGATHER] = {{4096,
                                     &algorithm_allgather_hierarchical_tree},
                                    {5931641, &algorithm_allgather_bruck},
                                    {UINT64_MAX, &algorithm_allgather_ring}},
             [CATALOG_ALLREDUCE] =
                 {{65536, &algorithm_allreduce_hierarchical_tree},
                  {262144, &algorithm_allreduce_rabenseifner},
                  {1048576, &algorithm_allreduce_hierarchical_tree},
                  {5931641, &algorithm_allreduce_ring},
                  {UINT64_MAX, &algorithm_allreduce_hierarchical_halving}},
             [CATALOG_ALLTOALL] = {{65536, &algorithm_alltoall_bruck},
                                   {UINT64_MAX, &algorithm_alltoall_pairwise}},
             [CATALOG_BROADCAST] = {{UINT64_MAX,
                                     &algorithm_broadcast_binomial}},
             [CATALOG_EXSCAN] = {{1048576, &algorithm_exscan_doubling},
                                 {UINT64_MAX, &algorithm_exscan_chain}},
             [CATALOG_GATHER] = {{UINT64_MAX, &algorithm_gather_linear}},
             [CATALOG_REDUCE] = {{UINT64_MAX, &algorithm_reduce_binomial}},
             [CATALOG_REDUCE_SCATTER] =
                 {{5931641, &algorithm_reduce_scatter_halving},
                  {UINT64_MAX, &algorithm_reduce_scatter_ring}},
             [CATALOG_SCAN] = {{1048576, &algorithm_scan_doubling},
                               {UINT64_MAX, &algorithm_scan_chain}},
             [CATALOG_SCATTER] = {{262144, &algorithm_scatter_binomial},
                                  {UINT64_MAX, &algorithm_scatter_linear}},
         }},
    {.kind = RECORD_TCP,
     .n_processors = 2,
     .n_ranks = 5,
     .rows =
         {
             [CATALOG_ALLGATHER] = {{16369,
                                     &algorithm_allgather_hierarchical_tree},
                                    {5931621, &algorithm_allgather_bruck},
                                    {UINT64_MAX, &algorithm_allgather_ring}},
             [CATALOG_ALLREDUCE] =
                 {{64, &algorithm_allreduce_pairwise},
                  {65536, &algorithm_allreduce_recursive_doubling},
                  {1048576, &algorithm_allreduce_rabenseifner},
                  {UINT64_MAX, &algorithm_allreduce_hierarchical}},
             [CATALOG_ALLTOALL] = {{65524, &algorithm_alltoall_bruck},
                                   {UINT64_MAX, &algorithm_alltoall_pairwise}},
             [CATALOG_BROADCAST] = {{UINT64_MAX,
                                     &algorithm_broadcast_binomial}},
             [CATALOG_EXSCAN] = {{65536, &algorithm_exscan_doubling},
                                 {UINT64_MAX, &algorithm_exscan_chain}},
             [CATALOG_GATHER] = {{UINT64_MAX, &algorithm_gather_linear}},
             [CATALOG_REDUCE] = {{65536, &algorithm_reduce_binomial},
                                 {1048576, &algorithm_reduce_chain},
                                 {UINT64_MAX, &algorithm_reduce_binomial}},
             [CATALOG_REDUCE_SCATTER] =
                 {{1048564, &algorithm_reduce_scatter_halving},
                  {UINT64_MAX, &algorithm_reduce_scatter_ring}},
             [CATALOG_SCAN] = {{65536, &algorithm_scan_doubling},
                               {UINT64_MAX, &algorithm_scan_chain}},
             [CATALOG_SCATTER] = {{UINT64_MAX, &algorithm_scatter_linear}},
         }},
    {.kind = RECORD_TCP,
     .n_processors = 2,
     .n_ranks = 6,
     .rows =
         {
             [CATALOG_ALLGATHER] = {{65525,
                                     &algorithm_allgather_hierarchical_tree},
                                    {1048565, &algorithm_allgather_bruck},
                                    {UINT64_MAX, &algorithm_allgather_ring}},
             [CATALOG_ALLREDUCE] =
                 {{64, &algorithm_allreduce_pairwise},
                  {65536, &algorithm_allreduce_recursive_doubling},
                  {1048576, &algorithm_allreduce_hierarchical_halving},
                  {UINT64_MAX, &algorithm_allreduce_ring}},
             [CATALOG_ALLTOALL] = {{16373, &algorithm_alltoall_bruck},
                                   {UINT64_MAX, &algorithm_alltoall_pairwise}},
             [CATALOG_BROADCAST] = {{UINT64_MAX,
                                     &algorithm_broadcast_binomial}},
             [CATALOG_EXSCAN] = {{65536, &algorithm_exscan_doubling},
                                 {UINT64_MAX, &algorithm_exscan_chain}},
             [CATALOG_GATHER] = {{UINT64_MAX, &algorithm_gather_linear}},
             [CATALOG_REDUCE] = {{UINT64_MAX, &algorithm_reduce_binomial}},
             [CATALOG_REDUCE_SCATTER] =
                 {{65525, &algorithm_reduce_scatter_halving},
                  {262133, &algorithm_reduce_scatter_pairwise},
                  {UINT64_MAX, &algorithm_reduce_scatter_ring}},
             [CATALOG_SCAN] = {{65536, &algorithm_scan_doubling},
                               {UINT64_MAX, &algorithm_scan_chain}},
             [CATALOG_SCATTER] = {{UINT64_MAX, &algorithm_scatter_linear}},
         }},
    {.kind = RECORD_TCP,
     .n_processors = 2,
     .n_ranks = 7,
     .rows =
         {
             [CATALOG_ALLGATHER] =
                 {{65526, &algorithm_allgather_hierarchical_tree},
                  {262136, &algorithm_allgather_bruck},
                  {1048557, &algorithm_allgather_hierarchical_tree},
                  {UINT64_MAX, &algorithm_allgather_ring}},
             [CATALOG_ALLREDUCE] =
                 {{64, &algorithm_allreduce_hierarchical_tree},
                  {65536, &algorithm_allreduce_recursive_doubling},
                  {1048576, &algorithm_allreduce_hierarchical_tree},
                  {UINT64_MAX, &algorithm_allreduce_hierarchical}},
             [CATALOG_ALLTOALL] = {{65526, &algorithm_alltoall_bruck},
                                   {UINT64_MAX, &algorithm_alltoall_pairwise}},
             [CATALOG_BROADCAST] = {{UINT64_MAX,
                                     &algorithm_broadcast_binomial}},
             [CATALOG_EXSCAN] = {{65536, &algorithm_exscan_doubling},
                                 {UINT64_MAX, &algorithm_exscan_chain}},
             [CATALOG_GATHER] = {{UINT64_MAX, &algorithm_gather_linear}},
             [CATALOG_REDUCE] = {{UINT64_MAX, &algorithm_reduce_binomial}},
             [CATALOG_REDUCE_SCATTER] =
                 {{262136, &algorithm_reduce_scatter_halving},
                  {UINT64_MAX, &algorithm_reduce_scatter_ring}},
             [CATALOG_SCAN] = {{65536, &algorithm_scan_doubling},
                               {UINT64_MAX, &algorithm_scan_chain}},
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
                                    {UINT64_MAX, &algorithm_allgather_ring}},
             [CATALOG_ALLREDUCE] =
                 {{64, &algorithm_allreduce_pairwise},
                  {65536, &algorithm_allreduce_recursive_doubling},
                  {262144, &algorithm_allreduce_hierarchical_halving},
                  {UINT64_MAX, &algorithm_allreduce_hierarchical_tree}},
             [CATALOG_ALLTOALL] = {{65536, &algorithm_alltoall_bruck},
                                   {UINT64_MAX, &algorithm_alltoall_pairwise}},
             [CATALOG_BROADCAST] = {{UINT64_MAX,
                                     &algorithm_broadcast_binomial}},
             [CATALOG_EXSCAN] = {{65536, &algorithm_exscan_doubling},
                                 {UINT64_MAX, &algorithm_exscan_chain}},
             [CATALOG_GATHER] = {{UINT64_MAX, &algorithm_gather_linear}},
             [CATALOG_REDUCE] = {{UINT64_MAX, &algorithm_reduce_binomial}},
             [CATALOG_REDUCE_SCATTER] =
                 {{65536, &algorithm_reduce_scatter_halving},
                  {UINT64_MAX, &algorithm_reduce_scatter_ring}},
             [CATALOG_SCAN] = {{65536, &algorithm_scan_doubling},
                               {UINT64_MAX, &algorithm_scan_chain}},
             [CATALOG_SCATTER] = {{UINT64_MAX, &algorithm_scatter_linear}},
         }},
};

const struct record_book record_tcp = {sheets, COUNT_OF(sheets)};
