#include "window.h"

namespace rpnb::boosted {

Block::Block(Index p, Index C)
    : bins(kBlockRows * p),
      leaf(kBlockRows * kMostTrees),
      margin(kBlockRows * C),
      raw(kBlockRows * p),
      label{},
      weight{} {
  // Margins of rows that have not arrived yet are changed with the others.
  std::fill_n(margin.data(), margin.size(), 0);
}

RowWindow::RowWindow(const RowWindow& other)
    : p_(other.p_),
      C_(other.C_),
      first_(other.first_),
      end_(other.end_),
      first_block_(other.first_block_),
      total_(other.total_) {
  for (const auto& one : other.blocks_) blocks_.push_back(std::make_unique<Block>(*one));
}

Index RowWindow::first_raw() const {
  const Index newest = end_ > 0 ? (end_ - 1) / kBlockRows : 0;
  return std::max(first_, (newest - raw_blocks(p_) + 1) * kBlockRows);
}

Index RowWindow::bytes() const {
  Index total = 0;
  for (const auto& one : blocks_) {
    total += one->bins.size() + one->leaf.size() + 4 * one->margin.size() + 4 * one->raw.size() +
             5 * kBlockRows;
  }
  return total;
}

void RowWindow::begin_at(Index row) {
  first_ = row;
  end_ = row;
  first_block_ = row / kBlockRows;
}

Index RowWindow::append(Index label, std::uint32_t weight) {
  const Index row = end_++;
  const Index number = row / kBlockRows - first_block_;
  if (number == static_cast<Index>(blocks_.size())) {
    blocks_.push_back(std::make_unique<Block>(p_, C_));
    const Index old = number - raw_blocks(p_);
    if (old >= 0) blocks_[old]->raw.release();
  }
  Block& own = block(row);
  own.label[at(row)] = static_cast<std::uint8_t>(label);
  own.weight[at(row)] = weight;
  total_ += weight;
  return row;
}

void RowWindow::drop_before(Index row) {
  for (; first_ < row; ++first_) {
    total_ -= weight(first_);
    if (at(first_) == kBlockRows - 1) {
      blocks_.erase(blocks_.begin());
      ++first_block_;
    }
  }
}

}  // namespace rpnb::boosted
