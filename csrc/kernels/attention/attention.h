// softmax(scale * q k^T + mask) v over the keys that a query sees, with grouped queries.
//
// Sources: Vaswani et al. 2017, section 3.2.1; Ainslie et al. 2023 (grouped queries); Milakov and
// Gimelshein 2018, algorithm 3 (the softmax over keys that come in chunks); Dao 2023,
// FlashAttention-2, algorithm 1 (the sums are divided once, at the end).
//
// Query head h reads key and value head h / (heads / groups). A false mask entry hides a key, and
// so does -inf in an additive one. All arithmetic is in float32, whatever the elements are. With
// u = 2^-24, p the exact weights, V = sum_j p_j |v_j|, w_j = sum_d |scale q_d k_jd|, m the mask and
// d_j the distance of a score from the highest of its row, the error of a result before it is
// rounded to out_type is, to the first order, at most
//   sum_j p_j (|v_j| + V) e_j + (keys + 24) u V,  e_j = ((size + 3) w_j + 2 |m_j| + d_j) u.
// On AMX it is 2^-15 V more, and denormal operands count as zero. Weights below e^-87.3 of the
// largest count as zero. A score that is NaN or +inf makes its row NaN; a row whose scores are all
// -inf counts as one that sees no key. Hidden keys are taken to have finite scores and values.
//
// Results are the same bits for any number of shares. Rows of few queries read keys and values
// once, as they lie; others pack them into the scratch of their share.
#pragma once

#include "kernels/attention/args.h"

namespace forge {

extern const Kernel attention_f32_kernel;
extern const Kernel attention_bf16_kernel;

}  // namespace forge
