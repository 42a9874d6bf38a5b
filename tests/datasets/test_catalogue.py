"""The catalogue: shapes, checksums, and names in any spelling."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rpnb.datasets import DatasetError, UnknownDatasetError, describe, names, paper
from rpnb.datasets.catalogue import entries
from rpnb.datasets.loader import PAPER_VERSIONS


def test_the_catalogue_is_table_1() -> None:
    catalogue = [(e.name, e.p, e.n, e.M) for e in entries().values()]
    assert catalogue == [(s.dataset, s.p, s.n, s.M) for s in paper.table_1()]
    assert len(names()) == 33


def test_class_counts_add_up_to_the_rows() -> None:
    for entry in entries().values():
        assert sum(entry.class_counts.values()) == entry.n, entry.name


def test_every_dataset_but_gm_can_be_known_again() -> None:
    unknown = [e.name for e in entries().values() if e.sha256 is None or e.rows is None]
    assert unknown == ["GM"]
    checksums = [e.sha256 for e in entries().values() if e.sha256 is not None]
    assert len(set(checksums)) == 32
    assert all(len(checksum) == 64 for checksum in checksums)


def test_datasets_that_a_paper_reading_changes_say_so() -> None:
    described = {e.slug for e in entries().values() if e.paper_reading is not None}
    assert described == set(PAPER_VERSIONS)


def test_a_draw_says_what_it_stands_for() -> None:
    for entry in entries().values():
        assert (entry.stands_for is not None) == (entry.included == "draw")


def test_labels_are_known_by_count_only_where_counts_differ() -> None:
    by_count, by_name = [], []
    for entry in entries().values():
        if entry.openml is not None and entry.openml.labels_by_count:
            assert len(set(entry.class_counts.values())) == entry.M
            assert entry.openml.labels == ()
            by_count.append(entry.name)
        elif entry.openml is not None and entry.openml.labels:
            for meanings in entry.openml.labels:
                assert {*meanings.values()} == {*entry.class_counts}
            by_name.append(entry.name)
    assert by_count == ["Vertebral"]
    assert len(by_name) > 5


@given(
    st.sampled_from([(e.name, e.slug) for e in entries().values()]),
    st.sampled_from([str.lower, str.upper, str.title]),
    st.sampled_from([" ", "-", "_", ""]),
)
def test_a_name_is_found_in_any_spelling(
    spelling: tuple[str, str], case: Callable[[str], str], joint: str
) -> None:
    name, slug = spelling
    assert describe(name) is describe(slug)
    assert describe(case(slug.replace("_", joint))) is describe(name)


def test_an_unknown_name_gets_close_ones() -> None:
    with pytest.raises(UnknownDatasetError, match=r"got 'waveform'.*Waveform_w_Noise"):
        describe("waveform")
    with pytest.raises(DatasetError, match=r"got 'Chess' \(did you mean 'Chess-krvk'"):
        describe("Chess")
    with pytest.raises(UnknownDatasetError, match=r"got 'qqq'$"):
        describe("qqq")
