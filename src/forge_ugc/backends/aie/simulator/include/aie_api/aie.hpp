// The AI Engine API on x86: see docs/aie-simulator.md.
#pragma once

#include "aie_api/elementary.hpp"
#include "aie_api/elementwise.hpp"
#include "aie_api/iterator.hpp"
#include "aie_api/memory.hpp"
#include "aie_api/mmul.hpp"
#include "aie_api/multiply.hpp"
#include "aie_api/reduce.hpp"
#include "aie_api/shuffle.hpp"
#include "aie_api/sliding_mul.hpp"
#include "aie_api/tile.hpp"
