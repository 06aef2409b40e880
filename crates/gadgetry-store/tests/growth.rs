//! The space and the rows of a conversation grow with what is said in it, not with its square.

use futures_util::StreamExt as _;
use gadgetry::journal::Journal as _;
use gadgetry::{Agent, Conversation, Event, GadgetSpec, Outcome, ScriptedModel, from_fn};
use gadgetry_store::SqliteJournal;
use rusqlite::Connection;

use crate::journal::{Place, id};

/// An agent with a long system prompt, whose gadget returns more than a conversation holds.
fn agent() -> Agent {
    let turn = concat!(
        r#"{"text": "!!!GADGET_START:Long\n!!!GADGET_END"}"#,
        "\n",
        r#"{"text": "An answer of some words."}"#,
        "\n"
    );
    let model: ScriptedModel = turn.repeat(200).parse().unwrap();
    let long = GadgetSpec {
        name: "Long".to_owned(),
        ..GadgetSpec::default()
    };
    let count = std::sync::atomic::AtomicU32::default();
    let long = from_fn(long, move |_, _| {
        let count = count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        async move { Outcome::ok(format!("{count} ").repeat(2000)) }
    });
    Agent::builder()
        .model(model)
        .system("Be brief. ".repeat(400))
        .output_limit_percent(0.1)
        .gadget(long)
        .build()
        .unwrap()
}

/// A conversation of this many runs.
async fn talk(journal: &SqliteJournal, runs: usize) {
    let agent = agent();
    let mut conversation = Conversation::default();
    for run in 0..runs {
        let durable = agent.durable(journal).run_id(format!("talk.{run}"));
        let run = durable
            .after(conversation)
            .ask(format!("Message {run}"))
            .await;
        conversation = Conversation::from(run.unwrap().finish().await.unwrap());
    }
    journal.flush().await;
}

fn number(journal: &SqliteJournal, sql: &str) -> i64 {
    let connection = Connection::open(journal.path()).unwrap();
    connection.query_row(sql, (), |row| row.get(0)).unwrap()
}

/// Bytes of the pages in use.
fn bytes(journal: &SqliteJournal) -> i64 {
    number(
        journal,
        "SELECT (SELECT page_count FROM pragma_page_count()) * page_size FROM pragma_page_size()",
    )
}

const ITEMS: &str = "SELECT count(*) FROM items";
const VALUES: &str = "SELECT count(*) FROM long_values";

#[tokio::test]
async fn a_turn_costs_the_same_in_a_long_conversation() {
    let mut bytes_of = Vec::new();
    let mut items_of = Vec::new();
    for runs in [20, 40, 80] {
        let place = Place::new();
        let journal = place.open();
        talk(&journal, runs).await;
        bytes_of.push(bytes(&journal));
        items_of.push(number(&journal, ITEMS));
    }
    let [few, more, most] = bytes_of[..] else {
        panic!("{bytes_of:?}")
    };
    let (first, second) = ((more - few) / 20, (most - more) / 40);
    // Pages are counted, so there is some slack.
    assert!(
        second < first + first / 10,
        "{first}, then {second} bytes a turn"
    );
    assert!(second < 20_000, "{second} bytes a turn");
    let added = (items_of[1] - items_of[0], items_of[2] - items_of[1]);
    assert_eq!(added.1, 2 * added.0, "{items_of:?}");
}

#[tokio::test]
async fn each_message_is_written_down_once() {
    for runs in [10, 40] {
        let place = Place::new();
        let journal = place.open();
        talk(&journal, runs).await;
        let stored = number(&journal, ITEMS).unsigned_abs();
        assert_eq!(journal.items_written(), stored, "{runs} runs");
        assert!(stored > 3 * runs as u64, "{stored} items");
    }
}

#[tokio::test]
async fn several_conversations_are_written_down_once() {
    let place = Place::new();
    let journal = place.open();
    let agent = agent();
    let ask = async |conversation: &Conversation, name: &str| {
        let durable = agent.durable(&journal).run_id(name);
        let run = durable.after(conversation.clone()).ask(name).await;
        Conversation::from(run.unwrap().finish().await.unwrap())
    };
    let mut talks = [Conversation::default(), Conversation::default()];
    for turn in 0..6 {
        for (index, talk) in talks.iter_mut().enumerate() {
            *talk = ask(talk, &format!("talk{index}.{turn}")).await;
        }
    }
    let stored = || number(&journal, ITEMS).unsigned_abs();
    assert_eq!(journal.items_written(), stored());

    // A fork has its beginning from the conversation before, which goes on after that.
    let fork = Conversation::from(talks[0].messages()[..4].to_vec());
    ask(&fork, "fork").await;
    let last = ask(&talks[0], "talk0.6").await;
    let header = journal.header(&id("talk0.6")).await.unwrap();
    assert_eq!(
        header.conversation[..],
        last.messages()[..header.conversation.len()]
    );
    assert_eq!(header.outputs, *talks[0].outputs());

    // What was written down before may be removed meanwhile.
    for run in journal.runs().await.unwrap() {
        journal.forget(&run.id).await.unwrap();
    }
    assert_eq!(stored(), 0);
    ask(&last, "talk0.7").await;
    let header = journal.header(&id("talk0.7")).await.unwrap();
    assert_eq!(
        header.conversation[..last.messages().len()],
        *last.messages()
    );
    assert_eq!(header.outputs, *last.outputs());
}

#[tokio::test]
async fn runs_are_played_again_with_each_message_read_once() {
    let check = async |runs: usize| {
        let place = Place::new();
        let journal = place.open();
        talk(&journal, runs).await;
        let mut replay = journal.replay();
        let mut again = Vec::new();
        for run in (0..runs).chain([1]) {
            let id = id(&format!("talk.{run}"));
            let mut of_run = Vec::new();
            let mut keep = |event: &Event| of_run.push(event.clone());
            let damage = replay.run(&id, &mut keep).await.unwrap();
            assert!(damage.is_none(), "{id}: {damage:?}");
            let events = journal.events(&id, 0).await.unwrap();
            let events: Vec<Event> = events.map(Result::unwrap).collect().await;
            assert_eq!(of_run, events, "{id}");
            again.push(of_run);
        }
        assert_eq!(again[1], again[runs]);
        // The conversation of an earlier run is the beginning of the last one's.
        (replay.items_read(), number(&journal, ITEMS).unsigned_abs())
    };
    for runs in [10, 40] {
        let (read, stored) = check(runs).await;
        assert_eq!(read, stored, "{runs} runs");
    }
}

#[tokio::test]
async fn a_removed_run_leaves_what_others_need() {
    let place = Place::new();
    let journal = place.open();
    talk(&journal, 6).await;
    let header = async |run: &str| journal.header(&id(run)).await.unwrap();
    let last = header("talk.5").await;
    assert!(last.conversation.len() > 15 && last.outputs.outputs().len() == 5);
    let (items, values) = (number(&journal, ITEMS), number(&journal, VALUES));

    // The messages of the earlier runs are the beginning of the last one's.
    for run in ["talk.0", "talk.3"] {
        journal.forget(&id(run)).await.unwrap();
    }
    assert_eq!(number(&journal, ITEMS), items);
    assert_eq!(header("talk.5").await, last);
    let prompt = journal.prompt(&id("talk.5")).await.unwrap();
    assert_eq!(prompt.as_ref(), last.conversation.last());
    let before = header("talk.2").await;
    for run in ["talk.5", "talk.4"] {
        journal.forget(&id(run)).await.unwrap();
    }
    assert!(number(&journal, ITEMS) < items);
    assert!(number(&journal, VALUES) <= values);
    assert_eq!(header("talk.2").await, before);
    for run in ["talk.1", "talk.2"] {
        journal.forget(&id(run)).await.unwrap();
    }
    let tables = "SELECT (SELECT count(*) FROM items) + (SELECT count(*) FROM long_values)
                  + (SELECT count(*) FROM long_values_of_item) + (SELECT count(*) FROM entries)";
    assert_eq!(number(&journal, tables), 0);
}

#[tokio::test]
async fn runs_are_listed_by_the_beginning_of_their_names() {
    let place = Place::new();
    let journal = place.open();
    for name in ["a.1", "a.2", "ab.1", "b"] {
        let run = agent()
            .durable(&journal)
            .run_id(name)
            .ask(format!("About {name}"))
            .await;
        run.unwrap().finish().await.unwrap();
    }
    let check = async |beginning: &str, expected: &[&str]| {
        let runs = journal.runs_named(beginning).await.unwrap();
        let mut names: Vec<_> = runs.iter().map(|run| run.id.as_str()).collect();
        names.sort_unstable();
        assert_eq!(names, expected, "{beginning:?}");
    };
    check("a.", &["a.1", "a.2"]).await;
    check("a", &["a.1", "a.2", "ab.1"]).await;
    check("", &["a.1", "a.2", "ab.1", "b"]).await;
    check("c", &[]).await;
    assert_eq!(journal.runs().await.unwrap().len(), 4);
    // A list needs no header, so it reads none.
    let connection = Connection::open(journal.path()).unwrap();
    connection
        .execute("UPDATE headers SET json = ''", ())
        .unwrap();
    let prompt = journal.run(&id("b")).await.unwrap().prompt;
    assert_eq!(prompt.as_deref(), Some("About b"));
}
