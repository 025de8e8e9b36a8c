// The images of prompts that are not sent yet, as files in the storage of the extension, so that they outlive the window.
// Never keeps one that no draft has.

import { createHash } from 'node:crypto';
import * as vscode from 'vscode';
import type { Complain } from '../failure';

export function createImages(context: vscode.ExtensionContext, complain: Complain) {
  const folder = vscode.Uri.joinPath(context.storageUri ?? context.globalStorageUri, 'images');
  const written = new Map<string, string>(); // by file, its content in base64, while this window has it
  const { fs } = vscode.workspace;
  return {
    // Keeps an image. Returns its file at once; it is written meanwhile.
    add(data: string) {
      const file = createHash('sha256').update(data).digest('hex').slice(0, 32);
      written.set(file, data);
      const write = async () => {
        await fs.createDirectory(folder);
        await fs.writeFile(vscode.Uri.joinPath(folder, file), Buffer.from(data, 'base64'));
      };
      write().catch(complain);
      return file;
    },
    // Returns the content in base64; nothing if it is lost.
    async read(file: string) {
      if (written.has(file)) return written.get(file);
      try {
        const data = Buffer.from(await fs.readFile(vscode.Uri.joinPath(folder, file))).toString('base64');
        written.set(file, data);
        return data;
      } catch {
        return undefined;
      }
    },
    // Removes what no draft has; `files` returns what they have now.
    async keepOnly(files: () => string[]) {
      let all: [string, vscode.FileType][];
      try {
        all = await fs.readDirectory(folder);
      } catch {
        return; // No image was ever kept.
      }
      // Asked only now: an image may have come meanwhile.
      const kept = files();
      [...written.keys()].filter((file) => !kept.includes(file)).forEach((file) => written.delete(file));
      await Promise.all(all.filter(([file]) => !kept.includes(file)).map(([file]) => fs.delete(vscode.Uri.joinPath(folder, file))));
    },
  };
}
