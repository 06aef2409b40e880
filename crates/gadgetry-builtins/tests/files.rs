//! Gadgets about files.

use std::fs;
use std::sync::Arc;

use gadgetry::proto::prompt::parameter_list;
use gadgetry::proto::schema::Registry;
use gadgetry::{CommandLine, Permission, Subject};
use gadgetry_builtins::{Builtins, FileError};
use serde_json::json;

use crate::stage::Stage;

#[tokio::test]
async fn files_are_read() {
    let stage = Stage::new();
    let write = |name: &str, bytes: &[u8]| fs::write(stage.work().join(name), bytes).unwrap();
    write("zero", b"a\0b");
    write("empty", b"");
    write("no-newline", b"x");
    write("latin", b"caf\xe9");
    write("image.png", b"\x89PNG\r\n\x1a\n0000");
    write("large", &vec![b'x'; (1 << 20) + 1]);
    write("lines", "long line\n".repeat(200_000).as_bytes());
    let check = async |path: &str, from: Option<u32>, to: Option<u32>, expected| {
        let mut parameters = json!({ "filePath": path });
        for (key, line) in [("startLine", from), ("endLine", to)] {
            if let Some(line) = line {
                parameters[key] = line.into();
            }
        }
        stage.check("ReadFile", parameters, expected).await;
    };
    check("a.txt", None, None, Ok("path=a.txt\n\none\ntwo\nthree\n")).await;
    check(
        "./src/../a.txt",
        Some(2),
        None,
        Ok("path=a.txt lines=2-3\n\ntwo\nthree\n"),
    )
    .await;
    check("a.txt", None, Some(1), Ok("path=a.txt lines=1-1\n\none\n")).await;
    check(
        "a.txt",
        Some(2),
        Some(2),
        Ok("path=a.txt lines=2-2\n\ntwo\n"),
    )
    .await;
    check(
        "a.txt",
        Some(3),
        Some(99),
        Ok("path=a.txt lines=3-3\n\nthree\n"),
    )
    .await;
    check(
        "a.txt",
        Some(4),
        None,
        Err("a.txt has 3 lines; startLine is 4"),
    )
    .await;
    check(
        "a.txt",
        Some(3),
        Some(2),
        Err("startLine 3 is after endLine 2"),
    )
    .await;
    check("a.txt", Some(0), None, Err("Invalid parameters")).await;
    check("empty", None, None, Ok("path=empty\n\n")).await;
    check(
        "no-newline",
        Some(1),
        Some(1),
        Ok("path=no-newline lines=1-1\n\nx"),
    )
    .await;
    check("latin", None, None, Ok("path=latin\n\ncaf\u{fffd}")).await;
    check("zero", None, None, Err("zero is a binary file of 3 bytes")).await;
    check(
        "image.png",
        None,
        None,
        Err("is an image (image/png, 12 bytes), which this model cannot see"),
    )
    .await;
    check(
        "large",
        None,
        None,
        Err("read a part of it with startLine and endLine"),
    )
    .await;
    check("large", Some(1), Some(1), Err("read fewer lines")).await;
    check(
        "lines",
        Some(199_999),
        None,
        Ok("path=lines lines=199999-200000\n\nlong line\nlong line\n"),
    )
    .await;
    check("lines", Some(1), Some(150_000), Err("read fewer lines")).await;
    check(
        "src",
        None,
        None,
        Err("src is a folder; ListDirectory lists it"),
    )
    .await;
    check(
        "none.txt",
        None,
        None,
        Err("none.txt: there is no such file or folder"),
    )
    .await;
    let missing = stage.call("ReadFile", json!({ "filePath": "none.txt" }));
    let error = missing.await.unwrap_err();
    assert!(
        error.ends_with("folder"),
        "not in other words again: {error}"
    );
    check(
        "a.txt/x",
        None,
        None,
        Err("a part of the path is a file, not a folder"),
    )
    .await;
    check("a\0b", None, None, Err("NUL character")).await;
    check(&"x/".repeat(4000), None, None, Err("more than 4096 bytes")).await;
    let absolute = stage.builtins.workspace().root().join("a.txt");
    check(
        absolute.to_str().unwrap(),
        None,
        Some(1),
        Ok("path=a.txt lines=1-1\n\none\n"),
    )
    .await;

    let seeing = Stage::with(|builtins| builtins.images(true));
    fs::write(seeing.work().join("image.png"), b"\x89PNG\r\n\x1a\n0000").unwrap();
    let parameters = json!({ "filePath": "image.png" });
    seeing
        .check(
            "ReadFile",
            parameters,
            Ok("path=image.png type=image/png bytes=12"),
        )
        .await;
}

#[tokio::test]
async fn files_are_written_whole() {
    let stage = Stage::new();
    let check = async |path: &str, content: &str, expected| {
        let parameters = json!({ "filePath": path, "content": content });
        stage.check("WriteFile", parameters, expected).await;
    };
    check(
        "new/deep/f.txt",
        "é",
        Ok("path=new/deep/f.txt\n\nWrote 2 bytes (new file)"),
    )
    .await;
    assert_eq!(stage.content("new/deep/f.txt"), "é");
    check("a.txt", "", Ok("path=a.txt\n\nWrote 0 bytes")).await;
    assert_eq!(stage.content("a.txt"), "");
    check("a.txt", "a", Ok("path=a.txt\n\nWrote 1 byte")).await;
    check("src", "x", Err("src is a folder")).await;
    check(".", "x", Err("is a folder")).await;
    check("a.txt/x", "x", Err("not a folder")).await;
    for git in [".git/config", "sub/.GIT/hooks/pre-commit", ".git"] {
        check(git, "x", Err("belongs to Git")).await;
    }
    check(
        "big",
        &"x".repeat((16 << 20) + 1),
        Err("more than the 16777216 allowed"),
    )
    .await;

    // The permissions stay, and no other file is left.
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let script = stage.work().join("run.sh");
        fs::write(&script, "old").unwrap();
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
        check("run.sh", "new", Ok("path=run.sh\n\nWrote 3 bytes")).await;
        assert_eq!(
            script.metadata().unwrap().permissions().mode() & 0o777,
            0o755
        );
    }
    let names = fs::read_dir(stage.work().join("new/deep")).unwrap();
    assert_eq!(names.count(), 1);
}

#[tokio::test]
async fn edits_answer_with_the_diff() {
    let stage = Stage::new();
    let edit = |search: &str, replace: &str| json!({ "filePath": "a.txt", "search": search, "replace": replace });
    let done = "path=a.txt status=success strategy=exact lines=2-2\n\n--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n";
    stage.check("EditFile", edit("two", "2"), Ok(done)).await;
    assert_eq!(stage.content("a.txt"), "one\n2\nthree\n");
    stage
        .check("EditFile", edit("four", "4"), Err("`search` was not found"))
        .await;
    stage
        .check(
            "EditFile",
            edit("e", "E"),
            Err("found 3 times, at lines 1, 3, 3"),
        )
        .await;
    let missing = json!({ "filePath": "none", "search": "a", "replace": "b" });
    stage
        .check("EditFile", missing, Err("there is no such file"))
        .await;
    assert_eq!(stage.content("a.txt"), "one\n2\nthree\n");
}

#[tokio::test]
async fn edits_of_one_file_do_not_lose_each_other() {
    let stage = Stage::new();
    let numbers: Vec<String> = (0..40).map(|n| format!("<{n}>")).collect();
    fs::write(stage.work().join("a.txt"), numbers.join("\n")).unwrap();
    let edits = numbers.iter().enumerate().map(|(n, number)| {
        let replace = format!("[{n}]");
        stage.call(
            "EditFile",
            json!({ "filePath": "a.txt", "search": number, "replace": replace }),
        )
    });
    for ended in futures_util::future::join_all(edits).await {
        ended.unwrap();
    }
    let expected: Vec<String> = (0..40).map(|n| format!("[{n}]")).collect();
    assert_eq!(stage.content("a.txt"), expected.join("\n"));
}

#[tokio::test]
async fn files_are_deleted() {
    let stage = Stage::new();
    let check = async |path: &str, recursive: bool, expected| {
        let parameters = json!({ "filePath": path, "recursive": recursive });
        stage.check("DeleteFile", parameters, expected).await;
    };
    check("a.txt", false, Ok("Deleted the file a.txt")).await;
    check("a.txt", false, Err("there is no such file")).await;
    check("src", false, Err("a folder that is not empty")).await;
    check("src", true, Ok("Deleted the folder src")).await;
    for root in [".", "", "src/..", "./."] {
        check(root, true, Err("")).await;
    }
    check(".git", true, Err("belongs to Git")).await;
    assert!(stage.work().join(".gitignore").exists());
}

#[tokio::test]
async fn folders_are_listed_without_what_is_ignored() {
    let stage = Stage::new();
    let listed = async |parameters| {
        let text = stage.call("ListDirectory", parameters).await.unwrap();
        let rows = text.lines().skip(3);
        let rows = rows.map(|row| row.rsplit_once('|').map_or(row, |(row, _)| row).to_owned());
        rows.collect::<Vec<_>>()
    };
    let all = [
        "F|.gitignore|14",
        "F|a.txt|14",
        "D|src|0",
        "D|src/deep|0",
        "F|src/deep/mod.rs|14",
        "F|src/lib.rs|21",
    ];
    assert_eq!(listed(json!({})).await, all);
    let top = listed(json!({ "maxDepth": 1 })).await;
    assert_eq!(top, ["F|.gitignore|14", "F|a.txt|14", "D|src|0"]);
    let ignored = listed(json!({ "maxDepth": 1, "includeIgnored": true })).await;
    assert!(ignored.contains(&"D|target|0".to_owned()), "{ignored:?}");
    // A folder that the call names is listed although it is ignored; the rules of the folders above count in it.
    fs::write(stage.work().join("target/y.log"), "").unwrap();
    assert_eq!(
        listed(json!({ "directoryPath": "target" })).await,
        ["F|target/out.txt|14"]
    );
    fs::create_dir(stage.work().join("none")).unwrap();
    assert_eq!(listed(json!({ "directoryPath": "none" })).await, ["#empty"]);
    for n in 0..1200 {
        fs::write(stage.work().join(format!("none/{n}")), "").unwrap();
    }
    let many = listed(json!({ "directoryPath": "none" })).await;
    assert_eq!(many.len(), 1001);
    assert!(many[1000].starts_with("#more"), "{}", many[1000]);
    stage
        .check(
            "ListDirectory",
            json!({ "directoryPath": "a.txt" }),
            Err("not a folder"),
        )
        .await;
    stage
        .check(
            "ListDirectory",
            json!({ "maxDepth": 11 }),
            Err("Invalid parameters"),
        )
        .await;
}

#[tokio::test]
async fn files_are_searched() {
    let stage = Stage::new();
    fs::write(stage.work().join("binary"), b"fn x\0fn y").unwrap();
    let check = async |parameters, expected| stage.check("Search", parameters, expected).await;
    let all = "src/deep/mod.rs:1:pub fn c() {}\nsrc/lib.rs:1:fn a() {}\nsrc/lib.rs:3:fn b() {}\n3 matches in 2 files\n";
    check(json!({ "pattern": r"fn \w\(" }), Ok(all)).await;
    let one = "src/lib.rs:3:fn b() {}\n1 match in 1 file\n";
    check(
        json!({ "pattern": "FN B", "ignoreCase": true, "glob": "*.rs" }),
        Ok(one),
    )
    .await;
    check(
        json!({ "pattern": "b()", "literal": true, "path": "src/lib.rs" }),
        Ok(one),
    )
    .await;
    let around = "src/lib.rs-2-\nsrc/lib.rs:3:fn b() {}\n1 match in 1 file\n";
    check(json!({ "pattern": "fn b", "context": 1 }), Ok(around)).await;
    check(
        json!({ "pattern": "fn", "glob": "src/*.toml" }),
        Ok("No matches\n"),
    )
    .await;
    check(json!({ "pattern": "built" }), Ok("No matches\n")).await;
    let built = "target/out.txt:1:fn built() {}\n1 match in 1 file\n";
    check(
        json!({ "pattern": "built", "includeIgnored": true }),
        Ok(built),
    )
    .await;
    check(json!({ "pattern": "(" }), Err("invalid pattern")).await;
    let slow = json!({ "pattern": "[a-z]{20000}[0-9]" });
    check(slow, Err("invalid pattern: with its repetitions")).await;
    check(json!({ "pattern": "x", "glob": "[" }), Err("invalid glob")).await;
    check(
        json!({ "pattern": "x", "path": "none" }),
        Err("there is no such file"),
    )
    .await;
    check(
        json!({ "pattern": "(x{1000}){1000}{1000}" }),
        Err("invalid pattern"),
    )
    .await;
    fs::write(stage.work().join("many.txt"), "line\n".repeat(1000)).unwrap();
    let many = stage
        .call("Search", json!({ "pattern": "line" }))
        .await
        .unwrap();
    assert!(many.ends_with("200 matches in 1 file, and there may be more; narrow the pattern, the path or the glob\n"), "{many}");
    let long = "x".repeat(10_000);
    fs::write(stage.work().join("many.txt"), &long).unwrap();
    let cut = format!("many.txt:1:{} …\n1 match in 1 file\n", &long[..400]);
    check(json!({ "pattern": "xxx" }), Ok(&cut)).await;
    fs::remove_file(stage.work().join("many.txt")).unwrap();
    let bomb = format!("{}a{}", "{".repeat(20_000), "}".repeat(20_000));
    check(
        json!({ "pattern": "x", "glob": bomb }),
        Err("invalid glob: it has more than"),
    )
    .await;
    // Neither do ignore files of a repository end the search, nor its file names forge lines.
    let forged = "a.txt\nsrc/lib.rs:9:forged\u{85}";
    fs::write(stage.work().join("src").join(".ignore"), bomb).unwrap();
    fs::create_dir(stage.work().join("odd")).unwrap();
    fs::create_dir(stage.work().join("odd").join("a.txt\nsrc")).unwrap();
    fs::write(stage.work().join("odd").join(forged), "needle").unwrap();
    let named = "odd/a.txt\u{fffd}src/lib.rs:9:forged\u{fffd}:1:needle\n1 match in 1 file\n";
    check(json!({ "pattern": "needle" }), Ok(named)).await;
}

#[tokio::test]
async fn previews_say_what_a_call_would_touch() {
    let stage = Stage::new();
    let check = async |name: &str, parameters, subject, diff: Option<&str>| {
        let gadget = stage.gadget(name);
        assert_eq!(gadget.permission(), Permission::Ask, "{name}");
        let parameters = gadget.check(parameters).unwrap();
        let preview = gadget.preview(&parameters).await.unwrap();
        assert_eq!(preview.subject, Some(subject), "{name}");
        assert_eq!(preview.diff.as_deref(), diff, "{name}");
    };
    let path = |path: &str| Subject::Path(path.to_owned());
    check(
        "WriteFile",
        json!({ "filePath": "src/../new.txt", "content": "x\n" }),
        path("new.txt"),
        Some("--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+x\n"),
    )
    .await;
    // A name forges no line of the diff.
    check(
        "WriteFile",
        json!({ "filePath": "a\nb/x", "content": "x\n" }),
        path("a\nb/x"),
        Some("--- /dev/null\n+++ b/a\u{fffd}b/x\n@@ -0,0 +1 @@\n+x\n"),
    )
    .await;
    check(
        "EditFile",
        json!({ "filePath": "a.txt", "search": "one", "replace": "1" }),
        path("a.txt"),
        Some("--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n-one\n+1\n two\n three\n"),
    )
    .await;
    check(
        "DeleteFile",
        json!({ "filePath": "src" }),
        path("src"),
        None,
    )
    .await;
    let root = stage.builtins.workspace().root();
    let command = Subject::Command(CommandLine {
        line: "make".to_owned(),
        workspace: Some(root.to_str().unwrap().replace('\\', "/")),
        ..CommandLine::default()
    });
    check("RunCommand", json!({ "command": "make" }), command, None).await;
    #[cfg(feature = "fetch")]
    {
        let url = Subject::Url("https://example.com/a?b".to_owned());
        check(
            "HttpFetch",
            json!({ "url": "HTTPS://Example.COM:443/x/../a?b#c" }),
            url,
            None,
        )
        .await;
    }
    // Nothing was changed.
    assert_eq!(stage.content("a.txt"), "one\ntwo\nthree\n");
    assert!(!stage.work().join("new.txt").exists());
    // A link in the workspace is named by what it leads to, so no rule can be evaded.
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("src", stage.work().join("other")).unwrap();
        let parameters = json!({ "filePath": "other/lib.rs", "content": "" });
        let preview = stage
            .gadget("WriteFile")
            .preview(&parameters)
            .await
            .unwrap();
        assert_eq!(preview.subject, Some(path("src/lib.rs")));
    }
    for name in [
        "ReadFile",
        "ListDirectory",
        "Search",
        "AskUser",
        "TellUser",
        "Finish",
        "TodoWrite",
    ] {
        assert_eq!(stage.gadget(name).permission(), Permission::Allow, "{name}");
    }
}

#[tokio::test]
async fn changes_are_undone_from_the_last() {
    let stage = Stage::new();
    let workspace = stage.builtins.workspace();
    let write = async |path: &str, content: &str| {
        let parameters = json!({ "filePath": path, "content": content });
        stage.call("WriteFile", parameters).await.unwrap();
    };
    // Other gadgets of the same workspace have the same changes.
    let workspace = Builtins::of(Arc::clone(workspace)).workspace().clone();
    let undo = || {
        let undone = workspace.undo()?;
        Ok::<_, FileError>(undone.map(|it| (it.path.to_string(), it.removed, it.diff)))
    };
    let some = |path: &str, removed, diff: &str| Some((path.to_owned(), removed, diff.to_owned()));
    write("a.txt", "changed").await;
    write("new.txt", "new").await;
    stage
        .call("DeleteFile", json!({ "filePath": "src/lib.rs" }))
        .await
        .unwrap();
    let (path, removed, diff) = undo().unwrap().expect("a change");
    assert_eq!((path.as_str(), removed), ("src/lib.rs", false));
    assert!(
        diff.starts_with("--- /dev/null\n+++ b/src/lib.rs\n"),
        "{diff}"
    );
    assert!(stage.work().join("src/lib.rs").exists());
    let diff = "--- a/new.txt\n+++ b/new.txt\n@@ -1 +0,0 @@\n-new\n\\ No newline at end of file\n";
    assert_eq!(undo().unwrap(), some("new.txt", true, diff));
    assert!(!stage.work().join("new.txt").exists());
    write("a.txt", "again").await;
    fs::write(stage.work().join("a.txt"), "by the user").unwrap();
    assert_eq!(
        undo().unwrap_err().to_string(),
        "a.txt has been changed since; it was left as it is"
    );
    assert_eq!(stage.content("a.txt"), "by the user");
    fs::write(stage.work().join("a.txt"), "changed").unwrap();
    let diff = "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1,3 @@\n-changed\n\\ No newline at end of file\n+one\n+two\n+three\n";
    assert_eq!(undo().unwrap(), some("a.txt", false, diff));
    assert_eq!(stage.content("a.txt"), "one\ntwo\nthree\n");
    assert_eq!(undo().unwrap(), None);
}

#[tokio::test]
async fn messages_reach_the_user_and_steps_are_listed() {
    let stage = Stage::new();
    let check = async |name, parameters, expected| stage.check(name, parameters, expected).await;
    check(
        "TellUser",
        json!({ "message": "Done.", "type": "success" }),
        Ok("✅ Done."),
    )
    .await;
    check("TellUser", json!({ "message": "Hm." }), Ok("ℹ️ Hm.")).await;
    check("TellUser", json!({}), Err("the message is empty")).await;
}

#[test]
fn a_workspace_is_a_folder() {
    let error = Builtins::in_dir("/no/such/folder").unwrap_err().to_string();
    assert!(
        error.starts_with("cannot open the workspace /no/such/folder: "),
        "{error}"
    );
    let file = tempfile::NamedTempFile::new().unwrap();
    assert!(Builtins::in_dir(file.path()).is_err());
}

/// What the model reads of the built-in gadgets is short, so that they fit small context windows. Examples are for what the
/// list of parameters does not show: passages with line breaks, and arrays.
#[test]
fn every_gadget_can_be_added_and_is_short() {
    let stage = Stage::new();
    let mut toolbox = gadgetry::Toolbox::default();
    let mut text = String::new();
    for gadget in stage.builtins.gadgets() {
        let spec = gadget.spec();
        let has_example = matches!(spec.name.as_str(), "EditFile" | "TodoWrite");
        assert_eq!(!spec.examples.is_empty(), has_example, "{}", spec.name);
        let registered = Registry::compile(spec.clone()).unwrap();
        let parameters = parameter_list(registered.shown_parameters());
        text.extend([
            "## ",
            &spec.name,
            "
",
            &spec.description,
            "
",
            &parameters,
            "

",
        ]);
        toolbox.add(gadget).unwrap();
    }
    assert!(text.len() < 3_200, "{} bytes: {text}", text.len());
}

#[test]
fn all_names_are_known() {
    let stage = Stage::new();
    let gadgets = stage.builtins.gadgets();
    let mut names: Vec<&str> = gadgets.iter().map(|it| it.spec().name.as_str()).collect();
    let mut known = gadgetry_builtins::NAMES.to_vec();
    known.retain(|name| *name != "HttpFetch" || names.contains(name));
    names.sort_unstable();
    known.sort_unstable();
    assert_eq!(names, known);
}
