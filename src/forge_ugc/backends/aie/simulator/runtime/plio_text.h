// The text files of PLIO: values of the port's data type, TLAST lines, time stamps.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "aiesim/model.h"

namespace aiesim {

struct FileWord {
  std::uint32_t bits;
  bool last;
  unsigned idle = 0;  // cycles of the interface before it (STALL of CSV files)
};

// Bytes and numbers of one value.
std::size_t element_size(Element element);
std::size_t element_parts(Element element);  // 2 for complex types

// The words of a file. Line ends mean nothing, except that TLAST marks the last word of the line
// after it. Ends the run with file and line if the text is malformed.
std::vector<FileWord> read_plio_file(const std::string& path, Element element, bool hex);

// The text of values that left the array: `bits / element` values a line, TLAST before the line
// that ends with it, and before each line its time if `nanoseconds` is given (one per word).
std::string plio_text(const std::vector<FileWord>& words, Element element, unsigned bits, bool hex,
                      const std::vector<double>* nanoseconds);

}  // namespace aiesim
