#include "settings.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "aiesim/costs.h"
#include "engine.h"

namespace aiesim {

namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool set_network_cost(const std::string& name, double value) {
  NetworkCosts& c = network_costs();
  const std::pair<const char*, double*> known[] = {
      {"clock_mhz", &c.clock_mhz},
      {"stream_depth_words", &c.stream_depth_words},
      {"stream_hop_cycles", &c.stream_hop_cycles},
      {"stream_hops", &c.stream_hops},
      {"cascade_depth", &c.cascade_depth},
      {"lock_cycles", &c.lock_cycles},
      {"call_cycles", &c.call_cycles},
      {"dma_start_cycles", &c.dma_start_cycles},
  };
  for (const auto& [key, figure] : known) {
    if (name == key) {
      *figure = value;
      return true;
    }
  }
  return false;
}

void read_costs(const std::string& path) {
  std::ifstream file(path);
  if (!file) reject("cannot read the file of costs " + path, {});
  unsigned number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    line = line.substr(0, line.find('#'));
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    std::istringstream parts(line);
    std::string name, equals;
    double value = 0;
    if (!(parts >> name >> equals >> value) || equals != "=") {
      reject("a line of a file of costs is 'name = number'", {path.c_str(), number});
    }
    if (!costs().set(name, value) && !set_network_cost(name, value)) {
      reject("there is no cost called " + name, {path.c_str(), number});
    }
  }
}

Settings from_environment() {
  Settings s;
  s.discover = !variable("AIESIM_DISCOVER").empty();
  s.result_file = variable("AIESIM_RESULT");
  s.output_folder = variable("AIESIM_OUT");
  s.time_stamps = !variable("AIESIM_TIME_STAMPS").empty();
  s.trace = !variable("AIESIM_TRACE").empty();
  s.iterations = std::atol(variable("AIESIM_ITERATIONS").c_str());
  s.costs_file = variable("AIESIM_COSTS");
  std::istringstream folders(variable("AIESIM_DATA"));
  for (std::string folder; std::getline(folders, folder, ':');) s.input_folders.push_back(folder);
  if (s.input_folders.empty()) s.input_folders.push_back(".");
  return s;
}

}  // namespace

Settings& settings() {
  static Settings* only = nullptr;
  if (only == nullptr) {
    only = new Settings(from_environment());
    if (!only->costs_file.empty()) read_costs(only->costs_file);
  }
  return *only;
}

std::string Settings::find_input(const std::string& file) const {
  if (std::filesystem::path(file).is_absolute()) return std::filesystem::exists(file) ? file : "";
  for (const std::string& folder : input_folders) {
    const auto path = std::filesystem::path(folder) / file;
    if (std::filesystem::is_regular_file(path)) return path.string();
  }
  return "";
}

std::string Settings::input_folders_text() const {
  std::string text;
  for (const std::string& folder : input_folders) text += (text.empty() ? "" : ", ") + folder;
  return text;
}

}  // namespace aiesim
