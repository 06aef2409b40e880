//! A workspace with files, next to a folder that no gadget may touch.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gadgetry::DynGadget;
use gadgetry_builtins::Builtins;
use gadgetry_testing::test_gadget;
use serde_json::Value;
use tempfile::TempDir;

pub(crate) const SECRET: &str = "SECRET-41f7";

pub(crate) struct Stage {
    pub(crate) folder: TempDir,
    pub(crate) builtins: Builtins,
}

impl Stage {
    pub(crate) fn new() -> Self {
        Self::with(|builtins| builtins)
    }

    pub(crate) fn with(change: impl FnOnce(Builtins) -> Builtins) -> Self {
        gadgetry::command::supervisor::use_program(env!("CARGO_BIN_EXE_gadgetry-supervisor"));
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str, content: &str| {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        };
        write("outside/secret.txt", SECRET);
        write("outside/folder/other.txt", SECRET);
        write("work/a.txt", "one\ntwo\nthree\n");
        write("work/src/lib.rs", "fn a() {}\n\nfn b() {}\n");
        write("work/src/deep/mod.rs", "pub fn c() {}\n");
        write("work/target/out.txt", "fn built() {}\n");
        write("work/.gitignore", "target/\n*.log\n");
        write("work/x.log", "fn logged() {}\n");
        let builtins = change(Builtins::in_dir(folder.path().join("work")).unwrap());
        Self { folder, builtins }
    }

    pub(crate) fn work(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    pub(crate) fn outside(&self) -> PathBuf {
        self.folder.path().join("outside")
    }

    pub(crate) fn gadget(&self, name: &str) -> Arc<dyn DynGadget> {
        let gadgets = self.builtins.gadgets();
        gadgets
            .into_iter()
            .find(|it| it.spec().name == name)
            .unwrap()
    }

    /// The result of a call, or its error.
    pub(crate) async fn call(&self, name: &str, parameters: Value) -> Result<String, String> {
        let ended = test_gadget(self.gadget(name), parameters).await;
        match ended.result {
            Some(result) => Ok(result),
            None => Err(ended.error.unwrap()),
        }
    }

    pub(crate) async fn check(&self, name: &str, parameters: Value, expected: Result<&str, &str>) {
        let ended = self.call(name, parameters.clone()).await;
        match (&ended, expected) {
            (Ok(text), Ok(expected)) => assert_eq!(text, expected, "{name} {parameters}"),
            (Err(text), Err(expected)) => {
                assert!(text.contains(expected), "{name} {parameters}: {text}");
            }
            _ => panic!("{name} {parameters}: {ended:?}"),
        }
    }

    pub(crate) fn content(&self, path: &str) -> String {
        fs::read_to_string(self.work().join(path)).unwrap()
    }
}

/// All files below a folder with their contents.
pub(crate) fn tree(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.insert(path.clone(), Vec::new());
            files.extend(tree(&path));
        } else {
            files.insert(path.clone(), fs::read(&path).unwrap());
        }
    }
    files
}
