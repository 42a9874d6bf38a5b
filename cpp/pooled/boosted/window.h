// The rows that boosted trees keep, in blocks of 256.
//
// Rows are numbered in the order in which they are learned. A block is allocated when its
// first row comes and goes when its last row does: no row is ever copied, and no call
// takes long because memory grows. Of the newest blocks raw values are kept as well, so
// that bins can be made again.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "bins.h"

namespace rpnb::boosted {

struct Block {
  Block(Index p, Index C);

  Buffer<std::uint8_t> bins;                     // (256, p)
  Buffer<std::uint8_t> leaf;                     // (256, kMostTrees) of each tree in use
  Buffer<std::int32_t> margin;                   // (C, 256) F, in units of 1/kSteps
  Buffer<float> raw;                             // (256, p), or nothing
  std::array<std::uint8_t, kBlockRows> label;    // class, in the order of first appearance
  std::array<std::uint32_t, kBlockRows> weight;  // in units of 1/kWeightSteps
};

class RowWindow {
 public:
  RowWindow(Index p, Index C) : p_(p), C_(C) {}
  RowWindow(const RowWindow& other);
  RowWindow& operator=(const RowWindow& other) { return *this = RowWindow(other); }
  RowWindow(RowWindow&&) noexcept = default;
  RowWindow& operator=(RowWindow&&) noexcept = default;
  ~RowWindow() = default;

  [[nodiscard]] Index features() const { return p_; }
  [[nodiscard]] Index margins() const { return C_; }
  [[nodiscard]] Index first() const { return first_; }
  [[nodiscard]] Index end() const { return end_; }
  [[nodiscard]] Index size() const { return end_ - first_; }
  // Σ weight of the rows, in units of 1/kWeightSteps.
  [[nodiscard]] std::int64_t total_weight() const { return total_; }
  // The first row whose raw values are kept.
  [[nodiscard]] Index first_raw() const;

  [[nodiscard]] Index bytes() const;

  // The block of a row, and its place there.
  [[nodiscard]] Block& block(Index row) { return *blocks_[row / kBlockRows - first_block_]; }
  [[nodiscard]] const Block& block(Index row) const {
    return *blocks_[row / kBlockRows - first_block_];
  }
  static Index at(Index row) { return row % kBlockRows; }

  [[nodiscard]] std::uint8_t* bins(Index row) { return block(row).bins.data() + at(row) * p_; }
  [[nodiscard]] const std::uint8_t* bins(Index row) const {
    return block(row).bins.data() + at(row) * p_;
  }
  [[nodiscard]] std::uint8_t* leaves(Index row) {
    return block(row).leaf.data() + at(row) * kMostTrees;
  }
  [[nodiscard]] const std::uint8_t* leaves(Index row) const {
    return block(row).leaf.data() + at(row) * kMostTrees;
  }
  [[nodiscard]] float* raw(Index row) { return block(row).raw.data() + at(row) * p_; }
  [[nodiscard]] const float* raw(Index row) const { return block(row).raw.data() + at(row) * p_; }
  [[nodiscard]] Index label(Index row) const { return block(row).label[at(row)]; }
  [[nodiscard]] std::uint32_t weight(Index row) const { return block(row).weight[at(row)]; }
  // Set, or get, the margins (C,) of a row.
  void set_margin(Index row, const std::int32_t* margin) {
    std::int32_t* const own = block(row).margin.data() + at(row);
    for (Index c = 0; c < C_; ++c) own[c * kBlockRows] = margin[c];
  }
  void get_margin(Index row, std::int32_t* margin) const {
    const std::int32_t* const own = block(row).margin.data() + at(row);
    for (Index c = 0; c < C_; ++c) margin[c] = own[c * kBlockRows];
  }

  // Number the first row to come; only of a window without rows.
  void begin_at(Index row);
  // Make place for a row; its arrays are for the caller to fill.
  Index append(Index label, std::uint32_t weight);
  // Forget the rows before this one.
  void drop_before(Index row);
  // Have C margins for each row. `change(old, new)` fills the new ones of a row, of which
  // the values for each class are kBlockRows apart.
  template <class Change>
  void change_margins(Index C, const Change& change) {
    for (const auto& one : blocks_) {
      Buffer<std::int32_t> margins(kBlockRows * C);
      for (Index i = 0; i < kBlockRows; ++i) change(one->margin.data() + i, margins.data() + i);
      one->margin = std::move(margins);
    }
    C_ = C;
  }

 private:
  Index p_;
  Index C_;
  Index first_ = 0;
  Index end_ = 0;
  Index first_block_ = 0;
  std::int64_t total_ = 0;
  std::vector<std::unique_ptr<Block>> blocks_;
};

}  // namespace rpnb::boosted
