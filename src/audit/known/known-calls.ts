import { z } from 'zod';
import type { FieldsOf } from '../../core/options.js';
import type { CallEffect, EffectKind } from '../effect.js';
import { isMissing, type Members } from '../evaluate/members.js';
import { HOLE, type OutsideValue, textsOf, type Values } from '../evaluate/values.js';
import { graphqlAccess, requestEffects } from './http.js';
import { PAYMENTS, ROWS } from './packages.js';
import { programEffects, shellEffects } from './programs.js';
import { sqlEffects } from './sql.js';
import { verbOf, wordsIn } from './words.js';

/** Your own words on calls and programs that the tables don't know, or get wrong. */
export interface AuditKnowledge {
  /** The effects of calls, by package and name: `{ 'ledger-client.sync': 'write' }`. */
  readonly calls?: Readonly<Record<string, 'read' | 'write' | 'none'>> | undefined;
  /** The effects of programs, by their first words: `{ 'deployctl status': 'read' }`. */
  readonly programs?: Readonly<Record<string, 'read' | 'write'>> | undefined;
}

/** The option that says what your own calls and programs do. */
export const knowledge = z.strictObject({
  calls: z.record(z.string(), z.enum(['read', 'write', 'none'])).optional(),
  programs: z.record(z.string(), z.enum(['read', 'write'])).optional(),
} satisfies FieldsOf<AuditKnowledge>);

/** A call of something in a package. */
interface OutsideCall extends OutsideValue {
  readonly given: readonly Values[];
  readonly isNew: boolean;
}

type Effects = readonly CallEffect[];

/** Says what calls of packages do. `undefined` means that nothing is known. */
export class KnownCalls {
  constructor(
    readonly evaluator: Members,
    readonly known: AuditKnowledge = {},
  ) {}

  effectsOf(call: OutsideCall): Effects | undefined {
    const [, by] = this.#readers.find(([packages]) => packages.test(call.pkg)) ?? [];
    const name = callNameOf(call);
    return this.#byUser(call, name) ?? by?.(call, name) ?? byTable(call, name);
  }

  #byUser(call: OutsideCall, name: string): Effects | undefined {
    const { calls = {} } = this.known;
    const key = [callName(call), `${call.pkg}.${name}`].find((each) => Object.hasOwn(calls, each));
    if (key === undefined) return undefined;
    const access = calls[key]!;
    return access === 'none' ? [] : [{ kind: 'known', access, call: key }];
  }

  /** Readers of calls whose arguments decide what they do. */
  readonly #readers: readonly (readonly [
    RegExp,
    (call: OutsideCall, name: string) => Effects | undefined,
  ])[] = [
    [/^global$/, (call, name) => this.#global(call, name)],
    [/^(?:fs|fs-extra|graceful-fs)$/, (call, name) => this.#file(call, name)],
    [
      /^(?:child_process|execa|cross-spawn|tinyexec|nano-spawn|zx|shelljs)$/,
      (call, name) => this.#program(call, name),
    ],
    [/^https?$/, (call, name) => (name === 'request' ? this.#request(call) : undefined)],
    [HTTP_CLIENTS, (call, name) => this.#http(call, name)],
    [/^mongo/, (call, name) => (name === 'aggregate' ? this.#aggregate(call) : undefined)],
    [SQL_CLIENTS, (call, name) => this.#sql(call, name.toLowerCase())],
    [/^@(?:aws-sdk|smithy)\//, (call, name) => (name === 'send' ? this.#command(call) : undefined)],
    [
      /^(?:@octokit\/|graphql-request|@apollo\/client|urql)/,
      (call, name) => this.#graphql(call, name),
    ],
  ];

  #global(call: OutsideCall, name: string): Effects | undefined {
    const { path, given } = call;
    const [owner = ''] = path;
    if (owner === 'fetch') return this.#request(call);
    const label = callName(call);
    if (/^(?:DateConstructor\.now|[Pp]erformance\.now|Date)$/.test(label))
      return given.length === 0 ? [effect('time', 'read', label)] : [];
    if (/^(?:process|Process|NodeJS\.Process)\b/.test(label)) {
      // Ending a program that the code started itself changes nothing.
      const isOwn = given[0]?.every(
        (each) => each.is === 'outside' && each.pkg === 'child_process',
      );
      return name === 'kill' && isOwn === true ? [] : byTable({ ...call, pkg: 'process' }, name);
    }
    if (owner === 'Storage') return byTable({ ...call, pkg: 'storage' }, name);
    // A text may be given to timers instead of a function.
    const isCode = /^set(?:Timeout|Interval|Immediate)$/.test(owner)
      ? given[0]?.some((each) => each.is !== 'function' && each.is !== 'outside')
      : !QUIET_GLOBALS.test(owner) || /^(?:constructor|__define\w+__)$/.test(name);
    return isCode === true ? undefined : [];
  }

  #file(call: OutsideCall, name: string): Effects | undefined {
    const { given } = call;
    const paths = textsOf(given[0] ?? []);
    const temporary = paths.length > 0 && paths.every((text) => text.startsWith('/tmp'));
    const isOpen = /^open(?:Sync|AsBlob)?$/.test(name);
    const options = given.at(-1)?.filter(({ is }) => is === 'object') ?? [];
    const flags = isOpen
      ? (given[1] ?? [])
      : ['flag', 'flags'].flatMap((key) => this.evaluator.field(options, key));
    const effects =
      isOpen || !isMissing(flags)
        ? [effect('files', opening(textsOf(flags)), callName(call))]
        : byTable(call, name);
    return effects?.map((each) => ({ ...each, ...(temporary && { temporary }) }));
  }

  #program(call: OutsideCall, name: string): Effects | undefined {
    const [program, list = [], options = []] = call.given;
    const plain = byTable(call, name);
    if (plain !== undefined || program === undefined) return plain;
    if (program.some((each) => each.is === 'any' && each.input === true))
      return [effect('program', 'write', `${callName(call)} of what the caller passes`)];
    const objects = [...list, ...options].filter(({ is }) => is === 'object');
    const isShell =
      /^exec(?:Sync)?$|^\$$|Command/.test(name) ||
      !isMissing(this.evaluator.field(objects, 'shell').filter(({ is }) => is === 'literal'));
    if (call.pkg === 'shelljs' && !isShell) return programEffects([name]);
    const words = list.length === 0 || isShell ? [] : this.evaluator.words(list);
    return textsOf(program).flatMap((text) => {
      const line = [name === 'fork' ? 'node' : text, ...words];
      const { programs = {} } = this.known;
      const key = Object.keys(programs).find((each) => `${line.join(' ')} `.startsWith(`${each} `));
      if (key !== undefined) return [effect('program', programs[key]!, key)];
      return isShell ? shellEffects(text) : programEffects(line);
    });
  }

  /** Returns the effect of a request: its address, options and body can be arguments or fields of one. */
  #request(call: OutsideCall, method?: string): Effects {
    const [first = [], ...more] = call.given;
    const made = first.find((each) => each.is === 'outside' && each.args !== undefined);
    const { args: [address = first, ...rest] = [] } = (made ?? {}) as Partial<OutsideValue>;
    const isConfig = first.length > 0 && first.every(({ is }) => is === 'object');
    const options = [...(isConfig ? first : []), ...more.flat(), ...rest.flat()];
    const fields = (name: string) => this.evaluator.field(options, name);
    const urls = textsOf(isConfig ? fields('url') : address);
    const bodies = [...options, ...['body', 'data', 'json'].flatMap(fields)].map((each) =>
      each.is === 'object' ? this.evaluator.field([each], 'query') : [each],
    );
    const query = textsOf(bodies.flat()).find((text) => text !== HOLE && text !== 'undefined');
    const methods =
      method === undefined
        ? textsOf(fields('method')).filter((text) => text !== 'undefined')
        : [method];
    const url = urls.find((text) => text !== 'undefined') ?? HOLE;
    return requestEffects(methods.length === 0 ? ['GET'] : methods, url, query);
  }

  #http(call: OutsideCall, name: string): Effects | undefined {
    const [, method] = HTTP_METHOD.exec(name) ?? [];
    if (method !== undefined) return this.#request(call, method === 'del' ? 'delete' : method);
    const isCalled = CALLED.test(call.path.at(-1) ?? 'default') && !call.isNew;
    return byTable(call, name) ?? (isCalled ? this.#request(call) : undefined);
  }

  #sql(call: OutsideCall, name: string): Effects | undefined {
    const { path, pkg, given, isNew } = call;
    const isText = SQL_METHODS.has(name) || /^(?:sql|postgres|neon|\(\))$/.test(path.at(-1) ?? '');
    if (!isText || isNew || (name === 'get' && /^(?:sequelize|typeorm)/.test(pkg)))
      return undefined;
    if (/Statement|prepare/.test(path.slice(0, -1).join('.'))) return [];
    const [first] = given;
    if (first === undefined) return /^(?:query|exec|get|all)$/.test(name) ? [] : undefined;
    if (first.some((each) => each.is === 'any' && each.input === true))
      return [effect('database', 'write', `${callName(call)} of what the caller passes`)];
    const fields = ['text', 'sql', 'query', 'sqlText'];
    const texts = first.flatMap((each) =>
      each.is === 'object'
        ? fields.flatMap((key) => textsOf(this.evaluator.field([each], key)))
        : textsOf([each]),
    );
    return texts
      .filter((text) => text !== 'undefined')
      .flatMap((text) => sqlEffects(name === 'pragma' ? `PRAGMA ${text}` : text));
  }

  #command({ given, pkg }: OutsideCall): Effects {
    return (given[0] ?? []).map((each) => {
      const name =
        (each.is === 'outside' && each.path.find((part) => part.endsWith('Command'))) || '';
      const verb = verbOf(name.replace(/Command$/, ''));
      const access = name === '' ? 'unknown' : (verb?.access ?? 'write');
      return effect('network', access, `${pkg} ${name || 'send'}`, verb?.deletes);
    });
  }

  #graphql({ given: [first = []], pkg, path }: OutsideCall, name: string): Effects | undefined {
    const [text = HOLE] = textsOf(first);
    const isQuery = /^(?:graphql|request|rawRequest|query)$/.test(name);
    if (isQuery && pkg !== '@octokit/rest' && /^\s*(?:query|mutation|\{|#|fragment)/.test(text))
      return [effect('network', graphqlAccess(text), callName({ pkg, path }))];
    if (name === 'iterator') return [];
    if (name !== 'request' && name !== 'paginate') return undefined;
    // A method of the client may be passed instead of a route.
    if (first[0]?.is === 'outside') return [];
    const [, method = text.startsWith('/') ? 'GET' : HOLE, url = text] =
      /^([A-Z]+) (.*)/.exec(text) ?? [];
    return requestEffects([method], url, undefined);
  }

  #aggregate(call: OutsideCall): Effects {
    const stages = this.evaluator.items(call.given[0] ?? []) ?? [[]];
    const names = stages.flatMap((stage) => stage.flatMap((each) => this.evaluator.keys(each)));
    const isOpen = names.includes(HOLE) || stages.some(({ length }) => length === 0);
    const isWrite = names.some((name) => /^\$(?:out|merge)$/.test(name));
    return [effect('database', isWrite ? 'write' : isOpen ? 'unknown' : 'read', callName(call))];
  }
}

/** Clients whose calls are requests with a method, a URL and a body. */
const HTTP_CLIENTS =
  /^(?:axios|got|ky|node-fetch|undici|superagent|needle|cross-fetch|ofetch|wretch|phin|gaxios|request|bent|isomorphic-fetch|make-fetch-happen|ky-universal|@hapi\/wreck|request-promise)$/;
const HTTP_METHOD = /^(get|head|options|post|put|patch|del|delete)(?:Form)?$/i;
/** The last names of HTTP clients that are called themselves. */
const CALLED =
  /^(?:\(\)|default|request|stream|fetch|raw|\$fetch|ofetch|axios|got|ky|AxiosInstance|AxiosStatic|Axios|Got|KyInstance|native)$/;
/** Databases whose methods take SQL. */
const SQL_CLIENTS =
  /^(?:pg|pg-pool|pg-promise|postgres|@neondatabase\/serverless|mysql2?|mariadb|better-sqlite3|sqlite3?|sql\.js|@libsql\/client|mssql|tedious|oracledb|snowflake-sdk|duckdb|@duckdb\/node-api|@clickhouse\/client|@google-cloud\/(?:bigquery|spanner)|@planetscale\/database|cassandra-driver|sequelize|typeorm|knex|kysely|drizzle-orm|@prisma\/client|bun:sqlite)$/;
const SQL_METHODS = new Set(
  wordsIn(
    'query execute exec run all get each prepare raw unsafe sql values iterate batch executesql rawquery command pragma $queryraw $executeraw $queryrawunsafe $executerawunsafe one oneornone many manyornone none any result multi simple',
  ),
);
/** The language's own things and Node's globals whose calls change nothing but their own object. */
const QUIET_GLOBALS =
  /^(?:\w*Array|\w*Constructor|String|Number|Boolean|BigInt|Date|Math|JSON|Object|Promise|PromiseLike|Map|Set|Weak\w+|Readonly\w+|Symbol|RegExp\w*|\w*Error|ArrayBuffer|SharedArrayBuffer|Atomics|DataView|Intl|Iterator\w*|Generator|AsyncGenerator|Async\w*|Array\w*|CallableFunction|NewableFunction|Function|Reflect|Proxy|parseInt|parseFloat|isNaN|isFinite|(?:en|de)codeURI\w*|escape|unescape|structuredClone|atob|btoa|clear\w+|queueMicrotask|console|Console|URL\w*|Headers|Request|Response|Body\w*|FormData|Blob|File|AbortController|AbortSignal|Text\w+coder\w*|Readable\w*|Writable\w*|Transform\w*|ByteLength\w*|Compression\w*|Event|EventTarget|CustomEvent|performance|Performance\w*|crypto|Crypto|SubtleCrypto|Buffer\w*|Timer|Timeout|Immediate|NodeJS|globalThis|Disposable\w*|Segmenter|Collator|MessageChannel|DOMException|String\w+)$/;

function effect(
  kind: EffectKind,
  access: CallEffect['access'],
  call: string,
  deletes?: boolean,
): CallEffect {
  return { kind, access, call, ...(deletes && { deletes }) };
}

/** Returns the name of what is called, without `()`, `new` and `promises`. */
export function callNameOf({ path, pkg }: Pick<OutsideValue, 'path' | 'pkg'>): string {
  return path.filter((part) => !/^(?:\(\)|new|default|promises)$/.test(part)).at(-1) ?? pkg;
}

/** Returns a call's name as reports show it: `axios.post`, `stripe.RefundsResource.create`. */
export function callName({ pkg, path }: Pick<OutsideValue, 'path' | 'pkg'>): string {
  const names = path.filter((part) => !/^(?:\(\)|new|default)$/.test(part));
  return [...(pkg === 'global' ? [] : [pkg]), ...names].join('.');
}

/** Returns what opening a file with one of the flags does. */
function opening(flags: readonly string[]): CallEffect['access'] {
  const isOpen = (flag: string) => flag.includes(HOLE);
  if (flags.some((flag) => !isOpen(flag) && !READ_FLAGS.test(flag))) return 'write';
  return flags.some(isOpen) ? 'unknown' : 'read';
}

const READ_FLAGS = /^(?:r|rs|sr|undefined|(?:0|O_RDONLY|O_NO\w+|O_DIRECTORY|O_SYNC|\|)+)$/;

/** Returns a test for the words of a list, where `*` at the end stands for anything. */
function patterns(list = ''): (name: string) => boolean {
  const words = wordsIn(list.toLowerCase());
  const exact = new Set(words);
  const starts = words.filter((word) => /.\*$/.test(word)).map((word) => word.slice(0, -1));
  return (name) =>
    exact.has(name.toLowerCase()) || starts.some((start) => name.toLowerCase().startsWith(start));
}

const rows = ROWS.map((row) => ({
  row,
  packages: patterns(row.packages),
  reads: patterns(row.reads),
  writes: patterns(row.writes),
  quiet: patterns(row.quiet),
}));

/** Returns what the row of a package says of a call. */
function byTable(call: OutsideCall, given: string): Effects | undefined {
  const found = rows.find(({ packages }) => packages(call.pkg));
  if (found === undefined) return undefined;
  const { row, quiet, reads, writes } = found;
  const name = given.replace(/Sync$/, '');
  const accessOf = (each: string) =>
    reads(each) ? 'read' : writes(each) ? 'write' : quiet(each) ? 'none' : undefined;
  const verb = verbOf(name);
  const isMade = call.isNew && row.kind !== 'program' ? 'none' : undefined;
  const access =
    accessOf(name) ?? isMade ?? (row.verbs === true ? verb?.access : undefined) ?? accessOf('*');
  if (access === undefined || access === 'none') return access && [];
  const label = callName(call);
  const isWrite = access === 'write';
  const pays =
    isWrite &&
    PAYMENTS.test(call.pkg) &&
    /charge|payment|refund|transfer|payout|pay$|capture/i.test(label);
  return [{ ...effect(row.kind, access, label, isWrite && verb?.deletes), ...(pays && { pays }) }];
}
