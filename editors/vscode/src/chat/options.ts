// What is chosen for a conversation: mode, model, effort, as the server lists it. Never knows a value that the server did not name.

import * as vscode from 'vscode';
import type { ConfigOption, ConfigScope, ModelListResult } from '../wire';
import type { OptionButton, Request } from './messages';

// A value, and the conversations it is for.
export interface Picked { value: string; scope?: ConfigScope }
// The option that only leads to a provider.
export type Pickable = ConfigOption & { adds?: undefined } | { id: 'model'; adds: true };
import { line, status } from '../display';

// For the buttons of the chat: which options there are, and what is chosen.
export const buttonsOf = (options: ConfigOption[]): OptionButton[] => options.map(({ id, name, currentValue, options: values }) => ({
  id,
  // A value that the provider decides says less than the name of its option.
  label: line(currentValue === 'default' ? name : values.find(({ value }) => value === currentValue)?.name ?? currentValue, 60),
  title: `${line(name, 60)}: ${line(currentValue, 200)}`,
}));

const ADD = '$(add) Add a provider…';
// A mode is of one conversation; the others have a setting.
const WITH_SETTING = ['model', 'effort', 'verbosity'];

// Lets the user pick a value of an option. Returns it with the conversations it is for; nothing if all was left as it is. `add` sets up a
// provider and returns its model.
export async function pickValue(option: Pickable, request: Request, add: () => Promise<string | undefined>): Promise<Picked | undefined> {
  const added = async () => {
    const value = await add();
    return value === undefined ? undefined : { value };
  };
  if (option.adds) return added();
  // A model that cannot be used now says why, and what to set.
  const models = option.id === 'model' ? (await request<ModelListResult>('agent/model/list', {})).models : [];
  interface Value extends vscode.QuickPickItem { value?: string; adds?: boolean; scope?: ConfigScope }
  const rows = option.options.map(({ value, name, description }): Value => {
    const model = models.find((one) => one.model === value);
    const facts = model && [`${Math.round(model.contextWindow / 1000)}k tokens`, model.images && 'images'].filter(Boolean).join(', ');
    return {
      label: status(name, 100),
      description: [value === option.currentValue && 'chosen', facts].filter(Boolean).join(' · '),
      detail: status(model?.unavailable ? `cannot be used now: ${model.unavailable}` : description ?? '', 300) || undefined,
      value,
    };
  });
  // The first row is chosen already when the list opens: Enter leaves all as it is.
  rows.sort((one, other) => Number(other.value === option.currentValue) - Number(one.value === option.currentValue));
  const acts: Value[] = [];
  // The first model of the list is the one that new conversations have.
  if (WITH_SETTING.includes(option.id) && models[0]?.model !== option.currentValue) {
    acts.push({ label: '$(pin) For new conversations too', description: status(option.currentValue, 100), detail: 'Write it into the settings of Adjutant', value: option.currentValue, scope: 'user' });
  }
  if (option.id === 'model') acts.push({ label: ADD, adds: true });
  const separator: Value = { label: '', kind: vscode.QuickPickItemKind.Separator };
  const picked = await vscode.window.showQuickPick([...rows, ...(acts.length ? [separator, ...acts] : [])], { title: `Adjutant: ${line(option.name, 60)}`, matchOnDescription: true });
  if (picked?.adds) return added();
  if (picked?.value === undefined || (!picked.scope && picked.value === option.currentValue)) return undefined;
  return { value: picked.value, scope: picked.scope };
}

// Lets the user pick one of several options.
export async function pickOption(options: ConfigOption[]): Promise<Pickable | undefined> {
  const rows: (vscode.QuickPickItem & { option: Pickable })[] = options.map((option) => ({ label: status(option.name, 60), description: status(option.currentValue, 100), option }));
  // Without a model the server has no such option.
  if (!options.some(({ id }) => id === 'model')) rows.unshift({ label: ADD, option: { id: 'model', adds: true } });
  if (rows.length < 2) return rows[0]?.option;
  return (await vscode.window.showQuickPick(rows, { title: 'Adjutant: What to Choose' }))?.option;
}
