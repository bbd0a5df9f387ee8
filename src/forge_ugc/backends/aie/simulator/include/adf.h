// The ADF graph and kernel API on x86: see docs/aie-simulator.md.
#pragma once

#include "aiesim/compiler.h"
#include "aiesim/event.h"
#include "aiesim/graph.h"
#include "aiesim/names.h"
#include "aiesim/stream_access.h"
#include "aiesim/window_access.h"
