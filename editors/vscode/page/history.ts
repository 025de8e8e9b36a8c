// The prompts of before in the box: Up on its first line goes back, Down on its last line comes forward to what was typed.
// Never loses what was typed, and asks for the prompts only when they are wanted.

// `ask` asks the extension for them; `changed` is called when the box has another text.
export function createHistory(box: HTMLTextAreaElement, ask: () => void, changed: () => void) {
  let all: string[] | undefined; // newest first; nothing before they were asked for
  let at = -1; // which one stands in the box; -1 is what was typed
  let draft = '';
  let wanted: string | undefined; // what stood in the box when they were asked for

  const put = (text: string) => {
    box.value = text;
    box.setSelectionRange(text.length, text.length);
    changed();
  };
  const step = (by: number) => {
    const next = at + by;
    if (!all || next < -1 || next >= all.length) return;
    if (at === -1) draft = box.value;
    at = next;
    put(at === -1 ? draft : all[at] ?? '');
  };
  const isPlain = (event: KeyboardEvent) => !event.shiftKey && !event.ctrlKey && !event.altKey && !event.metaKey && !event.isComposing;
  return {
    // Handles a key; whether it was one for this.
    key(event: KeyboardEvent) {
      if (!isPlain(event) || box.selectionStart !== box.selectionEnd) return false;
      const [before, after] = [box.value.slice(0, box.selectionStart), box.value.slice(box.selectionEnd)];
      // In a prompt of before, its end counts as its first line: the next Up goes on.
      const goesBack = event.key === 'ArrowUp' && (!before.includes('\n') || (at >= 0 && after === ''));
      const comesForward = event.key === 'ArrowDown' && at >= 0 && !after.includes('\n');
      if (!goesBack && !comesForward) return false;
      if (comesForward) step(-1);
      else if (all) step(1);
      else if (wanted === undefined) {
        wanted = box.value;
        ask();
      }
      return true;
    },
    // Without prompts they could not be had; the next key asks again.
    given(prompts: string[] | undefined) {
      all = prompts;
      // Who went on typing meanwhile does not lose it.
      if (all?.length && wanted === box.value) step(1);
      wanted = undefined;
    },
    // What is typed is the draft from now on. One that stood there before is the newest prompt of before.
    typed() {
      if (at >= 0 && draft) all = [draft, ...all ?? []];
      at = -1;
    },
    // A prompt was sent, or another conversation is shown.
    forget() {
      [all, at, draft, wanted] = [undefined, -1, '', undefined];
    },
  };
}
