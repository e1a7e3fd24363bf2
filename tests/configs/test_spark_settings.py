import pytest

from configs import ConfigError, load_settings


@pytest.mark.parametrize(
    "url",
    ["redis://h:6379/0", "rediss://h", "unix:///run/redis.sock", "file:///data", "hdfs://n:1/b"],
)
def test_bases_lie_in_redis_or_in_a_folder(url):
    assert load_settings(overrides={"spark.bases": url}).spark.bases.get_secret_value() == url


@pytest.mark.parametrize("url", ["/data/bases", "redis://", "file:///", "FILE://x", "s3:bucket"])
def test_an_address_that_is_none_is_refused(url):
    with pytest.raises(ConfigError, match=r"spark\.bases: got .* expected redis://"):
        load_settings(overrides={"spark.bases": url})


def test_the_stores_password_is_not_shown():
    settings = load_settings(overrides={"spark.bases": "redis://:hunter2@h/0"})
    assert "hunter2" not in repr(settings)
    with pytest.raises(ConfigError) as caught:
        load_settings(overrides={"spark.bases": "redis://:hunter2@/0"})
    assert "hunter2" not in str(caught.value)


def test_options_of_spark_itself_are_taken_by_name(tmp_path):
    file = tmp_path / "podium.yaml"
    file.write_text("spark:\n  options:\n    spark.executor.memory: 8g\n")
    assert load_settings(file).spark.options == {"spark.executor.memory": "8g"}


@pytest.mark.parametrize("most", [0, -1, "many"])
def test_a_batch_has_to_have_room_for_a_record(most):
    with pytest.raises(ConfigError, match=r"spark\.most_changes: "):
        load_settings(overrides={"spark.most_changes": most})
