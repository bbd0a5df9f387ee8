#include "kernels.h"

class blocks : public adf::graph {
 public:
  adf::kernel sum, turn, star, half;
  adf::input_plio samples, points, reals;
  adf::output_plio sums, stars, halves;

  blocks() {
    samples = adf::input_plio::create("samples", adf::plio_64_bits, "samples.txt", 250.0);
    points = adf::input_plio::create("points", adf::plio_64_bits, "points.txt");
    reals = adf::input_plio::create("reals", adf::plio_32_bits, "reals.txt");
    sums = adf::output_plio::create("sums", adf::plio_128_bits, "sums.txt");
    stars = adf::output_plio::create("stars", adf::plio_64_bits, "stars.txt");
    halves = adf::output_plio::create("halves", adf::plio_32_bits, "halves.txt");
    sum = adf::kernel::create(moving_sum);
    turn = adf::kernel::create(reverse);
    star = adf::kernel::create(conjugate);
    half = adf::kernel::create(halve);
    for (adf::kernel* k : {&sum, &turn, &star, &half}) adf::source(*k) = "kernels.cc";
    adf::connect<adf::window<16, 32>> net0(samples.out[0], sum.in[0]);
    adf::connect<adf::window<32>, adf::stream>(sum.out[0], turn.in[0]);
    adf::dimensions(turn.in[0]) = {8};
    adf::dimensions(turn.out[0]) = {8};
    adf::connect<>(turn.out[0], sums.in[0]);
    adf::connect<adf::window<16>>(points.out[0], star.in[0]);
    adf::connect<adf::stream>(star.out[0], stars.in[0]);
    adf::connect(reals.out[0], half.in[0]);
    adf::connect(half.out[0], halves.in[0]);
    adf::single_buffer(half.out[0]);
    adf::location<adf::kernel>(sum) = adf::tile(4, 0);
    adf::location<adf::kernel>(turn) = adf::tile(7, 2);
    adf::location<adf::buffer>(sum.in[0]) = {adf::bank(4, 0, 0), adf::bank(4, 0, 1)};
  }
};

blocks design;

int main(int argc, char** argv) {
  design.init();
  design.run(2);
  design.wait();
  design.end();
  return argc > 1 && argv[1] == nullptr;
}
