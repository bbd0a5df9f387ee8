// A kernel class that takes its taps by reference, one of a template, and a kernel template.
#pragma once
#include <adf.h>

#include <vector>

class Filter {
 public:
  Filter(const int32 (&taps)[3], int32 offset);
  void run(input_stream<int32>* in, output_stream<int32>* out);
  static void registerKernelClass() { REGISTER_FUNCTION(Filter::run); }

 private:
  const int32 (&taps_)[3];
  int32 offset_;
  int32 line_[3] = {};
};

template <typename T, unsigned Gain>
class Amplifier {
 public:
  Amplifier();
  void run(input_stream<T>* __restrict in, output_stream<T>* __restrict out);
  static void registerKernelClass() { REGISTER_FUNCTION(Amplifier::run); }

 private:
  T calls_;
};

template <int Add>
void shift_by(input_stream<int32>* in, output_stream<int32>* out0, output_stream<int32>* out1);

extern int32 start_value;
void set_start();
