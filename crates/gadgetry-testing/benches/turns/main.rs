//! Requests, tokens and time that a reply with dependencies saves. `cargo xtask bench turns` prints them.
//!
//! The same ten tasks, with the same gadgets, questions, results and answers, in three ways:
//!
//! * one call a turn, through the provider's interface;
//! * as many calls a turn as need nothing of each other, through the provider's interface;
//! * one reply of blocks, in which a call names the calls that it depends on, and parts of their results as `${id/pointer}`.
//!
//! Time is virtual: it is the same on every machine. With a path as its argument the bench also draws the chains.

#![expect(clippy::print_stdout, reason = "a bench prints")]
#![expect(clippy::cast_precision_loss, reason = "the counts are small")]

mod meter;
mod picture;
mod tasks;

use std::collections::BTreeMap;
use std::time::Duration;

use gadgetry::proto::run::Tools;
use gadgetry::{Agent, AgentBuilder};
use gadgetry_testing::{MockGadget, call, elapsed, paused, reply};
use meter::{FIRST_TOKEN, Metered, Part, TOKENS_A_SECOND};
use serde_json::Value;
use tasks::{Call, Shape, TASKS, TOOLS, Task};

/// The time that each gadget takes.
const GADGET: Duration = Duration::from_millis(300);

/// One call a turn ÷ one reply with dependencies, on chains.
const FEWER_REQUESTS: f64 = 2.0;
/// Percent of the tokens of one call a turn that one reply with dependencies saves, on chains.
const FEWER_TOKENS: f64 = 30.0;

#[derive(Clone, Copy)]
enum Way {
    OneCall,
    Parallel,
    Dependencies,
}

const WAYS: [(Way, &str); 3] = [
    (Way::OneCall, "one call a turn"),
    (Way::Parallel, "parallel calls"),
    (Way::Dependencies, "one reply with dependencies"),
];

/// What a task, or several, took in one way.
#[derive(Clone, Copy, Debug, Default)]
struct Cost {
    requests: u64,
    input: u64,
    output: u64,
    took: Duration,
}

impl Cost {
    fn add(&mut self, other: Self) {
        self.requests += other.requests;
        self.input += other.input;
        self.output += other.output;
        self.took += other.took;
    }

    fn tokens(self) -> u64 {
        self.input + self.output
    }
}

fn main() {
    let costs = TASKS
        .iter()
        .map(|task| (task, WAYS.map(|(way, _)| paused(run(task, way)))));
    let costs: Vec<(&Task, [Cost; 3])> = costs.collect();
    println!(
        "\n### Ten tasks in three ways: requests / tokens in + out / seconds\n\n\
         A model of {} ms to the first token and {TOKENS_A_SECOND} tokens a second, gadgets of {} ms, four bytes for a token.\n",
        FIRST_TOKEN.as_millis(),
        GADGET.as_millis(),
    );
    println!(
        "| task | {} | {} | {} |\n|---|---|---|---|",
        WAYS[0].1, WAYS[1].1, WAYS[2].1
    );
    for (task, costs) in &costs {
        print_row(task.name, costs);
    }
    print_row("all ten", &sum(&costs, |_| true));
    let chains = sum(&costs, |shape| shape == Shape::Chain);
    print_row("chains of three", &chains);
    verdicts(&chains);
    // `cargo bench` passes an option of its own.
    let path = std::env::args().skip(1).find(|it| !it.starts_with('-'));
    if let Some(path) = path {
        std::fs::write(path, picture::draw(&WAYS.map(|(_, name)| name), &chains)).expect("a file");
    }
}

fn print_row(name: &str, costs: &[Cost; 3]) {
    let cells = costs.map(|cost| {
        let seconds = cost.took.as_secs_f64();
        format!(
            "{} / {} + {} / {seconds:.1}",
            cost.requests, cost.input, cost.output
        )
    });
    println!("| {name} | {} |", cells.join(" | "));
}

fn verdicts([one_call, _, dependencies]: &[Cost; 3]) {
    let requests = one_call.requests as f64 / dependencies.requests as f64;
    let saved = 100.0 * (1.0 - dependencies.tokens() as f64 / one_call.tokens() as f64);
    let seconds = one_call.took.as_secs_f64() / dependencies.took.as_secs_f64();
    let pass = |passed| if passed { "PASS" } else { "missed" };
    println!(
        "\n| chains of three, with dependencies next to one call a turn | | limit | |\n|---|---|---|---|"
    );
    let verdict = pass(requests >= FEWER_REQUESTS);
    println!("| times fewer requests | {requests:.1} | {FEWER_REQUESTS} | {verdict} |");
    let verdict = pass(saved >= FEWER_TOKENS);
    println!("| % fewer tokens | {saved:.0} | {FEWER_TOKENS} | {verdict} |");
    println!("| times faster | {seconds:.1} | | |");
}

fn sum(costs: &[(&Task, [Cost; 3])], wanted: impl Fn(Shape) -> bool) -> [Cost; 3] {
    let mut total = [Cost::default(); 3];
    for (_, costs) in costs.iter().filter(|(task, _)| wanted(task.shape)) {
        for (total, cost) in total.iter_mut().zip(costs) {
            total.add(*cost);
        }
    }
    total
}

/// Does a task. Every call must arrive with the parameters that its task has.
async fn run(task: &'static Task, way: Way) -> Cost {
    let model = Metered::new(replies(task, way));
    let tools = match way {
        Way::OneCall | Way::Parallel => Tools::Native,
        Way::Dependencies => Tools::Text,
    };
    let agent = gadgets(task, Agent::builder().model(model.clone()).tools(tools));
    let run = agent.ask(task.question).expect("the agent is well formed");
    let (answer, took) = elapsed(run.text()).await;
    let answer = answer.expect("the model answers");
    assert!(answer.ends_with(task.answer), "{}: {answer}", task.name);
    let counts = model.counts();
    Cost {
        requests: counts.requests,
        input: counts.input,
        output: counts.output,
        took,
    }
}

fn gadgets(task: &'static Task, mut agent: AgentBuilder) -> AgentBuilder {
    for tool in &TOOLS {
        let results: BTreeMap<String, &str> = task
            .calls
            .iter()
            .filter(|call| call.gadget == tool.name)
            .map(|call| (Value::Object(call.resolved(task)).to_string(), call.result))
            .collect();
        let gadget = MockGadget::builder(tool.name)
            .description(tool.description)
            .schema(tool.schema())
            .delay(GADGET)
            .returns_fn(move |parameters| {
                let result = results.get(&parameters.to_string());
                *result.unwrap_or_else(|| panic!("no call of the task has {parameters}"))
            });
        agent = agent.gadget(gadget.build());
    }
    agent
}

/// The replies of a model that makes the calls of a task in this way.
fn replies(task: &'static Task, way: Way) -> Vec<Vec<Part>> {
    let native = |call: &'static Call| Part::Call {
        id: call.id,
        name: call.gadget,
        input: Value::Object(call.resolved(task)).to_string(),
    };
    let mut replies: Vec<Vec<Part>> = match way {
        Way::OneCall => task.calls.iter().map(|call| vec![native(call)]).collect(),
        Way::Parallel => {
            let layers = task.layers().into_iter();
            layers
                .map(|layer| layer.into_iter().map(native).collect())
                .collect()
        }
        Way::Dependencies => {
            let blocks = task.calls.iter().map(block);
            let text = blocks
                .fold(reply(), gadgetry_testing::Reply::call)
                .written();
            vec![vec![Part::Text(text)]]
        }
    };
    replies.push(vec![Part::Text(task.answer.to_owned())]);
    replies
}

fn block(written: &'static Call) -> gadgetry_testing::MockCall {
    let mut block = call(written.gadget).id(written.id);
    for id in written.needs() {
        block = block.after(id);
    }
    for (name, value) in written.parameters {
        block = block.arg(name, *value);
    }
    block
}
