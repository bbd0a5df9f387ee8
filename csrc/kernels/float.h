// The floating-point types that a kernel's pointers may have, as a field of its arguments.
#pragma once

namespace forge {

enum class Float : int { f32, bf16 };

}  // namespace forge
