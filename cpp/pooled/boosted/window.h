// The rows that boosted trees keep, in blocks of 256.
//
// Rows are numbered in the order in which they are learned. A block is allocated for its
// first row and freed with its last one, so rows are never copied, and no call is slow
// because memory grows. The newest blocks also keep raw values, so that bins can be
// recomputed.
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

  // The block of a row, and its index in the block.
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

  // Set the number of the first row, for a window without rows.
  void begin_at(Index row);
  // Make room for a row, whose arrays the caller fills.
  Index append(Index label, std::uint32_t weight);
  // Drop the rows before this one.
  void drop_before(Index row);
  // Set margin c of all rows.
  void fill_margin(Index c, std::int32_t value) {
    for (const auto& one : blocks_) {
      std::fill_n(one->margin.data() + c * kBlockRows, kBlockRows, value);
    }
  }
  // Give each row C margins. `change(old, new)` fills the new margins of a row, in which
  // the values of the classes are kBlockRows apart.
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
