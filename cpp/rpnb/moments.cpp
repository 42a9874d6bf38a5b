#include "moments.h"

#include <algorithm>

#include "../math.h"

namespace rpnb::bayes {

Moments Moments::empty(Index M, Index F) {
  Moments moments;
  moments.weight = Array<double, 1>({M});
  moments.mean = Array<double, 2>({M, F});
  moments.scatter = Array<double, 2>({M, F});
  return moments;
}

void add_observation(Moments& moments, Index m, Vector<const double> z, double weight) {
  const Step step = count_observation(moments, m, weight);
  double* const mean = moments.mean[m].data();
  double* const scatter = moments.scatter[m].data();
  for (Index f = 0; f < z.size(); ++f) add_to(mean[f], scatter[f], z[f], step);
}

void fade(Moments& moments, Index m, double keep, double weight) {
  if (!(keep < 1.0)) return;
  const double left = pow(keep, weight);
  moments.weight[m] *= left;
  for (double& scatter : moments.scatter[m]) scatter *= left;
}

void merge(Moments& into, Index m, const Moments& other, Index o) {
  const double added = other.weight[o];
  if (added == 0.0) return;
  const double before = into.weight[m];
  const double share = added / (before + added);
  into.weight[m] = before + added;
  double* const mean = into.mean[m].data();
  double* const scatter = into.scatter[m].data();
  const double* const other_mean = other.mean[o].data();
  const double* const other_scatter = other.scatter[o].data();
  for (Index f = 0; f < into.columns(); ++f) {
    const double delta = other_mean[f] - mean[f];
    mean[f] += delta * share;
    scatter[f] += other_scatter[f] + delta * delta * (before * share);
  }
}

void unmerge(Moments& out, Index m, const Moments& part, Index o) {
  const double removed = part.weight[o];
  if (removed == 0.0) return;
  const double rest = out.weight[m] - removed;
  if (rest <= 0.0) {
    clear(out, m);
    return;
  }
  out.weight[m] = rest;
  const double stretch = (rest + removed) / rest;
  const double between = rest * (removed / (rest + removed));
  for (Index f = 0; f < out.columns(); ++f) {
    const double delta = (out.mean(m, f) - part.mean(o, f)) * stretch;
    out.mean(m, f) = part.mean(o, f) + delta;
    const double left = out.scatter(m, f) - part.scatter(o, f) - delta * delta * between;
    out.scatter(m, f) = std::max(left, 0.0);
  }
}

void clear(Moments& moments, Index m) {
  moments.weight[m] = 0.0;
  moments.mean[m].fill(0.0);
  moments.scatter[m].fill(0.0);
}

}  // namespace rpnb::bayes
