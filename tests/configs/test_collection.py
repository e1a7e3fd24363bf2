import pytest
import Stemmer

from configs import Collection, ConfigError, load_collection
from configs.collection import PACKAGED
from configs.kinds import KINDS, STEMMERS, Kind

ADS = "name: ads\nkind: ranked\nattributes: [age]\n"


def problems(load):
    with pytest.raises(ConfigError) as caught:
        load()
    return {problem.path: problem.message for problem in caught.value.problems}


def test_the_collection_that_comes_with_podium_is_as_its_comments_say():
    ads = load_collection("ads")
    assert ads == Collection(
        name="ads", kind="ranked", attributes=("age", "credit_score", "visits")
    )
    assert (ads.k, ads.max_k, ads.shards) == (10, 1000, 2)


def test_jobs_come_with_podium_as_a_boolean_collection():
    attributes = ("title", "state", "pay", "hours", "experience", "remote_days")
    assert load_collection("jobs") == Collection(name="jobs", kind="boolean", attributes=attributes)


def test_homes_come_with_podium_as_a_relaxed_collection():
    assert load_collection("homes") == Collection(
        name="homes", kind="relaxed", attributes=("price", "rooms", "area")
    )


def test_a_name_is_looked_for_in_the_folder_then_here_then_in_the_package(write, tmp_path):
    assert load_collection("ads").attributes == ("age", "credit_score", "visits")
    write(ADS, "configs/collections/ads.yaml")
    assert load_collection("ads").attributes == ("age",)
    write(ADS.replace("age", "visits"), "mine/ads.yaml")
    assert load_collection("ads", tmp_path / "mine").attributes == ("visits",)


def test_a_path_is_taken_as_it_is(write):
    file = write(ADS.replace("ads", "other"), "any-name.yaml")
    assert load_collection(file).name == "other"
    assert load_collection(str(file)).name == "other"
    assert load_collection("any-name.yaml").name == "other"


def test_an_unknown_name_says_where_it_looked_and_what_there_is(write, tmp_path):
    write(ADS, "mine/games.yaml")
    (message,) = problems(lambda: load_collection("adz", tmp_path / "mine")).values()
    assert "'adz'" in message
    for folder in (tmp_path / "mine", "configs/collections", PACKAGED):
        assert str(folder) in message
    assert message.endswith("found there: ads, coupons, games, homes, jobs, parking")


def test_a_file_whose_name_is_another_is_refused(write):
    write(ADS, "configs/collections/games.yaml")
    assert problems(lambda: load_collection("games")) == {
        "name": "got 'ads', expected 'games' as in the file's name"
    }


def test_all_problems_of_a_file_are_reported_at_once(write):
    write(
        "name: Ads\nkind: rankd\nattributes: [age, ' ']\nk: 50\nmax_k: 20\nshards: 0\n"
        "retention: {events_hours: -1}\npartition: {}\n",
        "x.yaml",
    )
    assert set(problems(lambda: load_collection("x.yaml"))) == {
        "name",
        "kind",
        "attributes",
        "max_k",
        "shards",
        "retention.events_hours",
        "partition",
    }


def test_what_is_missing_is_named(write):
    write("attributes: [age]", "x.yaml")
    assert problems(lambda: load_collection("x.yaml")) == {
        "name": "is missing",
        "kind": "is missing",
    }


@pytest.mark.parametrize(
    ("kind", "attributes", "message"),
    [
        pytest.param("ranked", "[]", "1 to 64 names for kind ranked", id="none"),
        pytest.param("relaxed", "[]", "1 to 64 names for kind relaxed", id="relaxed-none"),
        pytest.param("ranked", str([f"a{i}" for i in range(65)]), "1 to 64 names", id="too-many"),
        pytest.param("ranked", "[age, age]", "'age' is there 2 times", id="twice"),
        pytest.param("ranked", "[age, '']", "not blank", id="empty"),
        pytest.param("ranked", "age", "a list", id="no-list"),
    ],
)
def test_attributes_that_do_not_fit_are_refused(write, kind, attributes, message):
    write(f"name: x\nkind: {kind}\nattributes: {attributes}\n", "x.yaml")
    assert message in problems(lambda: load_collection("x.yaml"))["attributes"]


def test_a_kind_may_do_without_attributes(write):
    write("name: x\nkind: boolean\n", "x.yaml")
    assert load_collection("x.yaml").kind == "boolean"


def test_a_kind_may_have_no_use_for_attributes(write, monkeypatch):
    monkeypatch.setitem(KINDS, "bare", Kind(0, 0))
    write("name: x\nkind: bare\nattributes: [age]\n", "x.yaml")
    with pytest.raises(ConfigError, match="expected none for kind bare"):
        load_collection("x.yaml")


PLACES = "name: x\nkind: spatial_text\n"


def test_coupons_come_with_podium_as_their_comments_say():
    assert load_collection("coupons") == Collection(
        name="coupons", kind="spatial_text", attributes=("age",), stemmer="english"
    )


def test_a_space_and_a_stemmer_are_the_dialect_of_places_and_words(write):
    write(f"{PLACES}space: plane\nstemmer: french\nrouting: {{enabled: true}}\n", "x.yaml")
    assert load_collection("x.yaml").dialect == {"space": "plane", "stemmer": "french"}
    assert load_collection("ads").dialect == {}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ("space: torus", "expected 'sphere' or 'plane'"),
        ("stemmer: klingon", "expected one of arabic, armenian"),
        ("attributes: [age, box]", "fields of every event of kind spatial_text"),
    ],
)
def test_a_bad_setting_of_places_and_words_is_refused(write, settings, message):
    write(f"{PLACES}{settings}\n", "x.yaml")
    assert message in problems(lambda: load_collection("x.yaml"))[settings.partition(":")[0]]


@pytest.mark.parametrize("setting", ["space: plane", "stemmer: english"])
def test_a_dialect_is_for_the_kind_that_has_one(write, setting):
    write(f"{ADS}{setting}\n", "x.yaml")
    (message,) = problems(lambda: load_collection("x.yaml")).values()
    assert "expected nothing: it is for kind spatial_text, and this is ranked" in message


def test_the_stemmers_that_a_file_may_name_are_those_that_there_are():
    assert list(STEMMERS) == sorted(Stemmer.algorithms())


@pytest.mark.parametrize("name", ["Ads", "1ads", "a_b", "a" * 64, "ads.v1", ""])
def test_a_name_must_fit_into_a_topic_name(name):
    with pytest.raises(ConfigError, match="beginning with a letter"):
        load_collection(name)


def test_an_item_of_a_list_is_named_with_the_line_of_the_list(write):
    file = write("name: x\nkind: ranked\nattributes:\n  - age\n  - 7\n", "x.yaml")
    with pytest.raises(ConfigError) as caught:
        load_collection(file)
    (problem,) = caught.value.problems
    assert (problem.source, problem.path) == (f"{file}:3", "attributes.1")
    assert problem.message == "got 7, expected text (put it in quotes)"


LISTS = "name: x\nkind: range_topk\n"


def test_parking_comes_with_podium_as_its_comments_say():
    assert load_collection("parking") == Collection(name="parking", kind="range_topk")


@pytest.mark.parametrize(
    "setting",
    [
        "zones: 3",
        "painter: batch",
        "paint: dense",
        "epsilon: 0.5",
        "deliver: messages",
        "emit: list",
        "min_interval_ms: 5",
    ],
)
def test_settings_of_lists_are_for_kinds_that_have_them(write, setting):
    name = setting.partition(":")[0]
    write(f"{LISTS}{setting}\n", "x.yaml")
    assert str(getattr(load_collection("x.yaml"), name)).startswith(setting.split()[1])
    write(f"{ADS}{setting}\n", "x.yaml")
    assert problems(lambda: load_collection("x.yaml")).keys() == {name}


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        ("zones: 0", "zones"),
        ("painter: both", "painter"),
        ("paint: thin", "paint"),
        ("epsilon: 0", "epsilon"),
        ("epsilon: 1.5", "epsilon"),
        ("deliver: all", "deliver"),
        ("emit: none", "emit"),
        ("min_interval_ms: -1", "min_interval_ms"),
        ("attributes: [age]", "attributes"),
        ("zone_bounds: [1, 2]", "zone_bounds"),
        ("zones: 3\nzone_bounds: [1]", "zone_bounds"),
        ("zones: 3\nzone_bounds: [2, 1]", "zone_bounds"),
        ("zones: 3\nzone_bounds: [1, 1]", "zone_bounds"),
        ("zone_bounds: [.nan]", "zone_bounds"),
        ("zone_bounds: [.inf]", "zone_bounds"),
        ("slices: 2", "slices"),
        ("painter: batch\nslices: 2", "slices"),
        ("painter: batch\npaint: dense\nslices: 0", "slices"),
    ],
)
def test_a_bad_setting_of_lists_is_refused(write, settings, field):
    write(f"{LISTS}{settings}\n", "x.yaml")
    (path,) = problems(lambda: load_collection("x.yaml"))
    assert path.partition(".")[0] == field


def test_bounds_between_zones_are_one_less_than_zones(write):
    write(f"{LISTS}zones: 3\nzone_bounds: [10, 20.5]\n", "x.yaml")
    assert load_collection("x.yaml").zone_bounds == (10, 20.5)


@pytest.mark.parametrize("kind", KINDS)
def test_shards_are_replicated_only_for_kinds_that_match_events(write, kind):
    file = write(f"name: x\nkind: {kind}\nlayout: replicated\nattributes: [age]\n")
    if KINDS[kind].has_lists:
        file.write_text(f"name: x\nkind: {kind}\nlayout: replicated\n")
        told = problems(lambda: load_collection(file))
        assert f"expected sharded for kind {kind}" in told["layout"]
    else:
        assert load_collection(file).layout == "replicated"


def test_replicated_shards_have_no_routes(write):
    file = write(ADS + "layout: replicated\nrouting: {enabled: true}\n")
    assert "layout: replicated" in problems(lambda: load_collection(file))["routing"]
