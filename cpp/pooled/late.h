// Delayed labels: a buffer of the rows that the delayed members have not learned yet.
//
// If the label of a row arrives d rows after its prediction, the members that predicted
// it had seen only the labels up to d + 1 rows before it. The pool must learn its weights
// from such scores: with scores computed when the label arrives, it would over-weight
// members that rely on the most recent labels. So there are two sets of members. One
// learns each labelled row at once, and predicts. The other learns the same rows d rows
// later, so its scores of a labelled row match those available at prediction time; the
// pool learns from these.
//
// The delayed members learn in blocks of g = min(64, d/4) rows, at least 1: when labelled
// row s (from 0) is scored, they have learned the first g·⌊(s − d)/g⌋ rows. `Pending` keeps
// the rows in between. Learning from the loss of a prediction when it arrives is analysed
// by Joulani, György & Szepesvári, "Online learning under delayed feedback" (2013); the
// delayed members are our own.
#pragma once

#include "../record.h"
#include "member.h"

namespace rpnb {

// A ring of the last d + g labelled rows.
struct Pending {
  Array<double, 2> rows;  // (d + g, p) raw rows; row s is at s mod (d + g)
  Array<std::int64_t, 1> labels;
  Array<double, 1> weight;
  Array<std::int64_t, 1> seen;  // labelled rows so far

  static constexpr auto fields() {
    return std::tuple{
        field("rows", &Pending::rows, "kept p"), field("labels", &Pending::labels, "kept"),
        field("weight", &Pending::weight, "kept"), field("seen", &Pending::seen, "1")};
  }

  // g, the number of rows that the delayed members learn at once.
  static Index block_rows(Index delay);
  // An empty ring.
  static Pending begin(Index delay, Index p);

  // How many more labelled rows are scored before the next block is learned.
  [[nodiscard]] Index rows_until_due(Index delay) const;
  // The number of the first row of the block that is due now; −1 if none is.
  [[nodiscard]] Index first_due(Index delay) const;
  void add(Vector<const double> row, std::int64_t y, double row_weight);
};

}  // namespace rpnb
