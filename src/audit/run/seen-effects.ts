import { relative, sep } from 'node:path';
import type { CallEffect, Effect } from '../effect.js';
import { builtinEffects } from '../known/builtins.js';
import { httpEffects } from '../known/http.js';
import type { KnownValue } from '../known/known-value.js';
import { programEffects } from '../known/programs.js';

/** A recorded call of a Node built-in, before its effect is determined. */
export interface Seen {
  readonly module: string;
  readonly path: readonly string[];
  /** The plain parts of its arguments. */
  readonly args: readonly KnownValue[];
  /** The real paths that a call of fs would write to. */
  readonly targets?: readonly string[];
  /** True if it wasn't carried out because it's outside the folder that the tool may write to. */
  readonly refused?: true;
  /** The functions on the stack as `file:line`, innermost first, without Node's own. */
  readonly frames: readonly string[];
}

/** The recorder's settings in a process that runs tools for an audit. */
export interface Confinement {
  /** The record's file. The tool can't write to it. */
  readonly record: string;
  /** The only folder that the tool may write to. */
  readonly hold: string;
  /** The socket of the sink, which replaces the network. */
  readonly sink: string;
  /** The arguments that preload the recorder into a worker. */
  readonly preload: readonly string[];
}

/** The environment variable that contains the `Confinement`. The recorder removes it. */
export const CONFINEMENT = 'TOOLDEX_AUDIT_CONFINEMENT';

/** The folders with the audited code. Places are relative to the first. */
type Subject = readonly string[];

/** Returns the effect of a recorded call. It has happened, so its certainty is `does`. */
export function effectsOfSeen(seen: Seen, subject: Subject): readonly Effect[] {
  const place = placesIn(seen.frames, subject);
  return callEffects(seen).map((effect) => ({ ...effect, certainty: 'does', ...place }));
}

function callEffects({ module, path, args, targets }: Seen): readonly CallEffect[] {
  const [first, second, third] = args;
  const text = (value: KnownValue) => (typeof value === 'string' ? value : undefined);
  if (module === 'child_process')
    return programEffects(text(first) ?? '', Array.isArray(second) ? second.map(text) : []);
  if (module === 'http' || path[0] === 'fetch')
    return httpEffects(text(first), text(second), third);
  if (module === 'process' && path[2] === 'set')
    return [
      {
        kind: 'memory-state',
        access: 'write',
        destructive: true,
        idempotent: true,
        call: `process.env.${path[1]!} =`,
      },
    ];
  // Flags may be numbers. The recorder has already translated them.
  if (module === 'fs' && /^open(?:Sync)?$/.test(path.at(-1)!))
    return builtinEffects(module, path, [
      first,
      targets === undefined ? 'r' : (text(second) ?? 'w'),
    ])!;
  return builtinEffects(module, path, args) ?? [];
}

/**
 * Returns the innermost place in the audited code and the path to it. If there is none, returns the
 * place in the package that made the call.
 */
export function placesIn(frames: readonly string[], subject: Subject): Pick<Effect, 'at' | 'via'> {
  const isOwn = (frame: string) =>
    subject.some((folder) => frame.startsWith(folder + sep)) &&
    !frame.includes(`${sep}node_modules${sep}`, subject[0]!.length);
  const told = (frame: string) => {
    const folder = subject.find((each) => frame.startsWith(each + sep));
    return (
      folder === undefined
        ? frame.slice(
            frame.lastIndexOf('node_modules') === -1
              ? frame.lastIndexOf(sep) + 1
              : frame.lastIndexOf('node_modules'),
          )
        : relative(folder, frame)
    )
      .split(sep)
      .join('/');
  };
  const own = frames
    .filter(isOwn)
    .map(told)
    .filter((place, index, all) => place !== all[index - 1]);
  return { at: own[0] ?? told(frames[0] ?? 'unknown:0'), via: own.slice(1).reverse() };
}

/** An observed HTTP request, or another use of the network. */
export interface SeenHost {
  readonly host: string;
  readonly methods: readonly string[];
}

/** Returns the HTTP request in a record, or undefined for other records. */
export function requestIn({
  module,
  path,
  args: [method, address],
}: Seen): { readonly method: string; readonly host: string } | undefined {
  if ((module !== 'http' && path[0] !== 'fetch') || typeof method !== 'string') return undefined;
  return {
    method,
    host:
      typeof address === 'string' && URL.canParse(address) ? new URL(address).hostname : 'unknown',
  };
}

const OTHERS: readonly string[] = ['net', 'tls', 'dgram', 'dns', 'http2', 'global'];

/** Returns the hosts in records, with the methods of their requests. */
export function hostsIn(records: readonly Seen[]): readonly SeenHost[] {
  const hosts = new Map<string, Set<string>>();
  for (const record of records) {
    const {
      module,
      args: [place],
    } = record;
    const request = requestIn(record);
    const host =
      request?.host ??
      (OTHERS.includes(module) && typeof place === 'string'
        ? place.includes('//') && URL.canParse(place)
          ? new URL(place).hostname
          : place
        : undefined);
    if (host === undefined) continue;
    const methods = hosts.get(host) ?? new Set();
    hosts.set(host, request === undefined ? methods : methods.add(request.method));
  }
  return [...hosts].map(([host, methods]) => ({ host, methods: [...methods].sort() }));
}

/** Returns records without the sockets and DNS queries of recorded requests. */
export function withoutSockets(records: readonly Seen[]): readonly Seen[] {
  const asked = new Set<unknown>(records.flatMap((record) => requestIn(record)?.host ?? []));
  return records.filter(
    ({ module, args }) => !['net', 'tls', 'dns'].includes(module) || !asked.has(args[0]),
  );
}

/** Returns effects, with each kind of change at each place once. */
export function distinctEffects(effects: readonly Effect[]): readonly Effect[] {
  const seen = new Set<string>();
  return effects.filter(({ kind, access, call, at }) => {
    const key = JSON.stringify([kind, access, call, at]);
    return !seen.has(key) && seen.add(key);
  });
}
