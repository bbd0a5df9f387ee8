#include "beats.h"

#include <algorithm>
#include <cstring>
#include <string>

namespace aiesim {

BeatReader::BeatReader() : slots_(static_cast<std::size_t>(network_costs().cascade_depth)) {
  unit = "beats";
}

void BeatReader::take(Actor& actor, void* lanes, std::size_t bytes) {
  while (taken_ == sent_) actor.block(Wait::data, this);
  Slot& slot = slots_[taken_ % slots_.size()];
  if (slot.bytes != bytes) {
    fail("cascade " + name + ": " + std::to_string(slot.bytes) + " bytes of lanes were sent, but " +
         std::to_string(bytes) +
         " are read; both ends must use accumulators of the same type and size");
  }
  consumer_stall += actor.wait_until(std::max(slot.sent_at + 1, last_taken_ + 1));
  last_taken_ = actor.tile.now();
  std::memcpy(lanes, slot.lanes, bytes);
  slot.taken_at = last_taken_;
  ++taken_;
  if (producer->wait == Wait::room && producer->wait_channel == this) producer->wake();
}

void BeatReader::put(Actor& actor, const void* lanes, std::size_t bytes) {
  if (bytes > cascade_beat_bytes) fail("one cascade write holds more than a beat");
  while (sent_ - taken_ >= slots_.size()) actor.block(Wait::room, this);
  Slot& slot = slots_[sent_ % slots_.size()];
  const double room = sent_ >= slots_.size() ? slot.taken_at : 0;
  producer_stall += actor.wait_until(std::max(room, last_sent_ + 1));
  last_sent_ = actor.tile.now();
  std::memcpy(slot.lanes, lanes, bytes);
  slot.bytes = bytes;
  slot.sent_at = last_sent_;
  ++sent_;
  if (consumer->wait == Wait::data && consumer->wait_channel == this) consumer->wake();
}

}  // namespace aiesim
