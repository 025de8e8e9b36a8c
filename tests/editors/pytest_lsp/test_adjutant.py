"""Adjutant with pytest-lsp: the author of a language server would test it like this.

One story a test, with the capabilities of three editors that pytest-lsp knows. Never sleeps, except for
the time that a person reads a question.
"""
import asyncio
from pathlib import Path

import pytest
import pytest_lsp
from lsprotocol import types as lsp
from pygls.workspace import TextDocument
from pytest_lsp import ClientServerConfig, LanguageClient, client_capabilities, make_test_lsp_client

FILE = Path("greet.py").absolute()
BEFORE = FILE.read_text()
# An approval counts only after this many seconds.
READ = 0.45


class User:
    """The user of the client: their open document, their questions and their answer."""

    def __init__(self, client: LanguageClient, answer: str):
        self.client, self.answer = client, answer
        self.document = TextDocument(FILE.as_uri(), BEFORE, version=1)
        self.asked: list[str] = []

        @client.feature(lsp.WINDOW_SHOW_MESSAGE_REQUEST)
        async def is_asked(question: lsp.ShowMessageRequestParams):
            self.asked.append(question.message)
            await asyncio.sleep(READ)
            return next(action for action in question.actions if action.title == self.answer)

        @client.feature(lsp.WORKSPACE_APPLY_EDIT)
        def edits(params: lsp.ApplyWorkspaceEditParams):
            (change,) = params.edit.document_changes
            assert change.text_document.version == self.document.version
            self.change(change.edits)
            return lsp.ApplyWorkspaceEditResult(applied=True)

    def change(self, edits):
        place = lambda edit: (edit.range.start.line, edit.range.start.character)
        for edit in sorted(edits, key=place, reverse=True):
            self.document.apply_change(lsp.TextDocumentContentChangePartial(range=edit.range, text=edit.new_text))
        self.document.version += 1
        changed = lsp.VersionedTextDocumentIdentifier(uri=self.document.uri, version=self.document.version)
        whole = lsp.TextDocumentContentChangeWholeDocument(text=self.document.source)
        self.client.text_document_did_change(lsp.DidChangeTextDocumentParams(changed, [whole]))

    async def starts(self):
        opened = lsp.TextDocumentItem(self.document.uri, "python", 1, BEFORE)
        self.client.text_document_did_open(lsp.DidOpenTextDocumentParams(opened))
        task = {"text": "Mend the greeting", "uri": self.document.uri}
        await self.client.workspace_execute_command_async(lsp.ExecuteCommandParams("adjutant.start", [task]))

    async def sees(self, kind: str):
        """Waits until the progress of the task has begun or ended."""
        while not any(one.kind == kind for all in self.client.progress_reports.values() for one in all):
            notified = self.client.protocol.wait_for_notification_async(lsp.PROGRESS)
            await asyncio.wait_for(notified, 30)


@pytest.fixture(params=["visual-studio-code", "neovim", "emacs"])
def editor(request):
    return request.param


def make_client():
    """Returns pytest-lsp's own client, which announces registrations for VS Code but does not handle them."""
    client = make_test_lsp_client()

    @client.feature(lsp.CLIENT_REGISTER_CAPABILITY)
    def register(_: lsp.RegistrationParams):
        return None

    return client


@pytest_lsp.fixture(config=ClientServerConfig(["adjutant", "lsp"], client_factory=make_client))
async def client(lsp_client: LanguageClient, editor):
    folder = lsp.WorkspaceFolder(FILE.parent.as_uri(), "project")
    answer = await lsp_client.initialize_session(
        lsp.InitializeParams(
            capabilities=client_capabilities(editor),
            initialization_options={"asks": {"popup_lines": 12}},
            root_uri=folder.uri,
            workspace_folders=[folder],
        )
    )
    assert answer.server_info.name == "adjutant"
    yield
    await lsp_client.shutdown_session()


@pytest.mark.asyncio
async def test_allows(client, editor, allow):
    user = User(client, allow)
    await user.starts()
    await user.sees("end")
    assert len(user.asked) == 1 and '+    return "Hello, " + name' in user.asked[0]
    assert user.document.source == BEFORE.replace("Helo", "Hello")
    assert FILE.read_text() == BEFORE, "nothing was saved"


@pytest.mark.asyncio
async def test_rejects(client, editor):
    user = User(client, "Reject")
    await user.starts()
    await user.sees("end")
    assert len(user.asked) == 1
    assert user.document.source == BEFORE


@pytest.mark.asyncio
async def test_cancels(client, editor):
    user = User(client, "Reject")
    await user.starts()
    await user.sees("begin")
    (token,) = client.progress_reports
    client.window_work_done_progress_cancel(lsp.WorkDoneProgressCancelParams(token))
    await user.sees("end")
    assert user.asked == []
