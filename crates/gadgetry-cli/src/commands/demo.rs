//! `gadgetry demo`: the main job on a small real task, with a scripted model.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use gadgetry::driver::Observer;
use gadgetry::proto::call::Outcome;
use gadgetry::proto::event::Event;
use gadgetry::proto::schema::GadgetSpec;
use gadgetry::proto::tags::CustomBlock;
use gadgetry::{Agent, AgentHandle, ExecutionContext, IntoGadget, ScriptedModel, from_fn};
use serde_json::{Value, json};

use crate::error::Error;
use crate::follow::verdict;
use crate::narrator::Narrator;
use crate::printer::Printer;
use crate::run_agent::run_agent;
use crate::timeline::Timeline;

const PROMPT: &str = "What is the total of the order? Use the discounts if there are any.";
const ORDERS: &str = "tea,2\nbread,3\njam,1\n";
const PRICES: &str = "bread,2.80\njam,4.50\ntea,6.25\n";

const FIRST_REPLY: &str =
    "<plan>Read the lists at the same time, then write the invoice from both.</plan>\
I'll read the order and the prices side by side, and the discounts while I am at it.

!!!GADGET_START:ReadFile:orders
!!!ARG:filePath
orders.csv
!!!GADGET_END
!!!GADGET_START:ReadFile:prices
!!!ARG:filePath
prices.csv
!!!GADGET_END
!!!GADGET_START:Invoice:invoice:orders,prices
!!!ARG:orders
${orders}
!!!ARG:prices
${prices}
!!!GADGET_END
!!!GADGET_START:ReadFile:discounts
!!!ARG:filePath
discounts.csv
!!!GADGET_END
!!!GADGET_START:Discount:discounted:invoice,discounts
!!!ARG:total
${invoice/total}
!!!ARG:discounts
${discounts}
!!!GADGET_END
";

const SECOND_REPLY: &str =
    "The total of the order is 25.40. There is no list of discounts, so nothing was taken off.\n";

pub(crate) async fn run(printer: &Printer) -> Result<(), Error> {
    let folder = tempfile::tempdir().map_err(|error| Error::machine(&error))?;
    for (name, content) in [("orders.csv", ORDERS), ("prices.csv", PRICES)] {
        std::fs::write(folder.path().join(name), content)
            .map_err(|error| Error::machine(&error))?;
    }
    let model: ScriptedModel = script().parse().map_err(Error::input)?;
    let run = Agent::builder()
        .model(model)
        .gadget(read_file(folder.path()))
        .gadget(invoice(folder.path()))
        .gadget(discount())
        .custom_block(CustomBlock::new("plan").description("What you are going to do."))
        .ask(PROMPT)
        .map_err(Error::input)?;
    let introduction = format!(
        "A scripted model, real gadgets on real files in a temporary folder; no key, no network.\n\nUser: {PROMPT}\n\n"
    );
    printer.text(&introduction);
    let show = Show {
        printer: printer.clone(),
        narrator: Narrator::of_everything(),
        timeline: Timeline::default(),
        handle: run.handle(),
        failed: None,
    };
    let finished = run_agent(run, None, show).await?;
    let (summary, show) = (finished.summary, finished.observer);
    if let Some(error) = show.failed {
        return Err(error);
    }
    let end = format!(
        "\nTimeline\n{}\n{} replies, ${:.2}\n",
        show.timeline.draw(),
        summary.iterations,
        summary.known_cost
    );
    printer.text(&end);
    verdict(&summary)
}

/// Prints what happens, and keeps it for the timeline.
struct Show {
    printer: Printer,
    narrator: Narrator,
    timeline: Timeline,
    handle: AgentHandle,
    /// Reason why stdout cannot be written; then the demo is stopped.
    failed: Option<Error>,
}

impl Observer for Show {
    fn event(&mut self, event: &Event) {
        self.timeline.event(event);
        if self.failed.is_none()
            && let Some(words) = self.narrator.narrate(event)
        {
            self.printer.text(&words);
            self.failed = self.printer.flush().err();
            if self.failed.is_some() {
                self.handle.cancel();
            }
        }
    }
}

/// The replies in small pieces, as a model streams them.
fn script() -> String {
    let mut chunks = Vec::new();
    for word in FIRST_REPLY.split_inclusive([' ', '\n', ':']) {
        chunks.push(json!(word));
        chunks.push(json!({ "delayMs": 8 }));
    }
    let first = json!({ "chunks": chunks });
    let expect = json!({ "contains": ["\"total\":25.4", "Result (discounted): "] });
    let second = json!({ "text": SECOND_REPLY, "expect": expect });
    format!("{first}\n{second}\n")
}

fn spec(name: &str, description: &str, parameters: &[(&str, &str)]) -> GadgetSpec {
    let properties: serde_json::Map<String, Value> = parameters
        .iter()
        .map(|(name, kind)| ((*name).to_owned(), json!({ "type": kind })))
        .collect();
    let required: Vec<&str> = parameters.iter().map(|(name, _)| *name).collect();
    GadgetSpec {
        name: name.to_owned(),
        description: description.to_owned(),
        parameters: json!({ "type": "object", "properties": properties, "required": required }),
        ..GadgetSpec::default()
    }
}

fn read_file(folder: &Path) -> impl IntoGadget + use<> {
    let folder = folder.to_owned();
    from_fn(
        spec("ReadFile", "Reads a file", &[("filePath", "string")]),
        move |parameters, _context| {
            let path = folder.join(parameters["filePath"].as_str().unwrap_or_default());
            async move {
                // A disk far away.
                tokio::time::sleep(Duration::from_millis(300)).await;
                match tokio::fs::read_to_string(&path).await {
                    Ok(content) => Outcome::ok(content),
                    Err(error) => Outcome::error(format!("{}: {error}", name(&path))),
                }
            }
        },
    )
}

fn invoice(folder: &Path) -> impl IntoGadget + use<> {
    let path = folder.join("invoice.txt");
    let parameters = [("orders", "string"), ("prices", "string")];
    let spec = spec(
        "Invoice",
        "Writes invoice.txt from an order and prices, both CSV",
        &parameters,
    );
    from_fn(spec, move |parameters, context| {
        write_invoice(path.clone(), parameters, context)
    })
}

async fn write_invoice(path: PathBuf, parameters: Value, context: ExecutionContext) -> Outcome {
    let rows = |name: &str| -> Vec<(String, f64)> {
        let rows = parameters[name].as_str().unwrap_or_default().lines();
        rows.filter_map(|row| row.split_once(','))
            .filter_map(|(item, number)| Some((item.to_owned(), number.trim().parse().ok()?)))
            .collect()
    };
    let prices = rows("prices");
    let mut lines = String::new();
    let mut total = 0.0;
    for (item, count) in rows("orders") {
        let Some((_, price)) = prices.iter().find(|(name, _)| *name == item) else {
            return Outcome::error(format!("no price for {item}"));
        };
        total += count * price;
        // Writing to a string cannot fail.
        let _ = writeln!(lines, "{item}: {count} x {price:.2}");
    }
    let total = (total * 100.0).round() / 100.0;
    let written = tokio::fs::write(&path, format!("{lines}total {total:.2}\n")).await;
    if context.report_cost(0.01).is_err() || written.is_err() {
        return Outcome::error("invoice.txt cannot be written");
    }
    Outcome::ok(json!({ "file": name(&path), "total": total }).to_string())
}

fn discount() -> impl IntoGadget {
    let parameters = [("total", "number"), ("discounts", "string")];
    from_fn(
        spec("Discount", "Takes discounts off a total", &parameters),
        |parameters, _context| async move { Outcome::ok(parameters["total"].to_string()) },
    )
}

fn name(path: &Path) -> String {
    path.file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}
