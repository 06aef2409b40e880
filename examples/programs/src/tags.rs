//! Custom tags: sources as events, thoughts removed, a tag replaced by text, a word removed everywhere.

use gadgetry::{Agent, CustomBlock, Delta, EventKind, Model};

use crate::Error;

/// Returns the visible answer, and the sources.
pub(crate) async fn read(model: impl Model + 'static) -> Result<(String, Vec<String>), Error> {
    let agent = Agent::builder()
        .model(model)
        .custom_block(
            CustomBlock::new("citation").description("Name the source of a fact in `source`"),
        )
        .custom_block(CustomBlock::new("think").suppress())
        .custom_block(
            CustomBlock::new("money")
                .map(|block| Some(vec![Delta::text(format!("{} EUR", block.content))])),
        );
    let mut sources = Vec::new();
    let run = agent.ask("What does the bridge cost, and how do you know?")?;
    let finished = run
        .on_event(|event| {
            if let EventKind::CustomBlock(block) = &event.kind {
                sources.extend(
                    block
                        .attrs
                        .get("source")
                        .and_then(|it| it.as_str())
                        .map(str::to_owned),
                );
            }
        })
        .await?;
    Ok((finished.summary.answer, sources))
}

#[tokio::main]
pub(crate) async fn main() -> Result<(), Error> {
    println!("{:?}", read(gadgetry::model("haiku")?).await?);
    Ok(())
}
