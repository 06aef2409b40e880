//! Files that an editor has open.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use gadgetry_builtins::{Builtins, Editor, EditorAnswer, Workspace};
use serde_json::json;

use crate::stage::Stage;

/// An editor with files open. It leaves out how lines end, and writes what it has opened.
#[derive(Debug, Default)]
struct Open {
    texts: Mutex<BTreeMap<PathBuf, String>>,
    /// Whether it writes other files, too.
    writes_all: bool,
}

impl Editor for Open {
    fn read(&self, path: PathBuf) -> EditorAnswer<'_, Option<String>> {
        Box::pin(async move { self.texts.lock().unwrap().get(&path).cloned() })
    }

    fn write(&self, path: PathBuf, text: String) -> EditorAnswer<'_, bool> {
        Box::pin(async move {
            let mut texts = self.texts.lock().unwrap();
            let is_open = self.writes_all || texts.contains_key(&path);
            if is_open {
                texts.insert(path, text);
            }
            is_open
        })
    }
}

#[tokio::test]
async fn files_are_read_and_written_as_the_editor_has_them() {
    let editor = Arc::new(Open::default());
    let stage = Stage::with(|builtins| {
        let root = builtins.workspace().root().to_owned();
        let workspace = Workspace::open(root).unwrap().with_editor(editor.clone());
        Builtins::of(Arc::new(workspace))
    });
    let root = stage.work().canonicalize().unwrap();
    let open = |path: &str, text: &str| {
        let mut texts = editor.texts.lock().unwrap();
        texts.insert(root.join(path), text.to_owned());
    };
    let in_editor = |path: &str| editor.texts.lock().unwrap().get(&root.join(path)).cloned();
    let check = async |name, parameters, expected| stage.check(name, parameters, expected).await;
    open("a.txt", "one\nunsaved\nthree\n");
    check(
        "ReadFile",
        json!({ "filePath": "a.txt" }),
        Ok("path=a.txt\n\none\nunsaved\nthree\n"),
    )
    .await;
    check(
        "ReadFile",
        json!({ "filePath": "a.txt", "startLine": 2, "endLine": 2 }),
        Ok("path=a.txt lines=2-2\n\nunsaved\n"),
    )
    .await;
    let edit = json!({ "filePath": "a.txt", "search": "unsaved", "replace": "edited" });
    let edited = stage.call("EditFile", edit).await.unwrap();
    assert!(edited.contains("-unsaved\n+edited\n"), "{edited}");
    assert_eq!(in_editor("a.txt").as_deref(), Some("one\nedited\nthree\n"));
    // The editor saves when it likes.
    assert_eq!(stage.content("a.txt"), "one\ntwo\nthree\n");
    let undone = stage.builtins.workspace().undo().unwrap().unwrap();
    assert_eq!(undone.path.to_string(), "a.txt");
    assert_eq!(in_editor("a.txt").as_deref(), Some("one\nunsaved\nthree\n"));
    // Files that it does not have open are on disk.
    let write = json!({ "filePath": "new/b.txt", "content": "b" });
    check(
        "WriteFile",
        write,
        Ok("path=new/b.txt\n\nWrote 1 byte (new file)"),
    )
    .await;
    assert_eq!(stage.content("new/b.txt"), "b");
    fs::write(stage.work().join("crlf.txt"), "a\r\nb\r\n").unwrap();
    open("crlf.txt", "a\nb\n");
    check(
        "ReadFile",
        json!({ "filePath": "crlf.txt" }),
        Ok("path=crlf.txt\n\na\r\nb\r\n"),
    )
    .await;
}

/// What the editor would do, it is not asked for outside of the workspace, nor for the files of Git.
#[tokio::test]
async fn an_editor_leads_nowhere_else() {
    let editor = Arc::new(Open {
        writes_all: true,
        ..Open::default()
    });
    let stage = Stage::with(|builtins| {
        let root = builtins.workspace().root().to_owned();
        let workspace = Workspace::open(root).unwrap().with_editor(editor.clone());
        Builtins::of(Arc::new(workspace))
    });
    let secret = stage.outside().join("secret.txt").canonicalize().unwrap();
    editor
        .texts
        .lock()
        .unwrap()
        .insert(secret, "of the editor".to_owned());
    #[cfg(unix)]
    std::os::unix::fs::symlink(stage.outside(), stage.work().join("link")).unwrap();
    for path in [
        "../outside/secret.txt",
        "link/secret.txt",
        ".git/hooks/pre-commit",
        "nested/.git/config",
    ] {
        let write = json!({ "filePath": path, "content": "x" });
        assert!(stage.call("WriteFile", write).await.is_err(), "{path}");
        let read = stage.call("ReadFile", json!({ "filePath": path })).await;
        assert!(read.is_err(), "{path}: {read:?}");
    }
    assert_eq!(editor.texts.lock().unwrap().len(), 1);
    let write = json!({ "filePath": "in/it.txt", "content": "x" });
    stage.call("WriteFile", write).await.unwrap();
    assert_eq!(editor.texts.lock().unwrap().len(), 2);
}
