//! `TodoWrite`.

use serde_json::json;

use crate::stage::Stage;

/// Claude Code, opencode, `update_plan` of Codex, and what else models write of a list of steps.
#[tokio::test]
async fn steps_are_read_as_models_write_them() {
    let stage = Stage::new();
    let check = async |parameters, expected| stage.check("TodoWrite", parameters, expected).await;
    check(
        json!({ "todos": [{ "content": "a\nb", "status": "completed" }, { "content": "c" }] }),
        Ok("1 of 2 done\n[x] a b\n[ ] c\n"),
    )
    .await;
    let claude = json!({ "content": "Fix it", "status": "in_progress", "activeForm": "Fixing it" });
    check(
        json!({ "todos": [claude] }),
        Ok("0 of 1 done\n[>] Fix it\n"),
    )
    .await;
    let opencode =
        json!({ "id": "1", "content": "Fix it", "status": "cancelled", "priority": "high" });
    check(
        json!({ "todos": [opencode] }),
        Ok("0 of 1 done\n[-] Fix it\n"),
    )
    .await;
    let codex = json!({ "step": "Fix it", "status": "completed" });
    check(
        json!({ "explanation": "now", "plan": [codex] }),
        Ok("1 of 1 done\n[x] Fix it\n"),
    )
    .await;
    check(
        json!({ "todos": [{ "description": "Fix it", "status": "pending" }] }),
        Ok("0 of 1 done\n[ ] Fix it\n"),
    )
    .await;
    check(json!({ "todos": [] }), Ok("0 of 0 done\n")).await;
    check(
        json!({ "todos": vec![json!({ "content": "x" }); 101] }),
        Err(""),
    )
    .await;
    check(
        json!({ "steps": ["x"] }),
        Err("todos: the list of all steps is missing"),
    )
    .await;
    check(
        json!({ "todos": [{ "status": "pending" }] }),
        Err("todos.0.content: the text of the step is missing"),
    )
    .await;
}
