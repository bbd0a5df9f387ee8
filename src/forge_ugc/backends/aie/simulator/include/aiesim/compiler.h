// Words of AMD's compiler: pragmas of loops, of which pipelining counts in the account, and of
// storage.
#pragma once

#include "aiesim/tile.h"

#define chess_prepare_for_pipelining AIESIM_PIPELINED_LOOP
#define chess_flatten_loop
#define chess_no_hw_loop
#define chess_unroll_loop_preamble
#define chess_loop_range(...)
#define chess_loop_count(...)
#define chess_min_loop_count(...)
#define chess_max_loop_count(...)
#define chess_unroll_loop(...)
#define chess_peel_pipelined_loop(...)
#define chess_modulo_scheduling_budget_ratio(...)
#define chess_pipeline_adjust_preamble
#define chess_require_pipelining(...)
#define chess_storage(...)
#define chess_protect_access
#define chess_allocate(...)
#define chess_output
#define chess_input
#define chess_clobbers(...)
#define chess_copy(value) (value)
#define chess_const_copy(value) (value)
#define chess_manifest(value) (__builtin_constant_p(value))
#define chess_separator(...) static_cast<void>(0)
#define chess_separator_scheduler(...) static_cast<void>(0)
#define chess_memory_fence(...) static_cast<void>(0)
#define chess_report(...) static_cast<void>(0)
#define chess_cycle_count() (0)
#define AIE_PREPARE_FOR_PIPELINING AIESIM_PIPELINED_LOOP
#define AIE_LOOP_RANGE(...)
#define AIE_LOOP_UNROLL(...)
#define AIE_LOOP_UNROLL_FULL
#define AIE_LOOP_FLATTEN
#define AIE_PREPARE_FOR_POSTPIPELINING
#define AIE_LOOP_NO_UNROLL
#define AIE_LOOP_MIN_ITERATION_COUNT(...)
#define AIE_LOOP_MAX_ITERATION_COUNT(...)
