//! Programs that log their input, while the process that starts them is killed with `kill -9`: no call runs twice or without its
//! whole parameters.
//!
//! `GADGETRY_CHAOS_SEED` chooses the moments, and `GADGETRY_CHAOS_COMMAND_KILLS` their number.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::{Duration, Instant};

use gadgetry::command::CommandGadget;
use gadgetry::proto::schema::OnInterrupt;
use gadgetry::{Agent, GadgetSpec, Role};
use gadgetry_testing::{Cut, MockModel, reply};
use serde_json::{Value, json};

use super::victim::{FOLDER, drive, process};
use super::{TOO_LONG, finished, losses};

/// The name of the test that is the process.
const TEST: &str = "chaos::commands::the_process";

/// Kills, and the seed of their moments, unless the environment says otherwise.
const KILLS: usize = 300;
const SEED: u64 = 24;

/// Parameters that fill no pipe, and some that need more than one.
const SIZES: [usize; 3] = [1, 3_000, 150_000];

/// Writes the key and the whole input to a file of its own, which has its name only when it is complete. Nothing ends the program
/// when its parent is killed, so a file that is not whole had no whole input.
const SCRIPT: &str =
    r#"{ echo "$GADGETRY_IDEMPOTENCY_KEY"; cat; } > "$0/part.$$" && mv "$0/part.$$" "$0/done.$$""#;

/// Calls of each reply: a gadget, an id, and the call before it.
const REPLIES: [&[(&str, &str)]; 3] = [
    &[
        ("Once", "a"),
        ("Once", "b:a"),
        ("Again", "c"),
        ("Once", "d"),
    ],
    &[("Again", "e"), ("Once", "f:e"), ("Once", "g")],
    &[
        ("Once", "h"),
        ("Again", "i:h"),
        ("Once", "j"),
        ("Once", "k"),
    ],
];

fn id(call: &str) -> &str {
    call.split(':').next().unwrap()
}

/// The text that a call has as its parameter.
fn text(id: &str) -> String {
    let size = SIZES[usize::from(id.as_bytes()[0]) % SIZES.len()];
    format!("{id} begins {} {id} ends", "x".repeat(size))
}

fn calls() -> impl Iterator<Item = (&'static str, &'static str)> {
    let calls = REPLIES.iter().flat_map(|calls| calls.iter());
    calls.map(|(gadget, call)| (*gadget, id(call)))
}

fn model() -> MockModel {
    let model = MockModel::builder().unchecked();
    let model = model.when(|any| any).replies_by(|request| {
        let said = request.messages.iter();
        let said = said.filter(|message| message.role == Role::Assistant);
        let Some(calls) = REPLIES.get(said.count()) else {
            return reply().text("All is done.");
        };
        let blocks = calls.iter().map(|(gadget, call)| {
            let text = text(id(call));
            format!("!!!GADGET_START:{gadget}:{call}\n!!!ARG:text\n{text}\n!!!GADGET_END\n")
        });
        reply()
            .text(blocks.collect::<String>())
            .chunks(Cut::Every(5_000))
    });
    model.build()
}

fn inputs(folder: &Path) -> PathBuf {
    folder.join("inputs")
}

fn agent(folder: &Path) -> Agent {
    let gadget = |name: &str, on_interrupt| {
        let spec = GadgetSpec {
            name: name.to_owned(),
            parameters: json!({
                "type": "object",
                "properties": { "text": { "type": "string" } },
                "required": ["text"],
            }),
            on_interrupt,
            ..GadgetSpec::default()
        };
        let inputs = inputs(folder).to_str().unwrap().to_owned();
        CommandGadget::new(spec, "sh", ["-c", SCRIPT, &inputs])
    };
    let agent = Agent::builder().model(model());
    let agent = agent.gadget(gadget("Once", OnInterrupt::Fail));
    let agent = agent.gadget(gadget("Again", OnInterrupt::Rerun));
    agent.without_retry().build().unwrap()
}

/// The process. As a test it does nothing.
#[test]
fn the_process() {
    let Some(folder) = env::var_os(FOLDER).map(PathBuf::from) else {
        return;
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let code = runtime.unwrap().block_on(drive(&folder, agent(&folder)));
    std::process::exit(code);
}

/// Moments that are the same for the same seed.
struct Moments(u64);

impl Moments {
    fn next(&mut self, limit: Duration) -> Duration {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let share = u32::try_from(self.0 >> 33).unwrap();
        limit.mul_f64(f64::from(share) / f64::from(u32::MAX >> 1))
    }
}

/// Waits for the end of a process, which is killed when `life` is over. Returns whether it ended by itself.
#[expect(
    clippy::disallowed_methods,
    reason = "waits for a process, and kills it at a moment in between"
)]
fn ends(process: &mut Child, life: Option<Duration>) -> bool {
    let began = Instant::now();
    loop {
        if let Some(status) = process.try_wait().unwrap() {
            assert!(status.success(), "{status}");
            return true;
        }
        assert!(began.elapsed() < TOO_LONG, "the run does not end");
        if life.is_some_and(|life| began.elapsed() >= life) {
            process.kill().unwrap();
            process.wait().unwrap();
            return false;
        }
        std::thread::sleep(Duration::from_micros(500));
    }
}

/// Key and input of each execution, once no program is running any more.
#[expect(
    clippy::disallowed_methods,
    reason = "waits for processes that are not children"
)]
fn executions(folder: &Path) -> Vec<(String, String)> {
    let began = Instant::now();
    loop {
        let names = fs::read_dir(inputs(folder)).unwrap();
        let names: Vec<_> = names.map(|entry| entry.unwrap().path()).collect();
        let is_part = |path: &PathBuf| path.to_str().unwrap().contains("part.");
        if !names.iter().any(is_part) {
            let read = names.iter().map(|path| {
                let content = fs::read_to_string(path).unwrap();
                let (key, input) = content.split_once('\n').unwrap();
                (key.to_owned(), input.to_owned())
            });
            return read.collect();
        }
        assert!(began.elapsed() < TOO_LONG, "a program does not end");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Checks what the programs of a run have logged. Returns the number of calls that ran.
async fn check(folder: &Path, what: &str) -> usize {
    let executions = executions(folder);
    let (_, again) = losses(folder).await;
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    let mut first: BTreeMap<&str, &str> = BTreeMap::new();
    for (key, input) in &executions {
        let call = calls().find(|(_, id)| {
            let read: Result<Value, _> = serde_json::from_str(input);
            read.is_ok_and(|read| read == json!({ "text": text(id) }))
        });
        let Some((gadget, id)) = call.filter(|_| input.lines().count() == 1) else {
            let bytes = input.len();
            panic!("{what}: {key} had {bytes} bytes of input that are no whole parameters");
        };
        let known = *first.entry(id).or_insert(key);
        assert_eq!(known, key, "{what}: {id} ran under two keys");
        let times = seen.entry(key).or_default();
        *times += 1;
        let restarts = again.get(key).copied().unwrap_or(0);
        assert!(
            gadget == "Again" || restarts == 0,
            "{what}: {id} was started again"
        );
        assert!(
            *times <= 1 + restarts,
            "{what}: {id} ran {times} times, and was started again {restarts} times"
        );
    }
    first.len()
}

fn number<T: std::str::FromStr>(variable: &str, otherwise: T) -> T {
    match env::var(variable) {
        Ok(set) => set.parse().ok().unwrap(),
        Err(_) => otherwise,
    }
}

fn new_folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(inputs(folder.path())).unwrap();
    folder
}

#[tokio::test]
async fn programs_run_once_and_with_their_whole_input_whenever_the_process_is_killed() {
    let kills = number("GADGETRY_CHAOS_COMMAND_KILLS", KILLS);
    let seed = number("GADGETRY_CHAOS_SEED", SEED);
    let mut moments = Moments(seed);
    let folder = new_folder();
    let began = Instant::now();
    assert!(ends(&mut process(folder.path(), "", TEST), None));
    let whole = began.elapsed();
    assert_eq!(check(folder.path(), "undisturbed").await, calls().count());
    let (mut killed, mut runs, mut ran) = (0, 0, 0);
    while killed < kills {
        let folder = new_folder();
        while !ends(
            &mut process(folder.path(), "", TEST),
            Some(moments.next(whole)),
        ) {
            killed += 1;
        }
        runs += 1;
        ran += check(folder.path(), &format!("seed {seed}, {killed} kills")).await;
        let finished = finished(agent(folder.path()), folder.path()).await;
        assert_eq!(finished.summary.answer, "All is done.");
    }
    // Kills that hit no program would prove nothing: calls that depend on an interrupted one do not run.
    let undisturbed = runs * calls().count();
    assert!(kills < KILLS || ran < undisturbed, "no program was hit");
}
