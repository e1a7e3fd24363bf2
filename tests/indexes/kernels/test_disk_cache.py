"""What processes keep of compiled kernels, when they do so at the same moment."""

import numpy as np
from numba import njit
from numba.core.caching import IndexDataCacheFile

import indexes

assert indexes.keep_forms_apart  # importing the package is what makes the difference

FORMS = [("i4", "code"), ("f8", "code")]


def caches(folder, count=2):
    return [IndexDataCacheFile(str(folder), "kernel", "stamp") for _ in range(count)]


def test_each_form_is_found_again(tmp_path):
    one, other = caches(tmp_path)
    for form in FORMS:
        one.save(form, f"compiled for {form}")
    for form in FORMS:
        assert other.load(form) == f"compiled for {form}"


def test_two_that_keep_forms_at_once_never_mix_them_up(tmp_path, monkeypatch):
    """The second keeps its form between what the first looks up and what it writes."""
    first, second, reader = caches(tmp_path, 3)
    write = first._save_data

    def late(name, data):
        monkeypatch.setattr(second, "_load_index", dict)  # as it was a moment ago
        second.save(FORMS[1], "for f8")
        write(name, data)

    monkeypatch.setattr(first, "_save_data", late)
    first.save(FORMS[0], "for i4")
    assert reader.load(FORMS[0]) in (None, "for i4")
    assert reader.load(FORMS[1]) in (None, "for f8")


def test_a_form_is_complete_before_the_index_knows_it(tmp_path, monkeypatch):
    (cache,) = caches(tmp_path, 1)
    found = []
    write = cache._save_index

    def looking(forms):
        found.append(cache._load_data(forms[FORMS[0]]))
        write(forms)

    monkeypatch.setattr(cache, "_save_index", looking)
    cache.save(FORMS[0], "for i4")
    assert found == ["for i4"]


def test_a_kernel_of_several_forms_still_runs():
    @njit
    def total(values):
        return values.sum()

    assert total(np.arange(4)) == 6
    assert total(np.arange(4.0)) == 6.0
