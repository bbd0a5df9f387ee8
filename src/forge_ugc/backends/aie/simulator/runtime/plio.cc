#include "plio.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "settings.h"

namespace aiesim {

double plio_word_cycles(const IoNode& node) {
  const double clock = network_costs().clock_mhz;
  const double frequency = node.frequency_mhz > 0 ? node.frequency_mhz : clock / 4;
  const double words_a_cycle = node.bits / 32.0 * frequency / clock;
  return std::max(1.0, 1.0 / words_a_cycle);  // the stream behind it takes one a cycle
}

PlioSource::PlioSource(IoNode& node, Element given) : Actor(node.name), element(given) {
  io = &node;
  const std::string path = settings().find_input(node.file);
  if (path.empty()) {
    reject("PLIO " + node.name + " reads " + node.file +
               ", which is in none of: " + settings().input_folders_text(),
           node.place);
  }
  words_ = read_plio_file(*new std::string(path), element, node.hex);  // kept for messages
}

void PlioSource::body() {
  const double cycles = plio_word_cycles(*io);
  const double clock = network_costs().clock_mhz;
  const double interface_cycle = clock / (io->frequency_mhz > 0 ? io->frequency_mhz : clock / 4);
  for (const FileWord& word : words_) {
    if (word.idle > 0) tile.wait_until(tile.now() + word.idle * interface_cycle);
    to.put(*this, word.bits, word.last, cycles);
  }
  block(Wait::file_end);
}

PlioSink::PlioSink(IoNode& node, Element given) : Actor(node.name), element(given) { io = &node; }

void PlioSink::body() {
  const double cycles = plio_word_cycles(*io);
  while (true) {
    const WordReader::Word word = from->take(*this, cycles);
    words_.push_back({word.bits, word.last});
    times_.push_back(tile.now());
  }
}

void PlioSink::save() const {
  if (io->file.empty() || settings().output_folder.empty()) return;
  std::filesystem::path path = settings().output_folder;
  for (const auto& part : std::filesystem::path(io->file).relative_path()) {
    if (part != ".." && part != ".") path /= part;  // never outside of the folder
  }
  std::filesystem::create_directories(path.parent_path());
  std::vector<double> nanoseconds(times_.size());
  std::transform(times_.begin(), times_.end(), nanoseconds.begin(),
                 [](double cycles) { return cycles * 1000 / network_costs().clock_mhz; });
  std::ofstream(path) << plio_text(words_, element, io->bits, io->hex,
                                   settings().time_stamps ? &nanoseconds : nullptr);
}

}  // namespace aiesim
