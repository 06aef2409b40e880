//! Pictures of the conversation, in `docs/guide/screens`: painted into a terminal, and drawn from its cells.
//!
//! With `GADGETRY_WRITE_PICTURE` the pictures are written, as `cargo xtask picture` does; without it they are compared.

mod scene;
mod scenes;
mod svg;

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::path::Path;

use scene::Scene;
use scenes::SCENES;

/// Set by `cargo xtask picture`.
const WRITE: &str = "GADGETRY_WRITE_PICTURE";
/// Bytes of all pictures at most.
const ALL: u64 = 400_000;

#[test]
fn the_pictures_show_the_conversation_of_today() {
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide");
    let folder = guide.join("screens");
    let page = fs::read_to_string(guide.join("chat-screens.md")).expect("the page");
    let mut known = BTreeSet::new();
    let mut stale = Vec::new();
    for (name, title, size, palette, play) in SCENES {
        let mut scene = Scene::new(*size, *palette);
        play(&mut scene);
        let picture = svg::draw(scene.terminal.screen(), title, *palette);
        let file = format!("{name}.svg");
        if env::var_os(WRITE).is_some() {
            fs::write(folder.join(&file), picture).expect("the picture is written");
        } else if fs::read_to_string(folder.join(&file)).ok() != Some(picture) {
            stale.push(*name);
        }
        let shown = format!("![{title}](screens/{file})");
        assert!(
            page.contains(&shown),
            "docs/guide/chat-screens.md lacks {shown}"
        );
        known.insert(file);
    }
    assert!(
        stale.is_empty(),
        "{stale:?} look otherwise: look at them after `cargo xtask picture`"
    );
    let mut bytes = 0;
    for entry in fs::read_dir(folder).expect("the pictures").flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        assert!(
            known.contains(&name),
            "no scene draws docs/guide/screens/{name}"
        );
        bytes += entry.metadata().expect("a file").len();
    }
    assert!(bytes < ALL, "the pictures have {bytes} bytes");
}
