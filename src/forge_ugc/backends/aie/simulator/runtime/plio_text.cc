#include "plio_text.h"

#include <bit>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string_view>

#include "aiesim/types.h"

namespace aiesim {

std::size_t element_size(Element element) {
  switch (element) {
    case Element::i8:
    case Element::u8:
      return 1;
    case Element::i16:
    case Element::u16:
    case Element::bf16:
      return 2;
    case Element::i64:
    case Element::u64:
    case Element::ci32:
    case Element::cf32:
      return 8;
    default:
      return 4;
  }
}

std::size_t element_parts(Element element) {
  const bool complex =
      element == Element::ci16 || element == Element::ci32 || element == Element::cf32;
  return complex ? 2 : 1;
}

namespace {

bool is_float(Element element) {
  return element == Element::f32 || element == Element::cf32 || element == Element::bf16;
}

bool is_signed(Element element) {
  return element != Element::u8 && element != Element::u16 && element != Element::u32 &&
         element != Element::u64;
}

struct Reader {
  const std::string& path;
  Element element;
  bool hex;
  unsigned line = 0;
  std::vector<FileWord> words;
  std::uint64_t rest = 0;  // bytes of the word that is not yet full
  std::size_t rest_bytes = 0;
  bool last_next = false;
  unsigned idle = 0;

  [[noreturn]] void malformed(const std::string& what) const { reject(what, {path.c_str(), line}); }

  void append(std::uint64_t value, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; ++i) {
      rest |= ((value >> (8 * i)) & 0xff) << (8 * rest_bytes);
      if (++rest_bytes == 4) flush();
    }
  }

  void flush() {
    if (rest_bytes == 0) return;
    words.push_back({static_cast<std::uint32_t>(rest), false, idle});
    rest = 0, rest_bytes = 0, idle = 0;
  }

  void value(std::string_view token) {
    const std::size_t bytes = element_size(element) / element_parts(element);
    if (is_float(element) && !hex) {
      float number = 0;
      const auto end = std::from_chars(token.data(), token.data() + token.size(), number);
      if (end.ptr != token.data() + token.size()) unknown(token);
      append(element == Element::bf16 ? std::bit_cast<std::uint16_t>(bfloat16(number))
                                      : std::bit_cast<std::uint32_t>(number),
             bytes);
      return;
    }
    bool as_hex = hex;
    if (token.starts_with("0x") || token.starts_with("0X")) as_hex = true, token.remove_prefix(2);
    __int128 limit = __int128{1} << (8 * bytes);
    std::int64_t number = 0;
    std::uint64_t natural = 0;
    __int128 whole;
    const char* end = token.data() + token.size();
    if (token.starts_with('-')) {
      if (std::from_chars(token.data(), end, number).ptr != end) unknown(token);
      whole = number;
    } else {
      if (std::from_chars(token.data(), end, natural, as_hex ? 16 : 10).ptr != end) unknown(token);
      whole = natural;
    }
    // Signed data may also be written as the unsigned number of the same bits.
    const __int128 low = is_signed(element) ? -limit / 2 : 0;
    if (whole < low || whole >= limit) {
      malformed("the value " + std::string(token) + " does not fit " + std::to_string(8 * bytes) +
                " bits");
    }
    append(static_cast<std::uint64_t>(whole), bytes);
  }

  [[noreturn]] void unknown(std::string_view token) const {
    malformed("'" + std::string(token) + "' is not a value of the port's data type");
  }

  void end_of_line(std::size_t words_before) {
    if (words.size() == words_before || !last_next) return;
    flush();
    words.back().last = true;
    last_next = false;
  }
};

void read_text(Reader& reader, std::istream& file) {
  for (std::string text; std::getline(file, text);) {
    ++reader.line;
    std::istringstream tokens(text);
    const std::size_t before = reader.words.size();
    std::string token;
    bool values = false;
    while (tokens >> token) {
      if (token == "TLAST") {
        reader.last_next = true;
      } else if (token == "T" && !values) {
        break;  // a time stamp of a simulator
      } else {
        values = true;
        reader.value(token);
      }
    }
    if (values && reader.last_next) reader.flush();
    reader.end_of_line(before);
  }
}

void read_csv(Reader& reader, std::istream& file) {
  std::vector<std::string> columns;
  for (std::string text; std::getline(file, text);) {
    ++reader.line;
    while (!text.empty() && (text.back() == '\r' || text.back() == ' ')) text.pop_back();
    if (text.empty()) continue;
    std::vector<std::string> cells;
    std::istringstream row(text);
    for (std::string cell; std::getline(row, cell, ',');) {
      const auto from = cell.find_first_not_of(" \t");
      const auto to = cell.find_last_not_of(" \t");
      cells.push_back(from == std::string::npos ? "" : cell.substr(from, to - from + 1));
    }
    if (columns.empty() && cells.front() == "CMD") {
      columns = cells;
      continue;
    }
    if (columns.empty())
      reader.malformed("the first row of a CSV file names its columns: CMD,D,...");
    const std::string& command = cells.front();
    const unsigned count =
        command.find(':') == std::string::npos
            ? 1
            : static_cast<unsigned>(std::stoul(command.substr(command.find(':') + 1)));
    if (command.starts_with("STALL")) {
      reader.idle += count;
      continue;
    }
    if (!command.starts_with("DATA")) reader.malformed("a row begins with DATA or STALL");
    for (unsigned i = 0; i < count; ++i) {
      for (std::size_t c = 1; c < columns.size() && c < cells.size(); ++c) {
        if (columns[c] == "D" && !cells[c].empty()) reader.value(cells[c]);
        if (columns[c] == "TLAST" && cells[c] == "1") {
          reader.flush();
          if (!reader.words.empty()) reader.words.back().last = true;
        }
      }
    }
  }
}

void print_part(std::string& text, const std::byte* at, Element element, bool hex) {
  const std::size_t bytes = element_size(element) / element_parts(element);
  std::uint64_t bits = 0;
  std::memcpy(&bits, at, bytes);
  char buffer[40];
  char* end = buffer;
  if (hex) {
    end += std::snprintf(buffer, sizeof(buffer), "0x%0*llx", static_cast<int>(2 * bytes),
                         static_cast<unsigned long long>(bits));
  } else if (is_float(element)) {
    const float number = element == Element::bf16
                             ? static_cast<float>(std::bit_cast<bfloat16>(std::uint16_t(bits)))
                             : std::bit_cast<float>(std::uint32_t(bits));
    end = std::to_chars(buffer, buffer + sizeof(buffer), number).ptr;
  } else if (is_signed(element)) {
    const auto shift = static_cast<int>(64 - 8 * bytes);
    const auto number = static_cast<std::int64_t>(bits << shift) >> shift;
    end = std::to_chars(buffer, buffer + sizeof(buffer), number).ptr;
  } else {
    end = std::to_chars(buffer, buffer + sizeof(buffer), bits).ptr;
  }
  text.append(buffer, end);
  text += ' ';
}

}  // namespace

std::vector<FileWord> read_plio_file(const std::string& path, Element element, bool hex) {
  std::ifstream file(path);
  if (!file) reject("cannot read the PLIO file " + path, {});
  Reader reader{path, element, hex, 0, {}, 0, 0, false, 0};
  if (path.ends_with(".csv")) {
    read_csv(reader, file);
  } else {
    read_text(reader, file);
  }
  reader.flush();
  return std::move(reader.words);
}

std::string plio_text(const std::vector<FileWord>& words, Element element, unsigned bits, bool hex,
                      const std::vector<double>* nanoseconds) {
  std::string text;
  const std::size_t words_a_line = bits / 32;
  const std::size_t part = element_size(element) / element_parts(element);
  for (std::size_t at = 0; at < words.size();) {
    std::size_t end = at;
    while (end < words.size() && end - at < words_a_line && !(end > at && words[end - 1].last))
      ++end;
    if (nanoseconds != nullptr) {
      char stamp[40];
      std::snprintf(stamp, sizeof(stamp), "T %.1f ns\n", (*nanoseconds)[end - 1]);
      text += stamp;
    }
    if (words[end - 1].last) text += "TLAST\n";
    std::vector<std::byte> line;
    for (; at < end; ++at) {
      const auto* from = reinterpret_cast<const std::byte*>(&words[at].bits);
      line.insert(line.end(), from, from + 4);
    }
    for (std::size_t i = 0; i + part <= line.size(); i += part) {
      print_part(text, line.data() + i, element, hex);
    }
    text += '\n';
  }
  return text;
}

}  // namespace aiesim
