"""The printed tables have the rows and methods of the paper."""

from rpnb.datasets import names, paper


def test_every_method_has_a_result_on_every_dataset() -> None:
    cells = [(r.dataset, r.method) for r in paper.results()]
    assert cells == [(name, method) for name in names() for method in paper.METHODS]


def test_figures_are_those_printed() -> None:
    by_cell = {(r.dataset, r.method): r for r in paper.results()}
    skin = by_cell["Skin_NonSkin", "OnlineBagging"]
    assert (skin.error_mean, skin.error_var, skin.f1_mean) == (0.0152, 1.51e-6, 0.9773)
    assert (skin.error_vs_rpnb, skin.f1_vs_rpnb) == ("worse", "worse")
    gm = by_cell["GM", "RPNB"]
    assert (gm.error_mean, gm.f1_mean, gm.error_vs_rpnb) == (0.0296, 0.97, None)


def test_comparisons_with_rpnb_are_known_words() -> None:
    for result in paper.results():
        for word in (result.error_vs_rpnb, result.f1_vs_rpnb):
            known = {None} if result.method == "RPNB" else {"better", "equal", "worse"}
            assert word in known


def test_updates_of_rpnb_on_gm_are_its_mistakes() -> None:
    by_method = {u.method: u.updates for u in paper.updates() if u.dataset == "GM"}
    assert by_method == {"RPNB": 29.6, "OGD": 247.4}
    error = next(r.error_mean for r in paper.results() if r.dataset == "GM")
    assert abs(by_method["RPNB"] - 1000 * error) < 0.05
