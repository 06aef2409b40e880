//! The pages of `docs/guide`. Their code is compiled and run as doc tests.

macro_rules! pages {
    ($($page:ident = $path:literal;)*) => {$(
        #[doc = include_str!(concat!("../../../docs/guide/", $path))]
        mod $page {}
    )*};
}

pages! {
    getting_started = "getting-started.md";
    errors = "errors.md";
    state = "state.md";
    typed_answers = "typed-answers.md";
    multi_agent = "multi-agent.md";
    knowledge = "knowledge.md";
    migration = "migration.md";
    troubleshooting = "troubleshooting.md";
    models = "models.md";
    gadgets = "gadgets.md";
    agents = "agents.md";
    hooks = "hooks.md";
    approvals = "approvals.md";
    testing = "testing.md";
    custom_blocks = "custom-blocks.md";
    block_format = "block-format.md";
    durable_runs = "durable-runs.md";
    skills = "skills.md";
    costs_and_budgets = "costs-and-budgets.md";
    weak_models = "weak-models.md";
    acp = "acp.md";
    chat_screens = "chat-screens.md";
}
