"""Tables as columns."""

import numpy as np

from surefoot.tables import rows_where, stack_tables

TABLES = [{"x": np.array([1, 2]), "y": np.array(["a", "b"])}, {"x": np.array([3]), "y": np.array(["c"])}]


def test_stacked_tables_have_the_rows_of_all():
    stacked = stack_tables(TABLES)
    assert stacked["x"].tolist() == [1, 2, 3]
    assert stacked["y"].tolist() == ["a", "b", "c"]


def test_rows_are_chosen_by_a_value():
    assert rows_where(stack_tables(TABLES), "y", "b")["x"].tolist() == [2]
    assert rows_where(TABLES[0], "x", 7)["y"].tolist() == []
