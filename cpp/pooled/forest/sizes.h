// Sizes of a window forest: constants, and sizes that follow from the shape of rows.
#pragma once

#include <array>

#include "../member.h"

namespace rpnb::forest {

// Trees in use; one more is growing.
inline constexpr Index kTrees = 16;
// Numbers of rows that trees are grown from, in turn.
inline constexpr std::array<Index, 3> kSpans{250, 1000, 4000};
// The window holds at most kWindowValues values, if that leaves it kLeastWindow rows.
inline constexpr Index kLeastWindow = 256;
inline constexpr Index kWindowValues = Index{1} << 19;
// Rows with more features than this are not kept: the forest reads their projection.
inline constexpr Index kWidest = 8192;

inline constexpr Index kMostLeaves = 1024;
// Largest depth of a grown tree, and of one whose leaves were split later.
inline constexpr Index kMostDepth = 16;
inline constexpr Index kDeepest = 32;
// Largest number of classes that a leaf lists.
inline constexpr Index kListedClasses = 8;

// Largest number of rows of a node on which splits are evaluated: as many as a word has
// bits.
inline constexpr Index kSampledRows = 64;
// Smallest number of features that a node tries, if there are as many; √p if that is
// more.
inline constexpr Index kLeastFeatures = 16;
// Number of thresholds that a node tries, over all of its features.
inline constexpr Index kThresholds = 32;

// Number of rows that a leaf keeps for a later split, and the number that it needs.
inline constexpr Index kRecentRows = 8;
inline constexpr Index kLeastRefined = 4;
// Number of features, and of thresholds, that a leaf tries when it is split later.
inline constexpr Index kRefiningFeatures = 8;

// A tree grown from n rows is followed by the next one after n/16 rows.
inline constexpr Index kRenewal = 16;
// If one of the newest two trees is the weakest, the next one waits twice as long.
inline constexpr Index kNewest = 2;
// Number of rows whose leaves are found together.
inline constexpr Index kAhead = 16;

// The number of columns that the forest reads: those of `raw`, or of `low`.
Index read_columns(const Shape& shape);

// W, the largest number of rows that a tree is grown from; `window` is 0 for the default.
Index window_rows(Index p, Index window);

// R: W rows, and the rows that arrive while a tree grows.
Index kept_rows(Index W);

// L, the most leaves of a tree. It has at most 2L − 1 nodes.
Index most_leaves(Index W);

// S, the most classes that a leaf lists.
Index listed_classes(Index M);

// The number of features that a node tries.
Index tried_features(Index p);

// The units of growth per row, chosen so that W/32 + 1 rows suffice.
//
// A unit is about a nanosecond of work; `grow` in trees.h counts them.
Index units_per_row(Index p, Index W);

}  // namespace rpnb::forest
