//! The conversation with a client: its state, which request is answered by what, and when texts are checked.

use crate::check::{Awaits, Checked, UNDEFINED_MODULE, awaits, check};
use crate::outline::Outline;
use crate::text::Text;
use crate::transport::{self, Failure, Incoming, code};
use crate::workspace::{Open, Workspace, path_of};
use crate::{Host, completion, fixes, hover, navigate, rename, symbols};
use lsp_types::*;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufRead, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};
use syntax::pretty::{Refusal, pretty};
use term::AtomTable;

/// Texts are checked when nothing has changed for this long.
const REST: Duration = Duration::from_millis(50);
/// Messages that wait for the server, at most; then the client waits.
const WAITING_MAX: usize = 64;

/// Talks to a client until it leaves. Answers whether it said that it would.
pub fn serve(
    host: &dyn Host,
    mut input: impl BufRead + Send + 'static,
    mut output: impl Write,
) -> io::Result<bool> {
    let (sender, receiver) = sync_channel(WAITING_MAX);
    // It ends with the input, or with the process.
    std::thread::Builder::new().name("messages".into()).spawn(move || {
        while let Ok(Some(incoming)) = transport::read(&mut input) {
            if sender.send(incoming).is_err() {
                break;
            }
        }
    })?;
    let mut server = Server::new(host);
    while !server.has_ended() {
        match next(&receiver, server.due()) {
            Next::Message(incoming) => server.receive(incoming),
            Next::Rest => server.rest(),
            Next::Closed => break,
        }
        for message in server.take_output() {
            transport::write(&mut output, &message)?;
        }
    }
    Ok(server.state == State::Ended { asked: true })
}

enum Next {
    Message(Incoming),
    Rest,
    Closed,
}

fn next(receiver: &Receiver<Incoming>, due: Option<Instant>) -> Next {
    let Some(due) = due else {
        return receiver.recv().map_or(Next::Closed, Next::Message);
    };
    match receiver.recv_timeout(due.saturating_duration_since(Instant::now())) {
        Ok(incoming) => Next::Message(incoming),
        Err(RecvTimeoutError::Timeout) => Next::Rest,
        Err(RecvTimeoutError::Disconnected) => Next::Closed,
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Before `initialize`.
    New,
    Running,
    /// After `shutdown`.
    ShutDown,
    /// After `exit`; `asked`: and after `shutdown`.
    Ended {
        asked: bool,
    },
}

/// A server without its threads: messages go in and come out.
pub(crate) struct Server<'h> {
    workspace: Workspace<'h>,
    state: State,
    output: Vec<Value>,
    checked: BTreeMap<PathBuf, Checked>,
    /// What goals of a text's program wait for, when somebody has asked; and whether that is older than the check.
    awaits: BTreeMap<PathBuf, (bool, Awaits)>,
    /// Open texts whose check is too old, the one that was changed last first.
    stale: Vec<PathBuf>,
    /// When the next of them is checked.
    due: Option<Instant>,
    /// What the client was told of texts last, and of which version.
    told: BTreeMap<PathBuf, (Option<i32>, Vec<Diagnostic>)>,
}

type Answer<T> = Result<T, Failure>;

fn failure(message: impl Into<String>) -> Failure {
    Failure { code: code::REQUEST_FAILED, message: message.into() }
}

impl<'h> Server<'h> {
    pub(crate) fn new(host: &'h dyn Host) -> Server<'h> {
        Server {
            workspace: Workspace::new(host),
            state: State::New,
            output: Vec::new(),
            checked: BTreeMap::new(),
            awaits: BTreeMap::new(),
            stale: Vec::new(),
            due: None,
            told: BTreeMap::new(),
        }
    }

    pub(crate) fn has_ended(&self) -> bool {
        matches!(self.state, State::Ended { .. })
    }

    /// When [`Server::rest`] is to be called if nothing comes before.
    fn due(&self) -> Option<Instant> {
        self.due
    }

    /// What is to be sent.
    pub(crate) fn take_output(&mut self) -> Vec<Value> {
        std::mem::take(&mut self.output)
    }

    /// Takes a message.
    pub(crate) fn receive(&mut self, incoming: Incoming) {
        match incoming {
            Incoming::Request { id, method, params } => {
                let answered = catch_unwind(AssertUnwindSafe(|| self.request(&method, params)));
                let result = answered.unwrap_or_else(|_| {
                    let message = format!("a bug in Fifth: {method} cannot be answered");
                    Err(Failure { code: code::INTERNAL, message })
                });
                self.output.push(transport::response(id, result));
            }
            Incoming::Notification { method, params } => {
                if catch_unwind(AssertUnwindSafe(|| self.notification(&method, params))).is_err() {
                    self.complain(&format!("a bug in Fifth: {method} had no effect"));
                }
            }
            Incoming::Response => {}
            Incoming::Wrong { id, code, message } => {
                self.output.push(transport::response(id, Err(Failure { code, message })));
            }
        }
    }

    fn complain(&mut self, message: &str) {
        let params = json!({ "type": MessageType::ERROR, "message": message });
        self.output.push(transport::notification("window/logMessage", params));
    }

    /// Nothing has come for a while: checks one text.
    pub(crate) fn rest(&mut self) {
        self.due = None;
        if !self.stale.is_empty() {
            let path = self.stale.remove(0);
            self.check(&path);
        }
        if !self.stale.is_empty() {
            self.due = Some(Instant::now());
        }
    }

    fn check(&mut self, path: &Path) {
        if !self.workspace.open.contains_key(path) {
            return;
        }
        match catch_unwind(AssertUnwindSafe(|| check(&self.workspace, path))) {
            Ok(checked) => {
                if let Some((is_old, _)) = self.awaits.get_mut(path) {
                    *is_old = true;
                }
                self.checked.insert(path.to_path_buf(), checked);
                self.tell();
            }
            Err(_) => self.complain(&format!("a bug in Fifth: {} cannot be checked", path.display())),
        }
    }

    /// Sends the diagnostics of all texts that have some, or had some. An open text is told of by its own check.
    fn tell(&mut self) {
        let mut all: BTreeMap<PathBuf, Vec<Diagnostic>> = BTreeMap::new();
        for (path, checked) in &self.checked {
            for (about, list) in &checked.diagnostics {
                if about == path || !self.workspace.open.contains_key(about) {
                    let known = all.entry(about.clone()).or_default();
                    let new = list.iter().filter(|diagnostic| !known.contains(diagnostic)).cloned();
                    let new: Vec<Diagnostic> = new.collect();
                    known.extend(new);
                }
            }
        }
        let open = self.workspace.open.keys();
        let paths: BTreeSet<PathBuf> = self.told.keys().chain(all.keys()).chain(open).cloned().collect();
        for path in paths {
            let version = self.workspace.open.get(&path).map(|open| open.version);
            let news = (version, all.remove(&path).unwrap_or_default());
            // One whose check is too old is told of after the next one.
            if self.told.get(&path) == Some(&news) || self.stale.contains(&path) {
                continue;
            }
            let is_over = version.is_none() && news.1.is_empty();
            if let Some(uri) = self.workspace.uri(&path).filter(|_| version.is_some() || path.is_absolute()) {
                let params = PublishDiagnosticsParams { uri, diagnostics: news.1.clone(), version };
                self.notify("textDocument/publishDiagnostics", params);
            }
            self.told.insert(path.clone(), news);
            if is_over {
                self.told.remove(&path);
            }
        }
    }

    fn notify(&mut self, method: &str, params: impl Serialize) {
        let params = serde_json::to_value(params).unwrap_or_default();
        self.output.push(transport::notification(method, params));
    }

    fn notification(&mut self, method: &str, params: Value) {
        match method {
            "exit" => self.state = State::Ended { asked: self.state == State::ShutDown },
            _ if self.state != State::Running => {}
            "textDocument/didOpen" => self.noted(params, Server::opened),
            "textDocument/didChange" => self.noted(params, Server::changed),
            "textDocument/didClose" => self.noted(params, Server::closed),
            "textDocument/didSave" | "workspace/didChangeWatchedFiles" => {
                self.workspace.forget();
                self.outdate(None);
            }
            "workspace/didChangeWorkspaceFolders" => self.noted(params, Server::folders_changed),
            _ => {}
        }
    }

    fn noted<P: DeserializeOwned>(&mut self, params: Value, note: fn(&mut Self, P)) {
        match serde_json::from_value(params) {
            Ok(params) => note(self, params),
            Err(error) => self.complain(&format!("a notification cannot be understood: {error}")),
        }
    }

    fn opened(&mut self, params: DidOpenTextDocumentParams) {
        let TextDocumentItem { uri, version, text, .. } = params.text_document;
        let path = path_of(&uri);
        let text = Text::new(text.into_bytes());
        self.workspace.open.insert(path.clone(), Open { uri, version, text });
        self.outdate(Some(&path));
    }

    fn changed(&mut self, params: DidChangeTextDocumentParams) {
        let path = path_of(&params.text_document.uri);
        let Some(open) = self.workspace.open.get_mut(&path) else { return };
        open.version = params.text_document.version;
        params.content_changes.into_iter().for_each(|change| open.text.change(change));
        self.outdate(Some(&path));
    }

    fn closed(&mut self, params: DidCloseTextDocumentParams) {
        let path = path_of(&params.text_document.uri);
        self.workspace.open.remove(&path);
        self.checked.remove(&path);
        self.awaits.remove(&path);
        self.stale.retain(|stale| *stale != path);
        self.workspace.forget();
        self.outdate(None);
        self.tell();
        if !path.is_absolute() {
            let uri = params.text_document.uri;
            self.notify(
                "textDocument/publishDiagnostics",
                PublishDiagnosticsParams::new(uri, Vec::new(), None),
            );
        }
    }

    fn folders_changed(&mut self, params: DidChangeWorkspaceFoldersParams) {
        let removed: Vec<PathBuf> = params.event.removed.iter().map(|folder| path_of(&folder.uri)).collect();
        self.workspace.folders.retain(|folder| !removed.contains(folder));
        self.workspace.folders.extend(params.event.added.iter().map(|folder| path_of(&folder.uri)));
    }

    /// A text was changed, or (`None`) any file may have been: those that may depend on it are checked soon.
    fn outdate(&mut self, changed: Option<&PathBuf>) {
        let depends = |path: &PathBuf| match (self.checked.get(path), changed) {
            (Some(checked), Some(changed)) => {
                checked.paths.contains(changed) || checked.has(UNDEFINED_MODULE)
            }
            _ => true,
        };
        let more = self.workspace.open.keys().filter(|path| Some(*path) != changed && depends(path));
        let mut stale: Vec<PathBuf> = changed.into_iter().chain(more).cloned().collect();
        stale.extend(
            std::mem::take(&mut self.stale)
                .into_iter()
                .filter(|path| !stale.contains(path))
                .collect::<Vec<_>>(),
        );
        self.stale = stale;
        self.due = Some(Instant::now() + REST);
    }

    /// A text that a request is about, with its outline.
    fn text(&self, uri: &Uri) -> Answer<(PathBuf, Rc<Outline>)> {
        let path = path_of(uri);
        let outline = self.workspace.outline(&path);
        let outline = outline.ok_or_else(|| failure(format!("{} cannot be read", path.display())))?;
        Ok((path, outline))
    }

    /// The check of a text as it is now.
    fn checked(&mut self, path: &Path) -> Option<&Checked> {
        if self.stale.iter().any(|stale| stale == path) {
            self.stale.retain(|stale| stale != path);
            self.check(path);
        }
        self.checked.get(path)
    }

    /// What goals of a text's program wait for. While it has errors, what was known before is the best guess.
    fn awaits(&mut self, path: &Path) -> &Awaits {
        self.checked(path);
        let known = self.awaits.remove(path);
        let (is_old, known) = known.unwrap_or((true, Awaits::default()));
        // A text that is not open has no check.
        let checked = self.checked.get(path);
        let files = checked.map_or_else(|| vec![path.to_path_buf()], |checked| checked.files.clone());
        let is_open = checked.is_some();
        let new = if is_old { awaits(&self.workspace, &files) } else { None };
        &self.awaits.entry(path.to_path_buf()).or_insert((!is_open, new.unwrap_or(known))).1
    }

    fn request(&mut self, method: &str, params: Value) -> Answer<Value> {
        match self.state {
            State::New if method != "initialize" => {
                return Err(Failure {
                    code: code::NOT_INITIALIZED,
                    message: "`initialize` comes first".into(),
                });
            }
            State::ShutDown | State::Ended { .. } => {
                return Err(Failure {
                    code: code::INVALID_REQUEST,
                    message: "the server is shut down".into(),
                });
            }
            State::Running if method == "initialize" => {
                return Err(Failure {
                    code: code::INVALID_REQUEST,
                    message: "`initialize` came before".into(),
                });
            }
            _ => {}
        }
        match method {
            "initialize" => with(self, params, Server::initialize),
            "shutdown" => {
                self.state = State::ShutDown;
                Ok(Value::Null)
            }
            "textDocument/definition" => with(self, params, Server::definition),
            "textDocument/references" => with(self, params, Server::references),
            "textDocument/documentHighlight" => with(self, params, Server::highlight),
            "textDocument/hover" => with(self, params, Server::hover),
            "textDocument/completion" => with(self, params, Server::completion),
            "textDocument/prepareRename" => with(self, params, Server::prepare_rename),
            "textDocument/rename" => with(self, params, Server::rename),
            "textDocument/documentSymbol" => with(self, params, Server::symbols),
            "workspace/symbol" => with(self, params, Server::search),
            "textDocument/inlayHint" => with(self, params, Server::inlay_hints),
            "textDocument/codeAction" => with(self, params, Server::code_actions),
            "textDocument/formatting" => with(self, params, Server::format),
            _ => {
                Err(Failure { code: code::METHOD_NOT_FOUND, message: format!("there is no method {method}") })
            }
        }
    }

    #[expect(deprecated, reason = "older clients say their folder in older ways")]
    fn initialize(&mut self, params: InitializeParams) -> Answer<InitializeResult> {
        let folders = params.workspace_folders.unwrap_or_default();
        self.workspace.folders = folders.iter().map(|folder| path_of(&folder.uri)).collect();
        if self.workspace.folders.is_empty() {
            self.workspace.folders.extend(params.root_uri.as_ref().map(path_of));
        }
        self.workspace.folders.retain(|folder| folder.is_absolute());
        self.state = State::Running;
        let name = ServerInfo { name: "fifth".into(), version: Some(env!("CARGO_PKG_VERSION").into()) };
        Ok(InitializeResult { capabilities: capabilities(), server_info: Some(name) })
    }

    fn definition(&mut self, params: GotoDefinitionParams) -> Answer<Vec<Location>> {
        let at = params.text_document_position_params;
        let (_, outline) = self.text(&at.text_document.uri)?;
        let found = navigate::definition(&self.workspace, &outline, outline.text.offset(at.position));
        Ok(navigate::locations(&self.workspace, found))
    }

    fn references(&mut self, params: ReferenceParams) -> Answer<Vec<Location>> {
        let at = params.text_document_position;
        let (_, outline) = self.text(&at.text_document.uri)?;
        let offset = outline.text.offset(at.position);
        let definitions = params.context.include_declaration;
        let found = navigate::references(&self.workspace, &outline, offset, definitions);
        Ok(navigate::locations(&self.workspace, found))
    }

    fn highlight(&mut self, params: DocumentHighlightParams) -> Answer<Vec<DocumentHighlight>> {
        let at = params.text_document_position_params;
        let (path, outline) = self.text(&at.text_document.uri)?;
        let found = navigate::references(&self.workspace, &outline, outline.text.offset(at.position), true);
        let here = found.into_iter().filter(|(outline, _)| outline.path == path);
        Ok(here.map(|(outline, p)| DocumentHighlight { range: outline.text.range(&p), kind: None }).collect())
    }

    fn hover(&mut self, params: HoverParams) -> Answer<Option<Hover>> {
        let at = params.text_document_position_params;
        let (path, outline) = self.text(&at.text_document.uri)?;
        let offset = outline.text.offset(at.position);
        self.awaits(&path);
        let found = hover::hover(&self.workspace, &outline, &self.awaits[&path].1, offset);
        Ok(found.map(|(place, value)| Hover {
            contents: HoverContents::Markup(MarkupContent { kind: MarkupKind::Markdown, value }),
            range: Some(outline.text.range(&place)),
        }))
    }

    fn completion(&mut self, params: CompletionParams) -> Answer<Vec<CompletionItem>> {
        let at = params.text_document_position;
        let (path, outline) = self.text(&at.text_document.uri)?;
        let offset = outline.text.offset(at.position);
        // A clause that is being written is wrong anyway: what was known before is as good.
        if !self.awaits.contains_key(&path) {
            self.awaits(&path);
        }
        Ok(completion::complete(&self.workspace, &outline, &self.awaits[&path].1, offset))
    }

    fn prepare_rename(&mut self, params: TextDocumentPositionParams) -> Answer<Range> {
        let (_, outline) = self.text(&params.text_document.uri)?;
        let offset = outline.text.offset(params.position);
        let place = rename::place(&self.workspace, &outline, offset).map_err(failure)?;
        Ok(outline.text.range(&place))
    }

    fn rename(&mut self, params: RenameParams) -> Answer<WorkspaceEdit> {
        let at = params.text_document_position;
        let (_, outline) = self.text(&at.text_document.uri)?;
        let offset = outline.text.offset(at.position);
        rename::rename(&self.workspace, &outline, offset, &params.new_name).map_err(failure)
    }

    fn symbols(&mut self, params: DocumentSymbolParams) -> Answer<Vec<DocumentSymbol>> {
        let (_, outline) = self.text(&params.text_document.uri)?;
        Ok(symbols::of_text(&outline))
    }

    fn search(&mut self, params: WorkspaceSymbolParams) -> Answer<Vec<WorkspaceSymbol>> {
        Ok(symbols::search(&self.workspace, &params.query))
    }

    fn inlay_hints(&mut self, params: InlayHintParams) -> Answer<Vec<InlayHint>> {
        let (path, outline) = self.text(&params.text_document.uri)?;
        let [start, end] =
            [params.range.start, params.range.end].map(|position| outline.text.offset(position));
        Ok(hover::inlay_hints(&outline, self.awaits(&path), &(start..end)))
    }

    fn format(&mut self, params: DocumentFormattingParams) -> Answer<Vec<TextEdit>> {
        styled(&self.text(&params.text_document.uri)?.1)
    }

    fn code_actions(&mut self, params: CodeActionParams) -> Answer<Vec<CodeAction>> {
        let uri = params.text_document.uri;
        let (path, outline) = self.text(&uri)?;
        let actions = |checked: &Checked| fixes::actions(checked, &outline, &uri, params.range);
        Ok(self.checked(&path).map(actions).unwrap_or_default())
    }
}

/// The text of a program in the style of `fifth fmt`, as one edit if that is another one.
fn styled(outline: &Outline) -> Answer<Vec<TextEdit>> {
    let text = outline.text.bytes();
    let new = pretty(text, &AtomTable::new()).map_err(|refusal| match refusal {
        Refusal::Errors(_) => failure("a text with errors has no style: mend them first"),
        Refusal::Changed(_) => failure("the style would make another program of it; this is a bug in Fifth"),
    })?;
    let edit =
        || TextEdit::new(outline.text.range(&(0..text.len())), String::from_utf8_lossy(&new).into_owned());
    Ok(if new == text { Vec::new() } else { vec![edit()] })
}

/// Answers a request whose parameters are these.
fn with<'s, 'h, P: DeserializeOwned, R: Serialize>(
    server: &'s mut Server<'h>,
    params: Value,
    answer: fn(&'s mut Server<'h>, P) -> Answer<R>,
) -> Answer<Value> {
    let params = serde_json::from_value(params)
        .map_err(|error| Failure { code: code::INVALID_PARAMS, message: error.to_string() })?;
    let result = answer(server, params)?;
    serde_json::to_value(result).map_err(|error| Failure { code: code::INTERNAL, message: error.to_string() })
}

fn capabilities() -> ServerCapabilities {
    let sync = TextDocumentSyncOptions {
        open_close: Some(true),
        change: Some(TextDocumentSyncKind::INCREMENTAL),
        save: Some(TextDocumentSyncSaveOptions::Supported(true)),
        ..TextDocumentSyncOptions::default()
    };
    let rename = RenameOptions {
        prepare_provider: Some(true),
        work_done_progress_options: WorkDoneProgressOptions::default(),
    };
    let actions = CodeActionOptions {
        code_action_kinds: Some(vec![CodeActionKind::QUICKFIX]),
        ..CodeActionOptions::default()
    };
    let folders = WorkspaceFoldersServerCapabilities {
        supported: Some(true),
        change_notifications: Some(OneOf::Left(true)),
    };
    ServerCapabilities {
        position_encoding: Some(PositionEncodingKind::UTF16),
        text_document_sync: Some(TextDocumentSyncCapability::Options(sync)),
        definition_provider: Some(OneOf::Left(true)),
        references_provider: Some(OneOf::Left(true)),
        document_highlight_provider: Some(OneOf::Left(true)),
        hover_provider: Some(HoverProviderCapability::Simple(true)),
        completion_provider: Some(CompletionOptions {
            trigger_characters: Some(vec![":".into(), "[".into()]),
            ..CompletionOptions::default()
        }),
        rename_provider: Some(OneOf::Right(rename)),
        document_symbol_provider: Some(OneOf::Left(true)),
        workspace_symbol_provider: Some(OneOf::Left(true)),
        inlay_hint_provider: Some(OneOf::Left(true)),
        document_formatting_provider: Some(OneOf::Left(true)),
        code_action_provider: Some(CodeActionProviderCapability::Options(actions)),
        workspace: Some(WorkspaceServerCapabilities {
            workspace_folders: Some(folders),
            file_operations: None,
        }),
        ..ServerCapabilities::default()
    }
}
