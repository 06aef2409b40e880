//! Results that are too long for the conversation, and the gadget that reads them inside the run.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "a test is about a few variants of many"
)]

use gadgetry_proto::convo::OutputStore;
use gadgetry_proto::convo::viewer::NAME;
use gadgetry_proto::event::EventKind;
use gadgetry_proto::media::{Media, MediaData, MediaKind};
use gadgetry_proto::message::Content;
use gadgetry_proto::run::PlanError;
use gadgetry_proto::schema::RegistryError;

use crate::support::sim::script::{Behaviour, Finish, Script, block, gadget};
use crate::support::sim::transcript::{check, lines};
use crate::support::sim::{Log, play};

const LIMIT: usize = 20;

/// Three lines, 29 characters.
const LONG: &str = "first line\nsecond line\nthird!";

fn limited(gadgets: impl IntoIterator<Item = Behaviour>) -> Script {
    let script = Script::default().with(|spec| spec.output_limit = Some(LIMIT));
    gadgets.into_iter().fold(script, Script::gadget)
}

fn big() -> Behaviour {
    gadget("Big").says(LONG)
}

/// The notices for results of these gadgets, in the order of their calls, and the ids in them.
fn notices(gadgets: &[&str]) -> Vec<(String, String)> {
    let mut store = OutputStore::default();
    let notices = gadgets.iter().map(|name| {
        let notice = store.limit(name, LONG.to_owned(), LIMIT);
        let id = store.outputs().last().expect("it was too long").id.clone();
        (notice, id)
    });
    notices.collect()
}

fn view(id: &str, arguments: &[(&str, &str)]) -> String {
    let mut all = vec![("id", id)];
    all.extend(arguments);
    block(&format!("{NAME}:v"), &all)
}

/// What the model reads of the call `v` of the viewer.
fn viewed(log: &Log) -> (&str, bool) {
    let content = log.history.iter().flat_map(|message| &message.content);
    let mut results = content.filter_map(|content| match content {
        Content::GadgetResult {
            invocation_id,
            text,
            is_error,
            ..
        } if invocation_id.as_str() == "v" => Some((text.as_str(), *is_error)),
        _ => None,
    });
    results.next().expect("the viewer was called")
}

#[test]
fn a_long_result_is_kept_and_the_viewer_reads_it() {
    let (notice, id) = notices(&["Big"]).remove(0);
    assert_eq!(
        notice,
        format!(
            "[Gadget \"Big\" returned too much data: 29 bytes, 3 lines. \
             Use GadgetOutputViewer with id \"{id}\" to read it]"
        )
    );
    let script = limited([big().costs(0.5)])
        .reply(block("Big:a", &[]))
        .reply(view(&id, &[("limit", "2-2")]));
    check(
        &script,
        &[
            "0 ask 1",
            "0 call a Big",
            "0 start a {}",
            &format!("0 ok a $0.5: {LONG}"),
            &format!("  told Result (a): {notice}"),
            "0 ask 2",
            "0 call v GadgetOutputViewer",
            "0 ok v: [Mode: line | Showing 1 of 3 lines]\nsecond line",
            "  told Result (v): [Mode: line | Showing 1 of 3 lines]",
            "  told second line",
            "0 ask 3",
            "0 text fin",
            "0 end completed after 3 $0.5: fin",
        ],
    );
    // Whoever watches sees it start, but nobody has to run it.
    let log = play(&script);
    let started = log.events().filter(|event| {
        matches!(&event.kind, EventKind::GadgetStart { gadget_name, .. } if gadget_name == NAME)
    });
    assert_eq!(started.count(), 1);
}

#[test]
fn a_result_of_the_exact_limit_is_shown_whole() {
    let fits = "é".repeat(LIMIT);
    let script = limited([gadget("Big").says(&fits)]).reply(block("Big:a", &[]));
    assert_eq!(play(&script).told(), [("a", fits.as_str())]);
    let over = "é".repeat(LIMIT + 1);
    let script = limited([gadget("Big").says(&over)]).reply(block("Big:a", &[]));
    assert!(play(&script).told()[0].1.starts_with("[Gadget \"Big\""));
}

#[test]
fn requests_to_the_viewer_and_its_answers() {
    let (_, id) = notices(&["Big"]).remove(0);
    let bad = |arguments: &[(&'static str, &'static str)]| (id.clone(), arguments.to_vec(), true);
    let good = |arguments: &[(&'static str, &'static str)]| (id.clone(), arguments.to_vec(), false);
    let cut = "[Mode: character | Showing chars 1-20 of 29 (truncated due to viewer size limit)]";
    for ((id, arguments, is_error), begins) in [
        (
            good(&[]),
            "[Mode: line | Showing 1 of 3 lines (truncated due to size limit)]",
        ),
        (good(&[("mode", "character")]), cut),
        (
            good(&[("limit", "-1")]),
            "[Mode: line | Showing 1 of 3 lines]\nthird!",
        ),
        (
            good(&[("patterns/0/regex", "^s")]),
            "[Mode: line | Showing 1 of 3 lines]\nsecond line",
        ),
        (
            good(&[("patterns/0/regex", "nothing")]),
            "No lines matched the filters.",
        ),
        ((format!(" {id} "), vec![], false), "[Mode: line"),
        (
            ("Big_00000000".to_owned(), vec![], true),
            "Error: No stored output with id \"Big_00000000\". Available IDs: Big_",
        ),
        (
            bad(&[("patterns/0/regex", "(")]),
            "Error: patterns/0/regex cannot be used:",
        ),
        (bad(&[("limit", "some")]), "Error: "),
        (
            bad(&[("mode", "sideways")]),
            "Error: Invalid parameters for 'GadgetOutputViewer':",
        ),
        (
            bad(&[("patterns/0/regex", "a"), ("patterns/0/before", "-1")]),
            "Error: Invalid parameters for 'GadgetOutputViewer':",
        ),
        (
            bad(&[("patterns/0/include", "true")]),
            "Error: Invalid parameters for 'GadgetOutputViewer':",
        ),
        (
            bad(&[("mode", "character"), ("patterns/0/regex", "a")]),
            "Error: patterns are only supported in mode \"line\".",
        ),
    ] {
        let script = limited([big()])
            .reply(block("Big:a", &[]))
            .reply(view(&id, &arguments));
        let log = play(&script);
        let (text, failed) = viewed(&log);
        assert!(text.starts_with(begins), "{id} {arguments:?}: {text}");
        assert_eq!(failed, is_error, "{id} {arguments:?}: {text}");
    }
    // Without the id it cannot know.
    let script = limited([big()]).reply(block(&format!("{NAME}:v"), &[("mode", "line")]));
    assert!(viewed(&play(&script)).1);
}

/// Its own output is as long as the limit at most, but for the lines that say what it shows; it is never kept again.
#[test]
fn the_viewer_is_not_limited_by_keeping_its_output() {
    let (_, id) = notices(&["Big"]).remove(0);
    let script = limited([big()])
        .reply(block("Big:a", &[]))
        .reply(view(&id, &[("mode", "character")]));
    let log = play(&script);
    let (text, _) = viewed(&log);
    let shown = text
        .splitn(3, '\n')
        .nth(2)
        .expect("two lines say what is shown");
    assert_eq!(shown, &LONG[..LIMIT]);
}

/// A viewer in the reply of the call comes too early: the result is kept when it is told.
#[test]
fn a_result_can_be_viewed_from_the_next_reply_on() {
    let (_, id) = notices(&["Big"]).remove(0);
    let call = format!("{NAME}:v:a");
    let script = limited([big()]).reply(block("Big:a", &[]) + &block(&call, &[("id", &id)]));
    let log = play(&script);
    assert_eq!(
        viewed(&log),
        (
            format!("Error: No stored output with id \"{id}\". Available IDs: (none)").as_str(),
            true
        )
    );
}

/// Ids do not depend on which gadget is done first.
#[test]
fn results_are_kept_in_call_order() {
    let expected = notices(&["Slow", "Big", "Big"]);
    let script = limited([big(), gadget("Slow").says(LONG).takes(50)])
        .reply(block("Slow:a", &[]) + &block("Big:b", &[]) + &block("Big:c", &[]));
    let log = play(&script);
    let told: Vec<&str> = log.told().into_iter().map(|(_, text)| text).collect();
    let expected: Vec<&str> = expected.iter().map(|(notice, _)| notice.as_str()).collect();
    assert_eq!(told, expected);
}

#[test]
fn dependents_and_references_get_the_whole_result() {
    let whole = gadget("Echo").answers(|start| {
        let text = start.parameters["text"].as_str().unwrap_or_default();
        format!(
            "{} {}",
            text.len(),
            start.dependencies.values().next().map_or(0, |it| it.len())
        )
    });
    let script = limited([big(), whole])
        .reply(block("Big:a", &[]) + &block("Echo:b:a", &[("text", "${a}")]))
        .reply(block("Echo:c:a", &[("text", "${a}")]));
    let log = play(&script);
    assert_eq!(log.told()[1..], [("b", "29 29"), ("c", "29 29")]);
}

#[test]
fn errors_are_limited_too() {
    let script = limited([gadget("Big").fails(LONG)]).reply(block("Big:a", &[]));
    let log = play(&script);
    assert_eq!(log.told(), [("a", notices(&["Big"])[0].0.as_str())]);
    let found = lines(&log);
    assert!(found.contains(&format!("0 error a: {LONG}")), "{found:#?}");
}

#[test]
fn the_viewer_is_there_only_where_something_can_be_kept() {
    let unknown = "Error: Gadget 'GadgetOutputViewer' not found.";
    let call = view("Big_00000000", &[]);
    let system = |log: &Log| format!("{:?}", log.opening);
    let off = play(&Script::default().gadget(big()).reply(call.clone()));
    assert!(viewed(&off).0.starts_with(unknown), "{off:?}");
    assert!(!system(&off).contains(NAME));
    let on = play(&limited([big()]).reply(call));
    assert!(viewed(&on).0.starts_with("Error: No stored output"));
    assert!(system(&on).contains(NAME));
}

/// There is no viewer to read it, so nothing may be kept from the model.
#[test]
fn without_gadgets_nothing_is_limited() {
    let log = play(&limited([]).reply(block("Nix:v", &[])));
    let (text, _) = viewed(&log);
    assert!(text.starts_with("Error: Gadget 'Nix' not found."), "{text}");
    assert!(!format!("{:?}", log.opening).contains(NAME));
}

#[test]
fn a_gadget_with_the_name_of_the_viewer() {
    for name in [NAME, "gadgetoutputviewer"] {
        let script = limited([gadget(name)]);
        let error = script.try_plan().err();
        assert!(
            matches!(
                error,
                Some(PlanError::Viewer(RegistryError::Duplicate { .. }))
            ),
            "{error:?}"
        );
        // Without the limit it is a gadget like any other.
        let mut script = script.reply(block(&format!("{name}:a"), &[]));
        script.base.output_limit = None;
        let ok = format!("ok {name}");
        assert_eq!(play(&script).told(), [("a", ok.as_str())]);
    }
}

/// The run answers it by itself: nobody is asked, no gadget is there to be asked about.
#[test]
fn the_viewer_asks_for_no_decision() {
    let (_, id) = notices(&["Big"]).remove(0);
    let script = limited([big()])
        .with(|spec| {
            spec.asks.before_gadget = true;
            spec.asks.after_gadget = true;
        })
        .reply(block("Big:a", &[]))
        .reply(view(&id, &[]));
    let found = lines(&play(&script));
    let about = |it: &&String| it.contains(" question ") && it.contains(" v");
    assert_eq!(found.iter().filter(about).count(), 0, "{found:#?}");
}

#[test]
fn media_and_stickiness_reach_the_conversation() {
    let picture = Media {
        kind: MediaKind::Image,
        mime_type: "image/png".to_owned(),
        data: MediaData::Url("https://example.com/x.png".to_owned()),
        name: None,
    };
    let big = big()
        .shows(picture.clone())
        .with(|spec| spec.sticky_result = true);
    // Also in another case, and with a notice in the place of the text.
    let script = limited([big, gadget("Bell")])
        .reply(block("big:a", &[]) + &block("Bell:b", &[]))
        .reply_cut("So.", Finish::Stop);
    let log = play(&script);
    let content = log.history.iter().flat_map(|message| &message.content);
    let results: Vec<(&str, bool, &[Media])> = content
        .filter_map(|content| match content {
            Content::GadgetResult {
                invocation_id,
                sticky,
                media,
                ..
            } => Some((invocation_id.as_str(), *sticky, media.as_slice())),
            _ => None,
        })
        .collect();
    assert_eq!(
        results,
        [("a", true, &[picture.clone()][..]), ("b", false, &[])]
    );
    let told: Vec<&[Media]> = log
        .events()
        .filter_map(|event| match &event.kind {
            EventKind::GadgetResult { media, .. } => Some(media.as_slice()),
            _ => None,
        })
        .collect();
    assert_eq!(told, [&[picture][..], &[]]);
}
