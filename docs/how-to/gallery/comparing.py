"""Which learner is better? Six orders of each dataset, signed-rank tests, ranks."""

import numpy as np

from rpnb import PooledClassifier, RPNBClassifier, baselines, datasets
from rpnb.evaluate import prequential
from rpnb.study.statistics import compare, friedman, pairwise

# Datasets that come with the package.
DATASETS = ["Tic-tac-toe", "Waveform_w_Noise", "Chess-krvk", "Twonorm", "Nursery"]
ORDERS, ROWS = 6, 600  # fewer than six orders cannot differ at 0.05

errors: dict[str, list[float]] = {}
print(
    f"error after {ROWS} rows, mean of {ORDERS} orders; + better than RPNB, - worse\n"
)
for name in DATASETS:
    data = datasets.load(name)
    found: dict[str, list[float]] = {}
    for seed in range(ORDERS):
        order = np.random.default_rng(seed).permutation(len(data.y))[:ROWS]
        models = {
            "Pooled": PooledClassifier(random_state=seed),
            "RPNB": RPNBClassifier(n_estimators=100, random_state=seed),
            "PA": baselines.PA(),
            "AROW": baselines.AROW(),
            "NB": baselines.GaussianNB(),
        }
        X, y = data.X[order], data.y[order]
        result = prequential(models, X, y, metrics=["error"], every=ROWS)
        for learner in models:
            found.setdefault(learner, []).append(result[learner].last("error"))
    cells = []
    for learner, values in found.items():
        verdict = compare(values, found["RPNB"], "low")  # Wilcoxon's test at 0.05
        mark = {"better": "+", "worse": "-", "equal": " "}[verdict]
        cells.append(f"{learner} {np.mean(values):.3f}{mark}")
        errors.setdefault(learner, []).append(float(np.mean(values)))
    print(f"{name:18}", "  ".join(cells))

test = friedman(errors, "low")
print("\nmean ranks:", "  ".join(f"{k} {r:.2f}" for k, r in test.ranks.items()))
p = "p < 0.001" if test.p_F < 0.001 else f"p = {test.p_F:.3f}"
print(f"Friedman's test: {p}; two learners differ if their ranks", end=" ")
print(f"differ by {test.critical_difference:.2f} (Nemenyi)")
for pair in pairwise(errors, "low"):
    score = f"{pair.wins} won, {pair.losses} lost, p = {pair.p_holm:.2f} (Holm)"
    print(f"{pair.first} against {pair.second}: {score}")
