//! Who may use a gateway.

use gadgetry_gateway::ClientApi;
use gadgetry_gateway::exchange::ModelRules;
use gadgetry_gateway::settings::ClientKey;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use super::replies::body;
use crate::support::upstream::Upstream;
use crate::support::world::{World, client, get, settings};

async fn world(keys: Vec<ClientKey>) -> World {
    let upstream = Upstream::start().await;
    let mut settings = settings(&upstream.url(), ModelRules::default());
    settings.keys = keys;
    World::serve(upstream, settings).await
}

async fn status(world: &World, headers: &[(&'static str, &str)]) -> u16 {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        map.insert(
            HeaderName::from_static(name),
            HeaderValue::from_str(value).expect("valid"),
        );
    }
    let (path, body) = body(ClientApi::Chat, "text", false);
    let request = client().post(world.url(path)).headers(map).json(&body);
    request.send().await.expect("it answers").status().as_u16()
}

#[tokio::test]
async fn one_of_several_keys_is_needed() {
    let world = world(vec![
        ClientKey::new("a", "alpha"),
        ClientKey::new("b", "beta"),
    ])
    .await;
    for (headers, expected) in [
        (&[][..], 401),
        (&[("authorization", "Bearer alpha")], 200),
        (&[("authorization", "bearer  beta ")], 200),
        (&[("x-api-key", "beta")], 200),
        (&[("api-key", "alpha")], 200),
        (&[("authorization", "Bearer alph")], 401),
        (&[("authorization", "Bearer alphaa")], 401),
        (&[("authorization", "alpha")], 401),
        (&[("x-api-key", "")], 401),
    ] {
        assert_eq!(status(&world, headers).await, expected, "{headers:?}");
    }
    let metrics = get(world.url("/metrics")).await.expect("it answers");
    assert_eq!(metrics.status().as_u16(), 401);
    let health = get(world.url("/healthz")).await.expect("it answers");
    assert_eq!(health.status().as_u16(), 200);
}

#[tokio::test]
async fn without_keys_only_this_machine_is_admitted() {
    let world = world(Vec::new()).await;
    for (host, expected) in [
        ("localhost:80", 200),
        ("127.0.0.1", 200),
        ("[::1]:9", 200),
        ("attacker.example", 403),
        ("127.0.0.1.attacker.example", 403),
    ] {
        assert_eq!(status(&world, &[("host", host)]).await, expected, "{host}");
    }
}

#[tokio::test]
async fn limits_of_a_key() {
    let mut key = ClientKey::new("a", "alpha");
    key.per_minute = Some(2);
    let world = world(vec![key, ClientKey::new("b", "beta")]).await;
    let alpha = [("x-api-key", "alpha")];
    assert_eq!(status(&world, &alpha).await, 200);
    assert_eq!(status(&world, &alpha).await, 200);
    assert_eq!(status(&world, &alpha).await, 429);
    assert_eq!(status(&world, &[("x-api-key", "beta")]).await, 200);
}

/// A list of models is a request to each upstream.
#[tokio::test]
async fn lists_of_models_count_as_requests() {
    for path in ["/v1/models", "/models", "/v1/models/scripted"] {
        let mut key = ClientKey::new("a", "alpha");
        key.per_minute = Some(2);
        let world = world(vec![key, ClientKey::new("b", "beta")]).await;
        let list = async |key: &str| {
            let request = client().get(world.url(path)).header("x-api-key", key);
            request.send().await.expect("it answers").status().as_u16()
        };
        assert_eq!(list("alpha").await, 200, "{path}");
        assert_eq!(status(&world, &[("x-api-key", "alpha")]).await, 200);
        assert_eq!(list("alpha").await, 429, "{path}");
        assert_eq!(list("beta").await, 200, "{path}");
    }
}
