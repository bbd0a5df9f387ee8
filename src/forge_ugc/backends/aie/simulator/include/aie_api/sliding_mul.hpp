// Products of coefficients with a window that slides over data: filters.
#pragma once

#include "aie_api/mmul_shapes.hpp"
#include "aie_api/multiply.hpp"

namespace aie {

namespace detail {

// Element i of a multiplicand, round and round: the multiplier's indices wrap at the register.
template <class P, class V>
constexpr auto wrapped_at(const V& v, int i) {
  constexpr int size = static_cast<int>(lanes_of<V>);
  return lane_at<P>(v, static_cast<unsigned>((i % size + size) % size));
}

template <class A, class B>
void charge_sliding(unsigned lanes, unsigned points) {
  const double issues = lanes * points / macs_per_issue<A, B>();
  aiesim::charge(aiesim::Slot::vector, static_cast<double>(static_cast<unsigned>(issues + 0.999)) *
                                           aiesim::costs().vector_issue);
  aiesim::tile().account.macs += lanes * points;
}

}  // namespace detail

// out[l] = sum over p of coeff[coeff_start + p CoeffStep] * data[data_start + p DataStepX + l
// DataStepY].
template <unsigned Lanes, unsigned Points, int CoeffStep, int DataStepX, int DataStepY,
          class CoeffType, class DataType, class Tag = accauto>
struct sliding_mul_ops {
  using accum_tag = detail::tag_or_default<Tag, CoeffType, DataType>;
  using accum_type = accum<accum_tag, Lanes>;
  using coeff_type = CoeffType;
  using data_type = DataType;
  static constexpr unsigned lanes = Lanes, points = Points;
  static constexpr unsigned lanes_per_mul = Lanes;
  static constexpr unsigned columns_per_mul = Points;
  static constexpr unsigned num_mul = 1;

  template <class C, class D>
  static accum_type mul(const C& coeff, unsigned coeff_start, const D& data, unsigned data_start) {
    return run<false>(accum_type{}, coeff, coeff_start, data, data_start);
  }
  template <class C, class D>
  static accum_type negmul(const C& coeff, unsigned coeff_start, const D& data,
                           unsigned data_start) {
    return run<true>(accum_type{}, coeff, coeff_start, data, data_start);
  }
  template <detail::Start Acc, class C, class D>
  static accum_type mac(const Acc& acc, const C& coeff, unsigned coeff_start, const D& data,
                        unsigned data_start) {
    return run<false>(detail::start_of(acc), coeff, coeff_start, data, data_start);
  }
  template <detail::Start Acc, class C, class D>
  static accum_type msc(const Acc& acc, const C& coeff, unsigned coeff_start, const D& data,
                        unsigned data_start) {
    return run<true>(detail::start_of(acc), coeff, coeff_start, data, data_start);
  }

 private:
  template <bool Minus, class C, class D>
  static accum_type run(const accum_type& start, const C& coeff, unsigned coeff_start,
                        const D& data, unsigned data_start) {
    using L = typename accum_type::lane_type;
    using P = detail::part<L>;
    detail::charge_sliding<CoeffType, DataType>(Lanes, Points);
    accum_type out = start;
    for (int l = 0; l < static_cast<int>(Lanes); ++l) {
      for (int p = 0; p < static_cast<int>(Points); ++p) {
        const auto c = detail::wrapped_at<P>(coeff, static_cast<int>(coeff_start) + p * CoeffStep);
        const auto d = detail::wrapped_at<P>(
            data, static_cast<int>(data_start) + p * DataStepX + l * DataStepY);
        const L product = detail::as_lane<L>(detail::times(c, d));
        L& lane = out.lanes()[l];
        lane = Minus ? detail::lane_sub(lane, product) : detail::lane_add(lane, product);
      }
    }
    return out;
  }
};

// The step across lanes and the step across points the same, or one of them 1.
template <unsigned Lanes, unsigned Points, int CoeffStep, int DataStepXY, class CoeffType,
          class DataType, class Tag = accauto>
using sliding_mul_xy_ops =
    sliding_mul_ops<Lanes, Points, CoeffStep, DataStepXY, DataStepXY, CoeffType, DataType, Tag>;
template <unsigned Lanes, unsigned Points, int CoeffStep, int DataStepX, class CoeffType,
          class DataType, class Tag = accauto>
using sliding_mul_x_ops =
    sliding_mul_ops<Lanes, Points, CoeffStep, DataStepX, 1, CoeffType, DataType, Tag>;
template <unsigned Lanes, unsigned Points, int CoeffStep, int DataStepY, class CoeffType,
          class DataType, class Tag = accauto>
using sliding_mul_y_ops =
    sliding_mul_ops<Lanes, Points, CoeffStep, 1, DataStepY, CoeffType, DataType, Tag>;

template <unsigned Lanes, unsigned Points, int CoeffStep = 1, int DataStepX = 1, int DataStepY = 1,
          class Tag = accauto, class C, class D>
auto sliding_mul(const C& coeff, unsigned coeff_start, const D& data, unsigned data_start) {
  return sliding_mul_ops<Lanes, Points, CoeffStep, DataStepX, DataStepY, detail::element_of<C>,
                         detail::element_of<D>, Tag>::mul(coeff, coeff_start, data, data_start);
}
template <unsigned Lanes, unsigned Points, int CoeffStep = 1, int DataStepX = 1, int DataStepY = 1,
          class T, unsigned N, class C, class D>
auto sliding_mac(const accum<T, N>& acc, const C& coeff, unsigned coeff_start, const D& data,
                 unsigned data_start) {
  return sliding_mul_ops<Lanes, Points, CoeffStep, DataStepX, DataStepY, detail::element_of<C>,
                         detail::element_of<D>, T>::mac(acc, coeff, coeff_start, data, data_start);
}

// Filters whose coefficients are (anti)symmetric: data are added (subtracted) in pairs before they
// are multiplied. Of Points taps, the left one of pair p is at ldata_start + p DataStepX, the right
// one at rdata_start - p DataStepX; an odd tap in the middle stands alone.
template <unsigned Lanes, unsigned Points, int CoeffStep, int DataStepX, int DataStepY,
          class CoeffType, class DataType, class Tag = accauto>
struct sliding_mul_sym_ops {
  using accum_tag = detail::tag_or_default<Tag, CoeffType, DataType>;
  using accum_type = accum<accum_tag, Lanes>;
  using coeff_type = CoeffType;
  using data_type = DataType;
  static constexpr unsigned lanes = Lanes, points = Points;
  static constexpr unsigned lanes_per_mul = Lanes;
  static constexpr unsigned columns_per_mul = Points / 2;
  static constexpr unsigned num_mul = 1;

  // One start: the right data end Points - 1 steps after it. Two starts: of the same data. Or two
  // vectors of data.
  template <class C, class D>
  static accum_type mul_sym(const C& c, unsigned cs, const D& d, unsigned start) {
    return run<false>(accum_type{}, c, cs, d, start, d, right_of(start));
  }
  template <class C, class D>
  static accum_type mul_sym(const C& c, unsigned cs, const D& d, unsigned left, unsigned right) {
    return run<false>(accum_type{}, c, cs, d, left, d, right);
  }
  template <class C, class D, Vector R>
  static accum_type mul_sym(const C& c, unsigned cs, const D& d, unsigned left, const R& r,
                            unsigned right) {
    return run<false>(accum_type{}, c, cs, d, left, r, right);
  }
  template <class C, class D>
  static accum_type mul_antisym(const C& c, unsigned cs, const D& d, unsigned start) {
    return run<true>(accum_type{}, c, cs, d, start, d, right_of(start));
  }
  template <class C, class D>
  static accum_type mul_antisym(const C& c, unsigned cs, const D& d, unsigned left,
                                unsigned right) {
    return run<true>(accum_type{}, c, cs, d, left, d, right);
  }
  template <class C, class D, Vector R>
  static accum_type mul_antisym(const C& c, unsigned cs, const D& d, unsigned left, const R& r,
                                unsigned right) {
    return run<true>(accum_type{}, c, cs, d, left, r, right);
  }
  template <detail::Start Acc, class C, class D>
  static accum_type mac_sym(const Acc& a, const C& c, unsigned cs, const D& d, unsigned start) {
    return run<false>(detail::start_of(a), c, cs, d, start, d, right_of(start));
  }
  template <detail::Start Acc, class C, class D>
  static accum_type mac_sym(const Acc& a, const C& c, unsigned cs, const D& d, unsigned left,
                            unsigned right) {
    return run<false>(detail::start_of(a), c, cs, d, left, d, right);
  }
  template <detail::Start Acc, class C, class D, Vector R>
  static accum_type mac_sym(const Acc& a, const C& c, unsigned cs, const D& d, unsigned left,
                            const R& r, unsigned right) {
    return run<false>(detail::start_of(a), c, cs, d, left, r, right);
  }
  template <detail::Start Acc, class C, class D>
  static accum_type mac_antisym(const Acc& a, const C& c, unsigned cs, const D& d, unsigned start) {
    return run<true>(detail::start_of(a), c, cs, d, start, d, right_of(start));
  }
  template <detail::Start Acc, class C, class D>
  static accum_type mac_antisym(const Acc& a, const C& c, unsigned cs, const D& d, unsigned left,
                                unsigned right) {
    return run<true>(detail::start_of(a), c, cs, d, left, d, right);
  }
  template <detail::Start Acc, class C, class D, Vector R>
  static accum_type mac_antisym(const Acc& a, const C& c, unsigned cs, const D& d, unsigned left,
                                const R& r, unsigned right) {
    return run<true>(detail::start_of(a), c, cs, d, left, r, right);
  }

 private:
  static unsigned right_of(unsigned start) {
    return static_cast<unsigned>(static_cast<int>(start) +
                                 (static_cast<int>(Points) - 1) * DataStepX);
  }
  template <bool Anti, class C, class D, class R>
  static accum_type run(const accum_type& start, const C& coeff, unsigned coeff_start,
                        const D& left, unsigned left_start, const R& right, unsigned right_start) {
    using L = typename accum_type::lane_type;
    using P = detail::part<L>;
    detail::charge_sliding<CoeffType, DataType>(Lanes, (Points + 1) / 2);
    accum_type out = start;
    for (int l = 0; l < static_cast<int>(Lanes); ++l) {
      for (int p = 0; p < static_cast<int>((Points + 1) / 2); ++p) {
        const auto c = detail::wrapped_at<P>(coeff, static_cast<int>(coeff_start) + p * CoeffStep);
        const int across = l * DataStepY;
        auto d = detail::wrapped_at<P>(left, static_cast<int>(left_start) + p * DataStepX + across);
        if (2 * p + 1 != static_cast<int>(Points)) {
          const auto r =
              detail::wrapped_at<P>(right, static_cast<int>(right_start) - p * DataStepX + across);
          d = Anti ? detail::lane_sub(d, r) : detail::lane_add(d, r);
        }
        L& lane = out.lanes()[l];
        lane = detail::lane_add(lane, detail::as_lane<L>(detail::times(c, d)));
      }
    }
    return out;
  }
};

template <unsigned Lanes, unsigned Points, int CoeffStep, int DataStepXY, class CoeffType,
          class DataType, class Tag = accauto>
using sliding_mul_sym_xy_ops =
    sliding_mul_sym_ops<Lanes, Points, CoeffStep, DataStepXY, DataStepXY, CoeffType, DataType, Tag>;

// out = sum over the vectors of coeff[coeff_start + i CoeffStep] * v_i.
template <unsigned Lanes, int CoeffStep = 1, class Tag = accauto, class T, unsigned NC, class D,
          class... Rest>
auto accumulate(const vector<T, NC>& coeff, unsigned coeff_start, const vector<D, Lanes>& first,
                const Rest&... rest) {
  accum<detail::tag_or_default<Tag, T, D>, Lanes> out;
  int i = static_cast<int>(coeff_start);
  const auto next = [&](const auto& v) {
    out = mac(out, v, coeff.elements()[i % static_cast<int>(NC)]);
    i += CoeffStep;
  };
  next(first);
  (next(rest), ...);
  return out;
}

}  // namespace aie
