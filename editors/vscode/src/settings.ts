// What the user set under `adjutant`, in the words of the server.
// Never what a workspace set: a project's settings may only tighten, and have a file of their own for that.

import { accessSync, constants, existsSync } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';
import * as vscode from 'vscode';
import { contributes } from '../package.json';

// Only the package for one platform carries the program, beside the folder of this code.
const CARRIED = join(__dirname, '..', 'bin', 'adjutant');
const OWN = 'adjutant.server.'; // settings of the extension, which the server does not know
// The first words of the settings that package.json has of the server: `limits` of `adjutant.limits.requests`.
const KEYS = [...new Set(Object.keys(contributes.configuration.properties).filter((name) => !name.startsWith(OWN)).map((name) => name.split('.')[1]))];

function global(key: string) {
  return vscode.workspace.getConfiguration('adjutant').inspect(key)?.globalValue;
}

// The settings that are set; what is left out is for Adjutant's own file to say.
export function ofUser() {
  const set = KEYS.map((key) => [key, global(key)]).filter(([, value]) => value !== undefined && value !== null);
  return Object.fromEntries(set);
}

// The program that the user set, else the carried one, else what `PATH` has.
export function serverPath(): string {
  const path = global('server.path');
  return (typeof path === 'string' && path) || (existsSync(CARRIED) ? CARRIED : 'adjutant');
}

// Whether there is such a program; a bare name is looked for in `PATH`.
export function isThere(path: string): boolean {
  const places = isAbsolute(path) || path.includes('/') ? [path] : (process.env.PATH ?? '').split(delimiter).map((place) => join(place, path));
  return places.some((place) => {
    try {
      accessSync(place, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}
