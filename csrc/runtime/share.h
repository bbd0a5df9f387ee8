// Which part of a piece of work one thread does.
#pragma once

namespace forge {

struct Share {
  unsigned index;  // below count
  unsigned count;
};

}  // namespace forge
