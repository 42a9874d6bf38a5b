"""Hoeffding trees in arrays, online bagging and online boosting."""
