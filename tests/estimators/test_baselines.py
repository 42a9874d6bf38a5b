"""The learners that RPNB is compared with, as estimators."""
