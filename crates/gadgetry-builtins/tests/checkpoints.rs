//! Changes of files by commands, and how they are undone.

use std::fs;
use std::sync::Arc;

use gadgetry_builtins::Workspace;

/// A workspace with two files, one of which is ignored.
fn workspace() -> (tempfile::TempDir, Arc<Workspace>) {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join("src")).unwrap();
    for (path, content) in [
        ("src/a.txt", "one"),
        ("b.txt", "two"),
        (".gitignore", "ignored\n"),
        ("ignored", "x"),
    ] {
        fs::write(folder.path().join(path), content).unwrap();
    }
    let workspace = Arc::new(Workspace::open(folder.path()).unwrap());
    (folder, workspace)
}

/// What the undoing of all changes after `count` says.
fn undone(workspace: &Workspace, count: u64) -> Vec<String> {
    let undone = workspace.undo_to(count).into_iter();
    let shown = undone.map(|it| match it {
        Ok(it) if it.removed => format!("{} removed", it.path),
        Ok(it) => format!("{} restored", it.path),
        Err(error) => error.to_string(),
    });
    shown.collect()
}

#[test]
fn a_step_of_a_command_is_undone_as_a_whole() {
    let (folder, workspace) = workspace();
    let at = |path: &str| folder.path().join(path);
    let checkpoint = workspace.checkpoint().unwrap();
    fs::write(at("src/a.txt"), "changed").unwrap();
    fs::remove_file(at("b.txt")).unwrap();
    fs::create_dir(at("new")).unwrap();
    fs::write(at("new/c.txt"), "made").unwrap();
    fs::write(at("ignored"), "y").unwrap();
    assert_eq!(checkpoint.close().unwrap(), 3);
    assert_eq!(workspace.latest_step(), Some(0));
    let changed: Vec<String> = workspace
        .changed()
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(changed, ["b.txt", "new/c.txt", "src/a.txt"]);
    let expected = ["src/a.txt restored", "new/c.txt removed", "b.txt restored"];
    assert_eq!(undone(&workspace, 0), expected);
    let read = |path: &str| fs::read_to_string(at(path)).unwrap();
    assert_eq!(
        (read("src/a.txt"), read("b.txt")),
        ("one".into(), "two".into())
    );
    assert!(!at("new/c.txt").exists());
    // It is not covered.
    assert_eq!(read("ignored"), "y");
    assert_eq!(workspace.latest_step(), None);
}

#[test]
fn changes_of_others_are_not_those_of_a_command() {
    let (folder, workspace) = workspace();
    let at = |path: &str| folder.path().join(path);
    assert_eq!(workspace.checkpoint().unwrap().close().unwrap(), 0);
    // The user's, between two commands.
    fs::write(at("b.txt"), "the user's").unwrap();
    let checkpoint = workspace.checkpoint().unwrap();
    // That of a gadget while the command runs.
    let path = workspace.resolve("src/a.txt").unwrap();
    workspace.write(&path, b"the gadget's").unwrap();
    assert_eq!(workspace.changes(), 1);
    fs::write(at("new.txt"), "the command's").unwrap();
    assert_eq!(checkpoint.close().unwrap(), 1);
    assert_eq!(workspace.latest_step(), Some(1));
    assert_eq!(undone(&workspace, 1), ["new.txt removed"]);
    assert_eq!(undone(&workspace, 0), ["src/a.txt restored"]);
    assert_eq!(fs::read_to_string(at("b.txt")).unwrap(), "the user's");
    // A file that was changed since stays.
    let checkpoint = workspace.checkpoint().unwrap();
    fs::write(at("b.txt"), "the command's").unwrap();
    checkpoint.close().unwrap();
    fs::write(at("b.txt"), "again the user's").unwrap();
    assert_eq!(
        undone(&workspace, 0),
        ["b.txt has been changed since; it was left as it is"]
    );
}

#[test]
fn commands_at_the_same_time_record_each_change_once() {
    let (folder, workspace) = workspace();
    let at = |path: &str| folder.path().join(path);
    let one = workspace.checkpoint().unwrap();
    fs::write(at("1"), "1").unwrap();
    let two = workspace.checkpoint().unwrap();
    fs::write(at("2"), "2").unwrap();
    assert_eq!(one.close().unwrap(), 2);
    fs::write(at("3"), "3").unwrap();
    assert_eq!(two.close().unwrap(), 1);
    // One that is dropped leaves its changes to the next one.
    let dropped = workspace.checkpoint().unwrap();
    fs::write(at("4"), "4").unwrap();
    drop(dropped);
    assert_eq!(workspace.checkpoint().unwrap().close().unwrap(), 1);
    let expected = ["4 removed", "3 removed", "2 removed", "1 removed"];
    assert_eq!(undone(&workspace, 0), expected);
}

#[test]
fn what_is_not_covered_is_said() {
    let (folder, workspace) = workspace();
    let at = |path: &str| folder.path().join(path);
    let large = vec![b'x'; (1 << 20) + 1];
    let checkpoint = workspace.checkpoint().unwrap();
    fs::write(at("large"), &large).unwrap();
    fs::write(at("b.txt"), "small").unwrap();
    assert_eq!(checkpoint.close().unwrap(), 2);
    let expected = [
        "large was changed by a command and is left as it is, because its content was not kept: it is large, or cannot be read",
        "b.txt restored",
    ];
    assert_eq!(undone(&workspace, 0), expected);
    assert!(at("large").exists());
    // Too many files are not looked at.
    fs::create_dir(at("many")).unwrap();
    for number in 0..=50_000 {
        fs::File::create(at(&format!("many/{number}"))).unwrap();
    }
    let error = workspace.checkpoint().unwrap_err().to_string();
    let expected =
        "the workspace has more than 50000 files, so changes by commands are not recorded";
    assert_eq!(error, expected);
}
