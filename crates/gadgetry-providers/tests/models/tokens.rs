//! Exact counts, against numbers that OpenAI's own tokenizer gives.

use gadgetry_providers::models::count_tokens;

#[test]
fn counts() {
    let cases = [
        ("gpt-4o", "hello world", Some(2)),
        ("openai:gpt-4o", "hello world", Some(2)),
        ("Azure/GPT-4o", "hello world", Some(2)),
        ("gpt-4o", "", Some(0)),
        ("gpt-4", "tiktoken is great!", Some(6)),
        ("gpt-4o", "お誕生日おめでとう", Some(8)),
        ("gpt-4", "お誕生日おめでとう", Some(9)),
        ("ft:gpt-4o-2024-08-06:acme::id", "hello world", Some(2)),
        ("claude-sonnet-4-5", "hello world", None),
        ("openrouter:gpt-4o", "hello world", None),
    ];
    for (model, text, tokens) in cases {
        assert_eq!(count_tokens(model, text), tokens, "{model}: {text}");
    }
    // Text that a user wrote, not the end of one.
    assert!(count_tokens("gpt-4o", "<|endoftext|>") > Some(1));
}
