#include "model.h"

#include <cmath>

#include "../math.h"

namespace rpnb::bayes {

double Model::smallest_temperature() const {
  return std::ldexp(static_cast<double>(K), kLowestTemperature);
}

void set_bias_from_counts(ClassState& classes, double count_factor) {
  for (Index m = 0; m < classes.seen.size(); ++m) {
    classes.bias[m] = count_factor * log1p(classes.seen[m]);
  }
}

void count_row(Model& model, Index y, double weight) {
  ClassState& classes = *model.classes;
  classes.eligible[y] = true;
  if (!(model.count_factor > 0.0)) {
    classes.seen[y] += weight;
    return;
  }
  if (model.keep < 1.0) {
    // P(y) is a class's share of the stream, which a class that no longer occurs must lose.
    const double left = pow(model.keep, weight);
    for (double& seen : classes.seen) seen *= left;
    set_bias_from_counts(classes, model.count_factor);
  }
  classes.seen[y] += weight;
  classes.bias[y] = model.count_factor * log1p(classes.seen[y]);
}

void learn_row(Model& model, Index y, Vector<const double> z, double weight) {
  fade(*model.moments, y, model.keep, weight);
  learn_density(*model.gaussians, y, *model.moments, model.prior, z, weight);
}

}  // namespace rpnb::bayes
