"""What a form can offer."""

from tests.api.conftest import Api


def test_the_three_examples_are_ready_to_run(api: Api) -> None:
    items = api.get("examples")["items"]
    assert [item["name"] for item in items] == ["seven-jobs", "fifty-jobs", "node-failure", "edge-images"]
    for item in items:
        assert item["title"]
        assert item["description"]
        checked = api.post("experiments/validate", {"yaml": item["yaml"]})
        assert (
            checked["specification"]
            == api.post("experiments/validate", {"specification": item["specification"]})["specification"]
        )


def test_policies_say_what_may_be_set(api: Api) -> None:
    policies = api.get("policies")
    assert {"default", "random", "round-robin", "procon"} <= {one["name"] for one in policies["schedulers"]}
    specon = next(one for one in policies["migrations"] if one["name"] == "specon")
    assert specon["description"]
    assert specon["schema"]["properties"]["alpha"]["default"] == 0.1


def test_models_are_the_presets(api: Api) -> None:
    names = [model["name"] for model in api.get("models")["items"]]
    assert {"lenet", "cnn", "vae", "mnist", "gru", "lstm-cfc", "lstm-crf", "birnn"} <= set(names)


def test_openapi_describes_every_endpoint(api: Api) -> None:
    paths = api.get("openapi.json")["paths"]
    assert {
        "/healthz",
        "/readyz",
        "/api/v1/examples",
        "/api/v1/experiments",
        "/api/v1/experiments/validate",
        "/api/v1/experiments/{experiment}",
        "/api/v1/experiments/{experiment}/stop",
        "/api/v1/runs/{run}",
        "/api/v1/runs/{run}/stop",
        "/api/v1/runs/{run}/tables/{table}",
        "/api/v1/runs/{run}/decisions",
        "/api/v1/runs/{run}/decisions/{seq}",
        "/api/v1/runs/{run}/bundle",
        "/api/v1/runs/{run}/log",
        "/api/v1/import",
        "/api/v1/compare",
    } <= set(paths)


def test_the_service_is_alive_and_ready(api: Api) -> None:
    assert api.client.get("/healthz").json() == {"status": "ok"}
    assert api.client.get("/readyz").json() == {"status": "ok"}
