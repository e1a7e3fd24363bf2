"""What the chart renders: the same each time, and what its values ask for."""

import re
from fnmatch import fnmatch
from pathlib import Path

import pytest
import yaml

from configs import Settings, load_collection, load_settings
from podium.topics_setup import declared_topics
from tests.helm import chart
from tests.helm.cases import (
    BOOLEAN,
    COLLECTIONS,
    LISTS,
    PAINTED_BY_SPARK,
    RANKED,
    REPLICATED,
    SASL,
    SCALED,
    all_cases,
    scaled_by,
    values_files,
)
from tests.helm.chart import (
    CHART,
    COLLECTION,
    COMPONENT,
    HelmFailed,
    containers,
    label,
    main_container,
    objects,
    of_kind,
    pods,
    render,
    variables,
)
from workers.kinds import roles_of

GOLDEN = Path(__file__).with_name("golden")
WORKLOADS = ("Deployment", "StatefulSet")


@pytest.fixture
def rendered_with(helm4, tmp_path):
    """Objects of the chart with these values."""
    return lambda values, *more: objects(render(helm4, values, tmp_path, *more))


class TestTheSameEachTime:
    def test_two_renders_are_byte_equal(self, helm4, rendered, tmp_path):
        assert chart.render_all(helm4, all_cases(), tmp_path / "again") == rendered

    @pytest.mark.cluster
    def test_helm_3_renders_the_same(self, rendered, tmp_path):
        from tests.helm.conftest import program

        other = chart.render_all(program("helm3"), all_cases(), tmp_path / "by3")
        assert objects(other) == objects(rendered)

    @pytest.mark.parametrize("file", sorted(values_files()))
    def test_a_file_of_values_renders_as_reviewed(self, helm4, tmp_path, file):
        """After a change on purpose: `make chart`, and read what has changed."""
        text = render(helm4, CHART / "values" / f"{file}.yaml", tmp_path)
        assert text == (GOLDEN / f"{file}.yaml").read_text()

    def test_templates_ask_neither_the_cluster_nor_chance(self):
        sources = {
            file: file.read_text() for file in CHART.rglob("templates/**/*") if file.is_file()
        }
        asks = r"\b(lookup|rand\w+|genPrivateKey|genCA|genSelfSignedCert|uuidv4|now)\b"
        found = {
            str(file.relative_to(CHART)): re.findall(rf"{{{{[^}}]*{asks}", text)
            for file, text in sources.items()
            if file.suffix != ".txt"
        }
        assert {name: words for name, words in found.items() if words} == {}


def components_of(collection):
    """As the fleet's own table has them; the chart says `zones` for the role `zone`."""
    return {{"zone": "zones"}.get(role.name, role.name) for role in roles_of(collection)}


class TestComponents:
    @pytest.mark.parametrize("name", ["matching", "lists", "long"])
    def test_what_runs_follows_from_the_collections(self, cases, tmp_path, name):
        found = of_kind(cases[f"{name}-asis-plain"], *WORKLOADS)
        running = {}
        for one in found:
            running.setdefault(label(one, COLLECTION), set()).add(label(one, COMPONENT))
        for declared in COLLECTIONS[name]:
            file = tmp_path / f"{declared['name']}.yaml"
            file.write_text(yaml.safe_dump(declared))
            expected = components_of(load_collection(file))
            if declared.get("painter") == "batch":
                expected.add("paint-batch")
            assert running[declared["name"]] == expected

    def test_without_collections_nothing_runs(self, cases):
        assert of_kind(cases["none-asis-plain"], *WORKLOADS, "Job") == []

    def test_pods_that_keep_partitions_keep_their_name(self, cases):
        stateful = of_kind(cases["spark-driver"], "StatefulSet")
        assert {label(one, COMPONENT) for one in stateful} == {"matcher", "zones"}
        services = {one["metadata"]["name"] for one in of_kind(cases["spark-driver"], "Service")}
        for one in stateful:
            (identity,) = (
                variable
                for variable in main_container(one["spec"]["template"])["env"]
                if variable["name"] == "PODIUM_MATCHER__INSTANCE_ID"
            )
            assert identity["valueFrom"]["fieldRef"]["fieldPath"] == "metadata.name"
            assert one["spec"]["serviceName"] in services

    def test_names_are_short_enough_and_apart(self, cases):
        found = cases["long-asis-plain"]
        names = [(one["kind"], one["metadata"]["name"]) for one in found]
        assert len(set(names)) == len(names)
        assert max(len(name) for _, name in names) <= 52  # a StatefulSet appends ten to a label

    def test_overrides_are_of_one_collection(self, cases):
        matchers = [
            one
            for one in of_kind(cases["overrides"], "StatefulSet")
            if label(one, COMPONENT) == "matcher"
        ]
        (ads,) = (one for one in matchers if label(one, COLLECTION) == "ads")
        assert ads["spec"]["replicas"] == 3
        (container,) = ads["spec"]["template"]["spec"]["containers"]
        assert container["resources"]["limits"]["memory"] == "9Gi"
        assert container["resources"]["requests"]["memory"] == "1Gi"

    def test_a_worker_is_started_for_its_collection(self, cases):
        for one in of_kind(cases["matching-asis-plain"], *WORKLOADS):
            args = main_container(one["spec"]["template"])["args"]
            assert args == ["worker", label(one, COMPONENT), "--collection", label(one, COLLECTION)]


class TestSettings:
    """The files that pods are given, read by the code that will read them."""

    def files(self, found, folder):
        (config,) = (
            one
            for one in of_kind(found, "ConfigMap")
            if one["metadata"]["name"].endswith("-config")
        )
        (folder / "collections").mkdir(exist_ok=True)
        for name, text in config["data"].items():
            place = folder if name == "podium.yaml" else folder / "collections"
            text = text.replace("/etc/podium-secrets/", f"{folder}/secrets/")
            (place / name).write_text(text.replace("/etc/podium/", f"{folder}/"))
        return folder / "podium.yaml"

    def secret_files(self, folder, pod):
        """What the projected volume brings, with made-up content."""
        for volume in pod["spec"]["volumes"]:
            for source in volume.get("projected", {}).get("sources", []):
                for item in source["secret"]["items"]:
                    file = folder / "secrets" / item["path"]
                    file.parent.mkdir(parents=True, exist_ok=True)
                    file.write_text("redis://:s3cret@redis:6380/0\n")

    @pytest.mark.parametrize(
        "case",
        ["matching-asis-plain", "lists-asis-sasl", "mtls", "spark-driver-uri", "file-production"],
    )
    def test_podium_reads_what_the_pods_are_given(self, cases, tmp_path, monkeypatch, case):
        found = cases[case]
        settings_file = self.files(found, tmp_path)
        workloads = of_kind(found, *WORKLOADS)
        for one in workloads:
            pod = one["spec"]["template"]
            self.secret_files(tmp_path, pod)
            for name, value in variables(pod).items():
                if name.startswith("PODIUM_") and value:
                    value = value.replace("/etc/podium-secrets/", f"{tmp_path}/secrets/")
                    monkeypatch.setenv(name, value.replace("/etc/podium/", f"{tmp_path}/"))
        settings = load_settings()
        assert settings_file.exists()
        assert settings.http.port == 8080
        assert settings.collections == tmp_path / "collections"
        for one in workloads:
            name = label(one, COLLECTION)
            assert load_collection(name, settings.collections).name == name
        if case == "lists-asis-sasl":
            assert settings.kafka.security == "sasl_ssl"
            assert settings.kafka.password.get_secret_value() == "redis://:s3cret@redis:6380/0"
            assert "s3cret" in settings.redis.url.get_secret_value()

    def test_secrets_are_files_and_nothing_else(self, cases):
        found = cases["matching-asis-sasl"]
        assert of_kind(found, "Secret") == []
        for name, pod in pods(found):
            for container in containers(pod):
                for variable in container.get("env", []):
                    assert "secretKeyRef" not in variable.get("valueFrom", {}), name
            mounted = [v["name"] for v in main_container(pod)["volumeMounts"]]
            assert "secrets" in mounted, name

    def test_a_change_of_one_collection_restarts_its_pods_alone(self, rendered_with):
        def sums(values):
            return {
                label(one, COLLECTION): one["spec"]["template"]["metadata"]["annotations"][
                    "checksum/collections"
                ]
                for one in of_kind(rendered_with(values), *WORKLOADS)
            }

        before = sums({"collections": [RANKED, BOOLEAN]})
        after = sums({"collections": [{**RANKED, "k": 5}, BOOLEAN]})
        assert before["jobs"] == after["jobs"]
        assert before["ads"] != after["ads"]

    @pytest.mark.parametrize("kind", ["settings", "kafka"])
    def test_a_change_of_settings_restarts_all_pods(self, rendered_with, kind):
        change = {
            "settings": {"settings": {"router": {"frame_events": 100}}},
            "kafka": {"kafka": {"brokers": "other:9092"}},
        }[kind]

        def sums(values):
            found = of_kind(rendered_with(values), *WORKLOADS)
            return [
                one["spec"]["template"]["metadata"]["annotations"]["checksum/settings"]
                for one in found
            ]

        assert not set(sums({})) & set(sums(change))


class TestVariables:
    def test_no_name_is_there_twice(self, cases):
        for case, found in cases.items():
            for name, pod in pods(found):
                for container in containers(pod):
                    names = [one["name"] for one in container.get("env", [])]
                    assert len(set(names)) == len(names), (case, name, names)

    def test_what_is_given_replaces_what_the_chart_sets(self, cases):
        by_component = {
            label(one, COMPONENT): variables(one["spec"]["template"])
            for one in of_kind(cases["matching-extras-plain"], *WORKLOADS)
        }
        assert by_component["merger"]["HOME"] == "/home"
        assert by_component["merger"]["PODIUM_CONFIG"] == "/other.yaml"
        assert by_component["merger"]["NOTE"] == "2"
        assert by_component["router"]["NOTE"] == "3"

    def test_annotations_of_a_component_go_first(self, cases):
        teams = {
            label(one, COMPONENT): one["spec"]["template"]["metadata"]["annotations"]["team"]
            for one in of_kind(cases["matching-extras-plain"], *WORKLOADS)
        }
        assert teams["merger"] == "search"
        assert teams["router"] == "routes"


PARTITIONS = {"node": 4, "router": 4, "matcher": 3, "merger": 2, "zones": 3}


class TestScaling:
    @pytest.mark.parametrize(
        ("by", "kind", "least", "most"),
        [
            ("hpa", "HorizontalPodAutoscaler", "minReplicas", "maxReplicas"),
            ("keda", "ScaledObject", "minReplicaCount", "maxReplicaCount"),
        ],
    )
    def test_there_are_never_more_pods_than_partitions(self, rendered_with, by, kind, least, most):
        replicated = {"name": "quick", "kind": "boolean", "layout": "replicated"}
        found = rendered_with({"collections": [RANKED, LISTS, replicated], **scaled_by(by)})
        scalers = of_kind(found, kind)
        assert {label(one, COMPONENT): one["spec"][most] for one in scalers} == PARTITIONS
        assert all(one["spec"][least] == 2 for one in scalers)
        targets = {
            (one["kind"], one["metadata"]["name"]): one for one in of_kind(found, *WORKLOADS)
        }
        for one in scalers:
            target = one["spec"]["scaleTargetRef"]
            assert "replicas" not in targets[target["kind"], target["name"]]["spec"]

    def test_who_is_not_scaled_says_how_many(self, cases):
        for one in of_kind(cases["lists-hpa-plain"], *WORKLOADS):
            scaled = label(one, COMPONENT) in SCALED
            assert ("replicas" in one["spec"]) is not scaled

    def test_keda_looks_at_the_lag_of_the_components_group(self, rendered_with):
        found = of_kind(
            rendered_with({"collections": [RANKED], **scaled_by("keda")}), "ScaledObject"
        )
        told = {label(one, COMPONENT): one["spec"]["triggers"][0]["metadata"] for one in found}
        assert told["router"]["topic"] == "podium.ads.events"
        assert told["matcher"]["topic"] == "podium.ads.frames"
        assert told["merger"]["consumerGroup"] == "podium.ads.merger"


class TestTopicsJob:
    def test_it_and_all_it_needs_come_before_the_chart(self, cases):
        found = cases["matching-asis-sasl"]
        hooks = [one for one in found if label(one, COMPONENT) == "topics"]
        assert {one["kind"] for one in hooks} == {
            "Job",
            "ConfigMap",
            "ServiceAccount",
            "NetworkPolicy",
        }
        weights = {}
        for one in hooks:
            notes = one["metadata"]["annotations"]
            assert notes["helm.sh/hook"] == "pre-install,pre-upgrade"
            assert notes["helm.sh/hook-delete-policy"] == "before-hook-creation"
            weights[one["kind"]] = int(notes["helm.sh/hook-weight"])
        assert all(weights["Job"] > weight for kind, weight in weights.items() if kind != "Job")
        (job,) = of_kind(hooks, "Job")
        spec = job["spec"]["template"]["spec"]
        names = {one["metadata"]["name"] for one in hooks}
        assert spec["serviceAccountName"] in names
        assert spec["volumes"][0]["configMap"]["name"] in names

    def test_it_creates_the_topics_of_every_collection(self, cases):
        (job,) = of_kind(cases["matching-asis-plain"], "Job")
        container = main_container(job["spec"]["template"])
        assert container["command"] == ["sh", "-ec"]
        assert "podium topics create --collection" in container["args"][0]
        assert container["args"][2:] == ["ads", "jobs", "quick", "coupons"]


class TestNetwork:
    def ports(self, found):
        (policy,) = (
            one for one in of_kind(found, "NetworkPolicy") if label(one, COMPONENT) is None
        )
        return {
            port["port"]
            for rule in policy["spec"]["egress"]
            for port in rule["ports"]
            if port["protocol"] == "TCP"
        }

    @pytest.mark.parametrize(
        ("case", "ports"),
        [
            ("matching-asis-plain", {53, 9092, 6379, 8080}),
            ("matching-asis-sasl", {53, 9093, 9094, 6380, 8080}),
            ("narrow", {53, 9092, 7000, 443, 8080}),
        ],
    )
    def test_ports_follow_the_addresses(self, cases, case, ports):
        assert self.ports(cases[case]) == ports

    def test_drivers_and_executors_reach_each_other(self, cases):
        (policy,) = (
            one
            for one in of_kind(cases["spark-application"], "NetworkPolicy")
            if one["metadata"]["name"].endswith("-spark")
        )
        (members,) = policy["spec"]["podSelector"]["matchExpressions"]
        applications = of_kind(cases["spark-application"], "SparkApplication")
        assert {label(one, COMPONENT) for one in applications} == set(members["values"])
        (reached_from,) = policy["spec"]["ingress"]
        assert reached_from == {"from": [{"podSelector": policy["spec"]["podSelector"]}]}
        for one in applications:
            for member in ("driver", "executor"):
                assert one["spec"][member]["labels"][COMPONENT] == label(one, COMPONENT)

    def test_who_may_ask_for_metrics_can_be_said(self, cases):
        (policy,) = (
            one
            for one in of_kind(cases["narrow"], "NetworkPolicy")
            if label(one, COMPONENT) is None
        )
        rule, extra = policy["spec"]["ingress"]
        assert extra == {"ports": [{"port": 7078, "protocol": "TCP"}]}
        ours, monitoring = rule["from"]
        assert ours["podSelector"]["matchLabels"]
        assert monitoring["namespaceSelector"]["matchLabels"] == {"name": "monitoring"}


class TestPods:
    def test_no_pod_has_a_token(self, cases):
        for case, found in cases.items():
            for name, pod in pods(found):
                assert pod["spec"]["automountServiceAccountToken"] is False, (case, name)
            for one in of_kind(found, "ServiceAccount"):
                assert one["automountServiceAccountToken"] is False

    def test_workers_are_asked_where_they_answer(self, cases):
        for one in of_kind(cases["matching-asis-plain"], *WORKLOADS):
            container = main_container(one["spec"]["template"])
            assert container["livenessProbe"]["httpGet"]["path"] == "/livez"
            assert container["readinessProbe"]["httpGet"]["path"] == "/readyz"
            assert container["ports"] == [{"name": "http", "containerPort": 8080}]

    def test_extras_are_in_every_pod_that_stays(self, cases):
        for name, pod in pods(cases["matching-extras-sasl"]):
            spec = pod["spec"]
            assert spec["imagePullSecrets"] == [{"name": "pull"}], name
            assert spec["priorityClassName"] == "high", name
            assert "more" in {volume["name"] for volume in spec["volumes"]}, name
            assert all(one["image"].endswith("@sha256:" + "0" * 64) for one in containers(pod)[:2])
            beside = [one["name"] for one in spec["containers"]][1:]
            stays = name.startswith(WORKLOADS)
            assert beside == (["beside"] if stays else []), name
        extra = {
            one["metadata"]["name"] for one in of_kind(cases["matching-extras-sasl"], "ConfigMap")
        }
        assert {"live-of-text", "of-yaml"} <= extra

    def test_a_job_of_spark_keeps_its_progress(self, cases):
        found = cases["spark-driver"]
        claims = {one["metadata"]["name"] for one in of_kind(found, "PersistentVolumeClaim")}
        drivers = [
            one
            for one in of_kind(found, "Deployment")
            if label(one, COMPONENT) in ("sopt-bases", "paint-batch")
        ]
        assert len(claims) == len(drivers) == 2
        for one in drivers:
            pod = one["spec"]["template"]
            assert main_container(pod)["image"].endswith("-spark")
            assert main_container(pod)["args"][:2] == ["spark", label(one, COMPONENT)]
            assert variables(pod)["PODIUM_SPARK__CHECKPOINTS"] == "/var/lib/podium"
            assert one["spec"]["strategy"] == {"type": "Recreate"}
        assert of_kind(cases["spark-driver-uri"], "PersistentVolumeClaim") == []


REFUSED = [
    ({"kafka": {**SASL, "username": ""}}, "kafka.username: got nothing, expected the user of SASL"),
    (
        {"kafka": {**SASL, "password": {"existingSecret": ""}}},
        "kafka.password.existingSecret: got nothing, expected a Secret with the password",
    ),
    ({"redis": {"url": ""}}, "redis.url: got nothing, expected redis://"),
    ({"collections": [RANKED, RANKED]}, 'collections: "ads" is there twice'),
    (
        {"matcher": {"overrides": {"adds": {"replicas": 1}}}},
        'matcher.overrides: got "adds", expected one of the collections: ads',
    ),
    ({"spark": {"bases": ["adds"]}}, 'spark.bases: got "adds", expected one of the collections'),
    (
        {"collections": [PAINTED_BY_SPARK], "spark": {"mode": "application"}},
        "settings.spark.checkpoints: got nothing, expected a URI",
    ),
    (
        {"topics": {"strimzi": {"enabled": True, "cluster": "k"}}},
        "topics: got both job.enabled and strimzi",
    ),
    ({"routr": {}}, "routr"),
    ({"kafka": {"broker": "a:1"}}, "broker"),
    ({"settings": {"router": {"linger": 1}}}, "linger"),
    ({"settings": {"kafka": {"password": "x"}}}, "kafka"),
    ({"collections": [{**RANKED, "attribute": []}]}, "attribute"),
    ({"collections": [{**RANKED, "kind": "rankd"}]}, "kind"),
    ({"image": {"digest": "latest"}}, "digest"),
]


@pytest.mark.parametrize(
    ("values", "says"), REFUSED, ids=lambda one: one if isinstance(one, str) else ""
)
def test_a_mistake_is_refused_with_a_sentence(helm4, tmp_path, values, says):
    with pytest.raises(HelmFailed) as refused:
        render(helm4, values, tmp_path)
    assert says in str(refused.value)


def test_notes_name_three_commands_and_the_memory(helm4, tmp_path):
    file = tmp_path / "values.yaml"
    file.write_text(yaml.safe_dump({"collections": [RANKED, LISTS]}))
    command = ("install", "live", str(CHART), "--dry-run=client", "--values", str(file))
    said = chart.helm(helm4, *command).partition("NOTES:")[2]
    commands = [line.strip() for line in said.splitlines() if fnmatch(line, "  *--namespace *")]
    assert [line.split()[0] for line in commands] == ["kubectl", "helm", "helm"]
    assert "ads: a million subscriptions take" in said
    assert "parking (range_topk): painter zones" in said


KEPT = {
    "events_hours": 0.5,
    "matches_hours": 12,
    "frames_minutes": 7.5,
    "dead_letters_days": 3,
    "compaction_lag_minutes": 1.25,
    "unsubscriptions_days": 30,
}


class TestStrimzi:
    @pytest.mark.parametrize("kept", [{}, KEPT], ids=["default", "given"])
    @pytest.mark.parametrize(
        "declared",
        [
            {**RANKED, "partitions": {"events": 7, "partials": 5, "matches": 3}},
            BOOLEAN,
            REPLICATED,
            {**LISTS, "shards": 5, "partitions": {"matches": 6}},
        ],
        ids=lambda one: one["name"],
    )
    def test_topics_are_those_that_podium_would_create(
        self, rendered_with, tmp_path, declared, kept
    ):
        declared = {**declared, "retention": kept}
        topics = {
            "job": {"enabled": False},
            "strimzi": {"enabled": True, "cluster": "kafka", "namespace": "kafka"},
        }
        found = of_kind(
            rendered_with({"collections": [declared], "topics": topics, "prefix": "p"}),
            "KafkaTopic",
        )
        file = tmp_path / f"{declared['name']}.yaml"
        file.write_text(yaml.safe_dump(declared))
        expected = declared_topics(Settings(prefix="p"), load_collection(file))
        assert {
            one["spec"]["topicName"]: (one["spec"]["partitions"], one["spec"]["config"])
            for one in found
        } == {spec.name: (spec.partitions, dict(spec.config)) for spec in expected}

    def test_the_user_may_do_what_the_fleet_does_and_no_more(self, cases):
        (user,) = of_kind(cases["strimzi"], "KafkaUser")
        rights = {
            (rule["resource"]["type"], rule["resource"]["name"]): rule["operations"]
            for rule in user["spec"]["authorization"]["acls"]
        }
        assert rights["topic", "podium."] == ["Read", "Write", "Describe", "DescribeConfigs"]
        assert not {"All", "Alter", "Delete", "Create"} & {
            one for each in rights.values() for one in each
        }
