// What the runner asks for, through the environment of the program.
#pragma once

#include <string>
#include <vector>

namespace aiesim {

struct Settings {
  bool discover = false;                   // only describe the graph
  std::string result_file;                 // JSON
  std::string output_folder;               // of PLIO files
  std::vector<std::string> input_folders;  // of PLIO files, first found wins
  long iterations = 0;                     // instead of those of graph.run, if not 0
  bool time_stamps = false;                // in output files
  bool trace = false;                      // spans of all kernels in the result
  std::string costs_file;

  std::string find_input(const std::string& file) const;
  std::string input_folders_text() const;
};

Settings& settings();

}  // namespace aiesim
