// Part of adf.h, under the name that kernels include it by.
#pragma once

#include "adf.h"
