"""Spam among messages as they come: words hashed to wide sparse rows."""

from collections.abc import Iterator

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.feature_extraction.text import HashingVectorizer

from rpnb import PooledClassifier, RPNBClassifier, baselines
from rpnb.evaluate import prequential

HAM = ["meeting", "report", "invoice", "lunch", "project", "draft", "budget"]
SPAM = ["winner", "free", "prize", "claim", "loan", "casino", "pills", "urgent"]
NEW_SPAM = ["crypto", "wallet", "airdrop", "token", "verify"]  # from the middle on
COMMON = [f"word{i}" for i in range(2000)]


def message(rng: np.random.Generator, spam: bool, late: bool) -> str:
    """Return a message: mostly words that everybody uses, a few that give it away."""
    telling = (NEW_SPAM if late else SPAM) if spam else HAM
    words = [*rng.choice(COMMON, rng.integers(15, 40)), *rng.choice(telling, 3)]
    if rng.random() < 0.1:  # a message in disguise
        words += list(rng.choice(HAM if spam else SPAM, 3))
    return " ".join(words)


def inbox(n: int, chunk: int = 250) -> Iterator[tuple[csr_matrix, list[str]]]:
    """Yield chunks of hashed messages with their labels; one in four is spam."""
    rng = np.random.default_rng(0)
    hashing = HashingVectorizer(n_features=2**14, alternate_sign=True)
    for start in range(0, n, chunk):
        spam = rng.random(chunk) < 0.25
        texts = [message(rng, bool(s), start >= n // 2) for s in spam]
        yield hashing.transform(texts), ["spam" if s else "ham" for s in spam]


models = {
    "Pooled": PooledClassifier(random_state=0),
    "RPNB": RPNBClassifier(projection="very_sparse", random_state=0),
    "PA": baselines.PA(),
    "Perceptron": baselines.Perceptron(),
}
result = prequential(models, inbox(4000), metrics=["balanced_accuracy", "kappa"])
print(result)
