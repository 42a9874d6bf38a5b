// Each file in this folder adds one submodule to the extension module.
#pragma once

#include <nanobind/nanobind.h>

namespace nb = nanobind;

namespace rpnb {

void bind_numbers(nb::module_& module);      // random numbers, elementary functions
void bind_pooled(nb::module_& module);       // the pool, its engine and simple members
void bind_algebra(nb::module_& module);      // matrix products and factorisations
void bind_covariances(nb::module_& module);  // shared and fading covariance
void bind_densities(nb::module_& module);    // class covariance, neighbours
void bind_forest(nb::module_& module);       // the window forest
void bind_boosted(nb::module_& module);      // boosted trees
void bind_projection(nb::module_& module);   // random projections
void bind_bayes(nb::module_& module);        // moments, densities and scores of RPNB
void bind_passes(nb::module_& module);       // rows through RPNB
void bind_linear(nb::module_& module);       // linear learners
void bind_trees(nb::module_& module);        // Hoeffding trees and their ensembles
void bind_streams(nb::module_& module);      // scaling, calibration, checks of rows

}  // namespace rpnb
