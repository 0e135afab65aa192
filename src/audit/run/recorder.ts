import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { KnownValue } from '../known/known-value.js';
import { CONFINEMENT, type Confinement, type Seen } from './seen-effects.js';

// These functions are saved before the tool's code can replace them. They don't call any function
// that the tool can replace.
const { closeSync, openSync, realpathSync, writeSync } = fs;
const { stringify } = JSON;
const begins = Function.prototype.call.bind(Reflect.get(String.prototype, 'startsWith')) as (
  text: string,
  start: string,
) => boolean;

/** This process's settings. The settings are read once, before any other code can read them. */
export const confinement = JSON.parse(process.env[CONFINEMENT] ?? '{}') as Confinement;
delete process.env[CONFINEMENT];

export type Args = readonly unknown[];
export type Work = (this: unknown, ...args: Args) => unknown;

/** Several functions of one object that are recorded in the same way. */
export interface Watched {
  readonly owner: object;
  /**
   * The module under whose name the functions are recorded. `path` contains the names between the
   * module and the function.
   */
  readonly module: string;
  readonly path?: readonly string[];
  readonly names: readonly string[];
  /** Returns the part of a call that is written to the record. @default its arguments */
  readonly told?: (args: Args, name: string) => Args;
  /** Runs in place of the call. @default the call is made */
  readonly instead?: (args: Args, name: string, self: unknown) => unknown;
  /** Returns the files that a call writes. @default none */
  readonly writes?: (args: Args, name: string) => readonly string[];
}

/** Replaces functions with functions that record each call. */
export function watch({ owner, module, path: before = [], names, ...row }: Watched): void {
  for (const name of names) {
    const original = Reflect.get(owner, name) as Work | undefined;
    if (typeof original !== 'function') continue;
    const { told, instead, writes } = row;
    const tell = (args: Args, self: unknown, act: () => unknown) =>
      record(
        {
          module,
          path: [...before, name],
          args: told?.(args, name) ?? args,
          writes: writes?.(args, name) ?? [],
        },
        act,
        instead === undefined ? act : () => instead(args, name, self),
      );
    const value = new Proxy(original, {
      apply: (target, self, args: unknown[]) =>
        tell(args, self, () => Reflect.apply(target, self, args)),
      construct: (target, args: unknown[], newTarget) =>
        tell(args, newTarget, () => Reflect.construct(target, args, newTarget) as object) as object,
    });
    const { enumerable = true } = Object.getOwnPropertyDescriptor(owner, name) ?? {};
    Object.defineProperty(owner, name, { configurable: true, enumerable, writable: true, value });
  }
}

interface Call {
  readonly module: string;
  readonly path: readonly string[];
  readonly args: Args;
  readonly writes: readonly string[];
}

let isBusy = false;

/**
 * Records a call and makes it. Calls that Node makes as part of the call aren't recorded, and
 * neither are calls by module loaders.
 *
 * @param original Makes the call unchanged, for module loaders.
 * @param act Makes the call, or does something else instead.
 */
export function record<T>(
  { module, path: steps, args, writes }: Call,
  original: () => T,
  act: () => T = original,
): T {
  const { frames, isLoading, isInternal } = framesHere();
  if (isLoading) return original();
  // Node's own calls are skipped, such as opening a socket for a request that's already recorded.
  const isWork = module === 'child_process' || writes.length > 0;
  if (isInternal && (isBusy || !isWork)) return act();
  const wasBusy = isBusy;
  isBusy = true;
  try {
    const targets = writes.map(realPath);
    const refused = targets.some((target) => !isBelow(target, confinement.folder));
    const shown = args.map((value) => plain(value));
    write({ module, path: steps, args: shown, targets, refused, frames });
    if (!refused) return act();
    const message = 'EACCES: permission denied, an audited tool may write only to its copy';
    throw Object.assign(new Error(message), { code: 'EACCES', syscall: steps.at(-1) });
  } finally {
    isBusy = wasBusy;
  }
}

/**
 * Maximum number of lines in a record. Without a limit, a tool that never ends would fill the disk.
 */
const MOST_LINES = 20_000;
let lines = 0;

function write(seen: Seen): void {
  if (++lines <= MOST_LINES) append(`${stringify(seen)}\n`);
}

function append(text: string): void {
  const file = openSync(confinement.record, 'a');
  writeSync(file, text);
  closeSync(file);
}

// The empty line proves that the recorder is active.
append('\n');

const FRAME = /^\s+at (?:.*? \()?((?:file:\/\/|\/|[A-Za-z]:\\|node:).*?):(\d+):\d+\)?$/;
const LOADERS = /^node:internal\/modules\/|[\\/]node_modules[\\/](?:tsx|esbuild|get-tsconfig)[\\/]/;

/**
 * Returns the lines of the user's code that are on the stack, and whether a module loader or Node
 * itself made the call.
 */
function framesHere(): {
  readonly frames: readonly string[];
  readonly isLoading: boolean;
  readonly isInternal: boolean;
} {
  const { stackTraceLimit } = Error;
  const prepareStackTrace: unknown = Reflect.get(Error, 'prepareStackTrace');
  Object.assign(Error, { prepareStackTrace: undefined, stackTraceLimit: 60 });
  const { stack = '' } = new Error();
  Object.assign(Error, { prepareStackTrace, stackTraceLimit });
  const all = stack.split('\n').flatMap((line) => {
    const [, file, at] = FRAME.exec(line) ?? [];
    return file === undefined
      ? []
      : [
          {
            file: begins(file, 'file:') ? fileURLToPath(file.replace(/[?#].*$/, '')) : file,
            at,
          },
        ];
  });
  const places = all.filter(({ file }) => file !== all[0]!.file);
  const isOfNode = ({ file }: { readonly file: string }) => begins(file, 'node:');
  const first = places.find((place) => !isOfNode(place) || LOADERS.test(place.file));
  return {
    frames: places
      .filter((place) => !isOfNode(place))
      .map(({ file, at }) => `${file}:${at}`)
      .slice(0, 40),
    isLoading: first !== undefined && LOADERS.test(first.file),
    isInternal: places[0] === undefined || isOfNode(places[0]),
  };
}

/** Returns the real path of a file or folder that may not exist. */
function realPath(file: string): string {
  try {
    return realpathSync.native(file);
  } catch {
    const parent = path.dirname(file);
    return parent === file ? file : path.join(realPath(parent), path.basename(file));
  }
}

function isBelow(file: string, folder: string): boolean {
  return file === folder || begins(file, folder + path.sep);
}

const LONGEST = 500;

/** Returns the plain data in a value. Calls no getters or methods of the value. */
function plain(value: unknown, depth = 0): KnownValue {
  if (typeof value === 'string') return value.slice(0, LONGEST);
  if (value === null || typeof value === 'number' || typeof value === 'boolean') return value;
  if (value instanceof URL)
    return value.protocol === 'file:' ? fileURLToPath(value) : value.href.slice(0, LONGEST);
  if (typeof value !== 'object' || depth === 3) return undefined;
  if (Array.isArray(value)) return value.slice(0, 50).map((each) => plain(each, depth + 1));
  if (Object.getPrototypeOf(value) !== Object.prototype) return undefined;
  const fields = Object.entries(Object.getOwnPropertyDescriptors(value)).slice(0, 50);
  return Object.fromEntries(
    fields.map(([name, { value: inner }]) => [name, plain(inner, depth + 1)]),
  );
}
