//! Which name means which model.

use gadgetry_providers::models::{ModelRegistry, ModelSpec};

use super::{priced, registry};

#[track_caller]
fn check(models: &ModelRegistry, name: &str, id: Option<&str>) {
    let found = models.get(name).map(|spec| spec.id.as_str());
    assert_eq!(found, id, "{name:?}");
}

#[test]
fn names_in_the_builtin_table() {
    let models = ModelRegistry::builtin();
    let cases = [
        ("gpt-4o", Some("gpt-4o")),
        (" GPT-4o ", Some("gpt-4o")),
        ("openai:gpt-4o", Some("gpt-4o")),
        ("openai/gpt-4o", Some("gpt-4o")),
        ("OpenAI:GPT-4o", Some("gpt-4o")),
        ("azure:gpt-4o", Some("azure/gpt-4o")),
        ("google:gemini-2.5-pro", Some("gemini/gemini-2.5-pro")),
        ("vertex:gemini-2.5-pro", Some("gemini-2.5-pro")),
        ("anthropic:claude-sonnet-4-5", Some("claude-sonnet-4-5")),
        ("groq:openai/gpt-oss-120b", Some("groq/openai/gpt-oss-120b")),
        ("groq:gpt-oss-120b", Some("groq/openai/gpt-oss-120b")),
        ("ollama:llama3:70b", Some("ollama/llama3:70b")),
        ("llama3:70b", Some("ollama/llama3:70b")),
        // Of whom nothing is known: whoever made the model tells.
        (
            "openrouter:anthropic/claude-sonnet-4-5",
            Some("claude-sonnet-4-5"),
        ),
        // A server with OpenAI's interface and models of its own.
        ("openai:llama3", None),
        // Many have it.
        ("gpt-oss-120b", None),
        (
            "ft:gpt-4o-2024-08-06:acme::id",
            Some("ft:gpt-4o-2024-08-06"),
        ),
        ("openai:ft:gpt-4o-2024-08-06", Some("ft:gpt-4o-2024-08-06")),
        ("no-such-model", None),
        ("", None),
        (":", None),
        ("/", None),
        ("openai:", None),
    ];
    for (name, id) in cases {
        check(&models, name, id);
    }
    check(&models, &":/".repeat(50), None);
}

#[test]
fn a_bare_name_resolves_only_if_it_is_unique() {
    let mut models = registry([
        priced("acme/large", 1.0, 1.0),
        priced("bolt/vendor/large", 2.0, 2.0),
        priced("bolt/small", 2.0, 2.0),
        priced("Bolt/Xlarge", 2.0, 2.0),
    ]);
    let cases = [
        ("large", None),
        ("small", Some("bolt/small")),
        ("vendor/large", Some("bolt/vendor/large")),
        ("acme:large", Some("acme/large")),
        ("bolt:large", Some("bolt/vendor/large")),
        ("bolt:xlarge", Some("Bolt/Xlarge")),
        ("xlarge", Some("Bolt/Xlarge")),
        ("acme:small", None),
        ("nobody:small", Some("bolt/small")),
        ("mall", None),
    ];
    for (name, id) in cases {
        check(&models, name, id);
    }
    models.unregister("ACME/large");
    check(&models, "large", Some("bolt/vendor/large"));
}

#[test]
fn an_alias_is_followed_once_and_never_hides_an_id() {
    let mut models = registry([
        priced("acme/large", 1.0, 1.0),
        ModelSpec::new("acme", "big"),
    ]);
    models.alias("Best", "acme:LARGE");
    models.alias("better", "best");
    models.alias("big", "acme/large");
    models.alias("loop", "loop");
    let cases = [
        ("best", Some("acme/large")),
        ("BEST", Some("acme/large")),
        ("better", None),
        ("big", Some("big")),
        ("loop", None),
    ];
    for (name, id) in cases {
        check(&models, name, id);
    }
}
