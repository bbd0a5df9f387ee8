// A writer of JSON text.
#pragma once

#include <charconv>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace aiesim {

// Objects and lists are closed in the order they were opened; commas come by themselves.
class Json {
 public:
  Json& open(char bracket) {
    separate();
    text_ += bracket;
    first_ = true;
    return *this;
  }
  Json& close(char bracket) {
    text_ += bracket;
    first_ = false;
    return *this;
  }
  Json& key(std::string_view name) {
    separate();
    quote(name);
    text_ += ':';
    first_ = true;  // the value follows without a comma
    return *this;
  }
  Json& string(std::string_view value) {
    separate();
    quote(value);
    return *this;
  }
  Json& number(double value) {
    separate();
    char buffer[40];
    text_.append(buffer, std::to_chars(buffer, buffer + sizeof(buffer), value).ptr);
    return *this;
  }
  Json& integer(std::int64_t value) {
    separate();
    text_ += std::to_string(value);
    return *this;
  }
  Json& boolean(bool value) {
    separate();
    text_ += value ? "true" : "false";
    return *this;
  }
  Json& null() {
    separate();
    text_ += "null";
    return *this;
  }
  const std::string& text() const noexcept { return text_; }

 private:
  void separate() {
    if (!first_) text_ += ',';
    first_ = false;
  }
  void quote(std::string_view value) {
    text_ += '"';
    for (const char c : value) {
      if (c == '"' || c == '\\') {
        text_ += '\\';
        text_ += c;
      } else if (static_cast<unsigned char>(c) < 0x20) {
        char buffer[8];
        std::snprintf(buffer, sizeof(buffer), "\\u%04x", c);
        text_ += buffer;
      } else {
        text_ += c;
      }
    }
    text_ += '"';
  }

  std::string text_;
  bool first_ = true;
};

}  // namespace aiesim
