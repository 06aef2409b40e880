//! The program of `docs/guide/models.md`, against a server.

use gadgetry::provider::Resolver;
use gadgetry::schemars::JsonSchema;
use gadgetry::serde::Deserialize;
use gadgetry::{Agent, Conversation};
use serde_json::json;

use super::aimock::start;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(crate = "gadgetry::serde")]
#[schemars(crate = "gadgetry::schemars")]
struct Forecast {
    city: String,
    /// In degrees Celsius
    temperature: f64,
}

async fn program(resolver: &Resolver) -> Result<(String, Forecast), Box<dyn std::error::Error>> {
    let agent = Agent::builder()
        .model(resolver.resolve("openai:gpt-4o-mini")?)
        .system("Answer in one sentence.")
        .build()?;
    let mut talk = Conversation::default();
    let text = agent
        .ask_in(&mut talk, "How warm is it in Paris?")
        .text()
        .await?;
    let forecast = agent
        .ask_in(&mut talk, "The same as a value, please.")
        .typed::<Forecast>()
        .await?;
    Ok((text, forecast.value))
}

/// The page shows what is run here, line by line.
#[test]
fn the_page_has_this_program() {
    let page = include_str!("../../../../docs/guide/models.md");
    let (_, shown) = page
        .split_once("foreign_servers/guide.rs -->")
        .expect("it is named");
    let shown = shown.split("```").nth(1).expect("a program");
    for line in shown.lines().skip(1) {
        let own = include_str!("guide.rs").lines().any(|own| own == line);
        assert!(own, "only on the page: {line}");
    }
}

#[tokio::test]
async fn it_runs() {
    let value =
        "!!!GADGET_START:FinalAnswer\n!!!ARG:city\nParis\n!!!ARG:temperature\n21\n!!!GADGET_END";
    let fixtures = vec![
        json!({ "match": { "userMessage": "How warm" }, "response": { "content": "It is 21 degrees." } }),
        json!({ "match": { "userMessage": "as a value" }, "response": { "content": value } }),
    ];
    let Some((server, _folder)) = start(fixtures).await else {
        return;
    };
    let base = server.url("/v1");
    let resolver = Resolver::new([
        ("OPENAI_API_KEY", super::agents::KEY),
        ("OPENAI_BASE_URL", &base),
    ]);
    let (text, forecast) = program(&resolver).await.expect("an answer");
    assert_eq!(text, "It is 21 degrees.");
    assert_eq!(forecast.city, "Paris");
    assert!((forecast.temperature - 21.0).abs() < 1e-9);
}
