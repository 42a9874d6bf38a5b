// The whole state of boosted trees as arrays, for files and copies.
//
// It does not include a tree that is still growing: this tree follows from the rows and
// the number of steps made, which are repeated.
#pragma once

#include "../../record.h"
#include "boosted_trees.h"

namespace rpnb {

struct BoostedSnapshot {
  // Entries of `clock`.
  enum Clock : Index {
    kEnd,         // rows learned
    kFirst,       // number of the first row kept
    kPhase,       // of the work
    kCredit,      // units paid for and not used; negative if used in advance
    kCursor,      // of cutting, and of applying
    kSteps,       // steps made to grow the tree
    kRound,       // number of the next tree
    kChange,      // number of the first tree after a change
    kEvent,       // times that cut points became due, less one
    kNextEvent,   // number of rows learned when they are next due, −1 for never
    kLossRows,    // of the block of losses
    kLossBlocks,  // of losses that the references are made of
    kCuts,        // made in direct succession until now
    kQuiet,       // number of rows learned before the next alarm
    kPlanRows,    // that the tree is grown from
    kPlanLeaves,  // largest number that it has
    kPlanSlot,    // that it will be in
    kClocks
  };

  Array<std::uint64_t, 1> seed;
  Array<std::int64_t, 1> clock;
  Array<bool, 1> active;
  Array<double, 1> class_weight;  // n_c
  Array<std::int64_t, 1> rank;    // index of a class among the active ones, or −1
  Array<double, 1> total_weight;
  Array<std::int32_t, 1> base;  // (Q,) by rank, or nothing yet
  Array<double, 1> loss;        // sum and squares of the block, reference
  Array<double, 1> gap;         // the same of the gaps
  Array<float, 2> cuts;         // padded with the largest number
  Array<std::int32_t, 1> n_cuts;
  Array<std::int32_t, 1> cuts_made;  // event of the cut points, −1 for none
  Array<std::uint8_t, 2> bins;       // of the rows kept
  Array<std::uint8_t, 1> label;      // rank of the class
  Array<std::uint32_t, 1> row_weight;
  Array<std::int32_t, 2> margin;  // (n, C), or (n, 0) before the first tree
  Array<std::uint8_t, 2> leaf;    // of the trees in use
  Array<float, 2> raw;            // the latest rows
  Array<std::int64_t, 1> slot;    // of the trees in use, and of the one being applied
  Array<std::int64_t, 1> born;
  Array<std::int64_t, 1> n_nodes;
  Array<std::int32_t, 2> feature;
  Array<float, 2> threshold;  // the largest number at leaves
  Array<std::uint8_t, 2> last_bin;
  Array<std::int32_t, 2> child;
  Array<std::int32_t, 3> value;
  Array<std::int32_t, 1> features;  // that the next tree may read
  Array<std::int64_t, 1> replaced;  // slots of the trees that it replaces

  static constexpr auto fields() {
    static_assert(kClocks == 17 && boosted::kMostBins == 128 && boosted::kMostNodes == 253 &&
                  boosted::kMostLeaves == 127);
    return std::tuple{field("seed", &BoostedSnapshot::seed, "1"),
                      field("clock", &BoostedSnapshot::clock, "17"),
                      field("active", &BoostedSnapshot::active, "M"),
                      field("class_weight", &BoostedSnapshot::class_weight, "M"),
                      field("rank", &BoostedSnapshot::rank, "M"),
                      field("total_weight", &BoostedSnapshot::total_weight, "1"),
                      field("base", &BoostedSnapshot::base, "*"),
                      field("loss", &BoostedSnapshot::loss, "3"),
                      field("gap", &BoostedSnapshot::gap, "3"),
                      field("cuts", &BoostedSnapshot::cuts, "p 128"),
                      field("n_cuts", &BoostedSnapshot::n_cuts, "p"),
                      field("cuts_made", &BoostedSnapshot::cuts_made, "p"),
                      field("bins", &BoostedSnapshot::bins, "n p"),
                      field("label", &BoostedSnapshot::label, "n"),
                      field("row_weight", &BoostedSnapshot::row_weight, "n"),
                      field("margin", &BoostedSnapshot::margin, "n *"),
                      field("leaf", &BoostedSnapshot::leaf, "n *"),
                      field("raw", &BoostedSnapshot::raw, "* p"),
                      field("slot", &BoostedSnapshot::slot, "T"),
                      field("born", &BoostedSnapshot::born, "T"),
                      field("n_nodes", &BoostedSnapshot::n_nodes, "T"),
                      field("feature", &BoostedSnapshot::feature, "T 253"),
                      field("threshold", &BoostedSnapshot::threshold, "T 253"),
                      field("last_bin", &BoostedSnapshot::last_bin, "T 253"),
                      field("child", &BoostedSnapshot::child, "T 253"),
                      field("value", &BoostedSnapshot::value, "T 127 *"),
                      field("features", &BoostedSnapshot::features, "*"),
                      field("replaced", &BoostedSnapshot::replaced, "*")};
  }
};

}  // namespace rpnb
