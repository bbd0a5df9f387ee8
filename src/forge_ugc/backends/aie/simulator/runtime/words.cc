#include "words.h"

#include <algorithm>

namespace aiesim {

WordReader::WordReader(std::size_t depth, double latency)
    : depth_(std::max<std::size_t>(depth, 1)),
      path_(std::min(depth_, static_cast<std::size_t>(network_costs().stream_depth_words))),
      latency_(latency),
      slots_(depth_),
      taken_at_(depth_, 0.0) {}

WordReader::Word WordReader::take(Actor& actor, double cycles) {
  while (empty()) actor.block(Wait::data, this);
  const Slot& slot = slots_[taken_ % slots_.size()];
  double ready = std::max(slot.arrival, handover_ + cycles);
  if (taken_ >= path_) ready = std::max(ready, taken_at_[(taken_ - path_) % taken_at_.size()]);
  handover_ = ready;
  consumer_stall += actor.wait_until(ready);
  const double now = actor.tile.now();
  taken_at_[taken_ % taken_at_.size()] = now;
  if (first_word < 0) first_word = now;
  last_word = now;
  const Word word{slot.bits, slot.last};
  ++taken_;
  if (producer->wait == Wait::room && producer->wait_channel == this) producer->wake();
  return word;
}

double WordReader::room_time() const {
  return sent_ < depth_ ? 0 : taken_at_[(sent_ - depth_) % taken_at_.size()];
}

void WordReader::put(std::uint32_t bits, bool last, double send_time) {
  slots_[sent_ % slots_.size()] = {bits, last, send_time + latency_};
  ++sent_;
  if (consumer->wait == Wait::data && (consumer->wait_channel == this || consumer->wait_any)) {
    consumer->wake();
  }
}

bool WordReader::grow() {
  if (grown_from == 0) grown_from = depth_;
  resize(depth_ + 4);  // what a FIFO in memory grows by
  return true;
}

void WordReader::resize(std::size_t depth) {
  std::vector<Slot> slots(depth);
  std::vector<double> times(depth, 0.0);
  for (std::uint64_t i = taken_; i < sent_; ++i) slots[i % depth] = slots_[i % slots_.size()];
  const std::uint64_t known = std::min<std::uint64_t>(taken_, depth_);
  for (std::uint64_t i = taken_ - known; i < taken_; ++i) {
    times[i % depth] = taken_at_[i % taken_at_.size()];
  }
  slots_ = std::move(slots);
  taken_at_ = std::move(times);
  depth_ = depth;
}

bool WordWriter::room(std::size_t words) const {
  return std::all_of(readers.begin(), readers.end(),
                     [&](WordReader* r) { return r->fill() + words <= r->depth(); });
}

void WordWriter::put(Actor& actor, std::uint32_t bits, bool last, double cycles) {
  for (WordReader* reader : readers) {
    while (reader->full()) actor.block(Wait::room, reader);
  }
  const double own = actor.wait_until(sent_at_[sent_ % sent_at_.size()]);
  double time = std::max(actor.tile.now(), last_sent_ + cycles);
  WordReader* slowest = nullptr;
  for (WordReader* reader : readers) {
    const double room = reader->room_time();
    if (room > time) time = room, slowest = reader;
  }
  if (own > 0 && !readers.empty()) (slowest ? slowest : readers.front())->producer_stall += own;
  sent_at_[sent_ % sent_at_.size()] = time;
  last_sent_ = time;
  if (first_word < 0) first_word = time;
  last_word = time;
  ++sent_;
  for (WordReader* reader : readers) reader->put(bits, last, time);
}

}  // namespace aiesim
