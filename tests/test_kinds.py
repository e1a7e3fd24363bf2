"""The tables of kinds, one per layer: a kind is in all of them or in none, and they agree."""

import importlib
import json

import pytest

import configs.kinds
import indexes.kinds
import topics.kinds
import workers.kinds
from configs.collection import Collection
from tests.oracles import collection as oracle
from topics.catalogue import GROUPS, TOPICS

TABLES = (configs.kinds, topics.kinds, indexes.kinds, workers.kinds)
KINDS = tuple(configs.kinds.KINDS)
MATCHING = tuple(name for name, kind in configs.kinds.KINDS.items() if not kind.has_lists)


@pytest.mark.parametrize("layer", TABLES, ids=lambda layer: layer.__name__)
def test_every_layer_has_the_same_kinds_in_the_same_order(layer):
    assert tuple(layer.KINDS) == KINDS


def test_the_oracle_has_all_kinds_that_match_events():
    """Those that keep lists have one of their own: `tests.oracles.range_topk`."""
    assert tuple(oracle.KINDS) == MATCHING


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_has_events_or_objects(kind):
    declared = topics.kinds.KINDS[kind]
    assert ("events" in declared.topics) == (kind in MATCHING)
    assert ("objects" in declared.topics) == (kind not in MATCHING)
    assert (declared.events is None) == (declared.event_value is None) == (kind not in MATCHING)


@pytest.mark.parametrize("layer", TABLES, ids=lambda layer: layer.__name__)
def test_an_unknown_kind_is_a_key_error_and_not_another_kind(layer):
    with pytest.raises(KeyError):
        layer.KINDS["rankd"]


@pytest.mark.parametrize("kind", KINDS)
def test_the_topics_of_a_kind_are_in_the_catalogue(kind):
    assert set(topics.kinds.KINDS[kind].topics) <= TOPICS.keys()


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_has_bases_where_its_index_has_trees_for_them(kind):
    declared = topics.kinds.KINDS[kind]
    has_trees = indexes.kinds.KINDS[kind].trees_for_a_base is not None
    assert declared.has_bases == has_trees
    assert not declared.has_bases or "bases" in declared.topics


@pytest.mark.parametrize("kind", KINDS)
def test_the_roles_of_a_pipeline_can_be_started_and_read_what_the_kind_has(kind):
    for role in workers.kinds.KINDS[kind].pipeline:
        assert role.reads in topics.kinds.KINDS[kind].topics
        assert set(role.groups) <= {role.name, *GROUPS}
        assert callable(importlib.import_module(f"{role.package}.{role.name}").run)
        assert callable(importlib.import_module(f"{role.package}.warm_up").warm_up)


@pytest.mark.parametrize(
    ("settings", "roles"),
    [
        ({}, ["painter", "zone"]),
        ({"painter": "batch"}, ["zone"]),
        ({"deliver": "messages"}, ["painter"]),
        ({"painter": "batch", "deliver": "messages"}, []),
    ],
)
def test_a_collection_has_the_roles_that_its_settings_leave_to_workers(settings, roles):
    collection = Collection(name="parking", kind="range_topk", **settings)
    assert [role.name for role in workers.kinds.roles_of(collection)] == roles
    left_out = workers.kinds.left_out(collection)
    assert sorted([*roles, *left_out]) == ["painter", "zone"]
    for name in ("painter", "zone"):
        assert workers.kinds.refusal(collection, name) == left_out.get(name, "")


@pytest.mark.parametrize(
    ("layout", "roles"),
    [("sharded", ["router", "matcher", "merger"]), ("replicated", ["node"])],
)
@pytest.mark.parametrize("kind", MATCHING)
def test_the_layout_of_a_collection_says_who_works_for_it(kind, layout, roles):
    collection = Collection(name="ads", kind=kind, attributes=("age",), layout=layout)
    assert [role.name for role in workers.kinds.roles_of(collection)] == roles
    assert workers.kinds.left_out(collection) == {}
    for role in workers.kinds.KINDS[kind].pipeline:
        refusal = workers.kinds.refusal(collection, role.name)
        assert bool(refusal) == (role.name not in roles)
        assert not refusal or f"layout: {layout}" in refusal


@pytest.mark.parametrize("kind", KINDS)
def test_the_sample_of_a_kind_keeps_its_contract_and_fits_its_index(kind):
    for attributes in workers.kinds.KINDS[kind].shapes:
        allowed = configs.kinds.KINDS[kind]
        assert allowed.least_attributes <= len(attributes)
        contract = topics.kinds.contract_for(kind, attributes)
        name = attributes[0] if attributes else ""
        samples = [workers.kinds.KINDS[kind].sample(name, n) for n in (1, 2)]
        rows = [contract.parse(json.dumps(sample).encode()) for sample in samples]
        if kind not in MATCHING:
            continue
        index = indexes.kinds.new_index(kind, attributes)
        index.insert_many(range(2), *contract.columns(rows))
        assert index.ids().tolist() == [0, 1]
