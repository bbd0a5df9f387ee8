// PLIO as actors: a text file that feeds a stream, a stream that ends in a text file.
#pragma once

#include <vector>

#include "engine.h"
#include "plio_text.h"
#include "words.h"

namespace aiesim {

class PlioSource final : public Actor {
 public:
  PlioSource(IoNode& node, Element element);
  void body() override;
  WordWriter to;
  Element element;
  std::size_t total_words() const noexcept { return words_.size(); }

 private:
  std::vector<FileWord> words_;
};

class PlioSink final : public Actor {
 public:
  PlioSink(IoNode& node, Element element);
  void body() override;
  // Writes the file, below the folder of results.
  void save() const;
  WordReader* from = nullptr;
  Element element;
  const std::vector<double>& times() const noexcept { return times_; }

 private:
  std::vector<FileWord> words_;
  std::vector<double> times_;  // cycles
};

// Cycles of the array that a PLIO needs for one 32-bit word.
double plio_word_cycles(const IoNode& node);

}  // namespace aiesim
