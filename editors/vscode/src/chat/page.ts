// The document of the chat: its parts, and what it may load. Never holds a text of a session.

import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

// Script and style stand in the document itself: a page of VS Code that starts slowly does not find a file of its own, and the
// chat would be a box that sends nothing.
export function html(root: string) {
  const nonce = randomBytes(16).toString('hex');
  const of = (name: string) => readFileSync(join(root, 'dist', name), 'utf8');
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'nonce-${nonce}'; img-src data:; script-src 'nonce-${nonce}'">
<style id="style" nonce="${nonce}">${of('chat.css').replaceAll('</style', '<\\/style')}</style>
<title>Chat</title>
</head>
<body>
<main id="items" role="log" aria-label="Conversation" tabindex="0"></main>
<details id="plan" aria-label="Plan" hidden></details>
<form id="composer">
<div id="problem" role="alert" hidden></div>
<div id="state" role="status"></div>
<ul id="chips" aria-label="Added to the prompt" aria-live="polite" hidden></ul>
<div id="box"><ul id="completions" role="listbox" aria-label="Completions" hidden></ul><textarea id="text" rows="2" aria-label="Prompt" aria-autocomplete="list" placeholder="What is to be done?"></textarea></div>
<div id="foot"><div id="options"></div><button type="button" id="stop" hidden>Stop</button><button type="submit" id="send">Send</button></div>
</form>
<script nonce="${nonce}">${of('chat.js').replaceAll('</script', '<\\/script')}</script>
</body>
</html>`;
}
