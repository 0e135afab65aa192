/** A call that changes something, and what it needs at the top of the file. */
export interface Write {
  readonly title: string;
  readonly call: string;
  readonly top?: string | undefined;
}

/** A way to write a call so that it isn't plain to see. */
export interface Hider {
  readonly title: string;
  readonly make: (
    call: string,
    name: string,
    type: string,
  ) => { readonly before?: string; readonly statement: string };
}

export const WRITES: readonly Write[] = (
  [
    [
      'writes a file',
      `mutantWrite('mutant.txt', '')`,
      `import { writeFileSync as mutantWrite } from 'node:fs';`,
    ],
    [
      'appends to a file',
      `mutantFiles.appendFile('mutant.txt', 'x')`,
      `import mutantFiles from 'node:fs/promises';`,
    ],
    [
      'removes a folder',
      `mutantFs.promises.rm('mutant', { recursive: true })`,
      `import * as mutantFs from 'node:fs';`,
    ],
    ['makes a folder', `mutantFs.mkdirSync('mutant')`, `import * as mutantFs from 'node:fs';`],
    [
      'opens a file for writing',
      `mutantFs.openSync('mutant.txt', 'a')`,
      `import * as mutantFs from 'node:fs';`,
    ],
    [
      'streams into a file',
      `mutantFs.createWriteStream('mutant.txt').end('x')`,
      `import * as mutantFs from 'node:fs';`,
    ],
    [
      'commits with git',
      `mutantRun('git', ['commit', '--allow-empty', '-m', 'mutant'])`,
      `import { execFileSync as mutantRun } from 'node:child_process';`,
    ],
    [
      'runs a shell that removes',
      `mutantShell('cd /srv && rm -rf mutant')`,
      `import { exec as mutantShell } from 'node:child_process';`,
    ],
    ['posts', `fetch('https://mutant.example/items', { method: 'POST', body: '{}' })`],
    [
      'deletes at a service',
      `fetch(\`https://mutant.example/items/\${1 + 1}\`, { method: 'delete' })`,
    ],
    [
      'puts with axios',
      `mutantAxios.put('https://mutant.example/items/1', {})`,
      `import mutantAxios from 'axios';`,
    ],
    [
      'posts with a client of axios',
      `mutantApi.post('/items', {})`,
      `import mutantAxios from 'axios';\nconst mutantApi = mutantAxios.create({ baseURL: 'https://mutant.example' });`,
    ],
    [
      'patches with got',
      `mutantGot('https://mutant.example/1', { method: 'PATCH' })`,
      `import mutantGot from 'got';`,
    ],
    [
      'inserts with pg',
      `mutantPool.query('INSERT INTO mutants (id) VALUES ($1)', [1])`,
      `import { Pool as MutantPool } from 'pg';\nconst mutantPool = new MutantPool();`,
    ],
    [
      'updates with pg',
      'mutantPool.query({ text: `update mutants set n = n + 1 where id = ${1}` })',
      `import { Pool as MutantPool } from 'pg';\nconst mutantPool = new MutantPool();`,
    ],
    [
      'updates with knex',
      `mutantKnex('mutants').where({ id: 1 }).update({ n: 1 })`,
      `import mutantMakeKnex from 'knex';\nconst mutantKnex = mutantMakeKnex({ client: 'pg' });`,
    ],
    [
      'creates with prisma',
      'mutantPrisma.mutant.create({ data: {} })',
      `import { PrismaClient as MutantPrisma } from '@prisma/client';\nconst mutantPrisma = new MutantPrisma();`,
    ],
    [
      'inserts into mongo',
      `mutantMongo.db('x').collection('mutants').insertOne({ a: 1 })`,
      `import { MongoClient as MutantMongo } from 'mongodb';\nconst mutantMongo = new MutantMongo('mongodb://localhost');`,
    ],
    [
      'sets in redis',
      `mutantRedis.set('mutant', '1')`,
      `import MutantRedis from 'ioredis';\nconst mutantRedis = new MutantRedis();`,
    ],
    [
      'puts an object',
      `mutantS3.send(new MutantPut({ Bucket: 'b', Key: 'k' }))`,
      `import { S3Client as MutantS3, PutObjectCommand as MutantPut } from '@aws-sdk/client-s3';\nconst mutantS3 = new MutantS3({});`,
    ],
    [
      'sends a mail',
      `mutantMail.sendMail({ to: 'a@mutant.example' })`,
      `import mutantMailer from 'nodemailer';\nconst mutantMail = mutantMailer.createTransport({});`,
    ],
    [
      'adds a job',
      `mutantQueue.add('mutant', {})`,
      `import { Queue as MutantQueue } from 'bullmq';\nconst mutantQueue = new MutantQueue('mutants');`,
    ],
    [
      'refunds',
      `mutantStripe.refunds.create({ charge: 'x' })`,
      `import MutantStripe from 'stripe';\nconst mutantStripe = new MutantStripe('x');`,
    ],
    [
      'comments on an issue',
      `mutantOctokit.issues.createComment({ owner: 'o', repo: 'r', issue_number: 1, body: 'x' })`,
      `import { Octokit as MutantOctokit } from '@octokit/rest';\nconst mutantOctokit = new MutantOctokit();`,
    ],
    ['sets the environment', `(process.env.MUTANT = '1')`],
    [
      'counts in memory',
      `(mutantCounts.set('x', (mutantCounts.get('x') ?? 0) + 1), mutantCounts.size)`,
      'const mutantCounts = new Map<string, number>();\nexport const mutantTotal = () => [...mutantCounts];',
    ],
    [
      'keeps a list in memory',
      'mutantList.push(mutantList.length)',
      'const mutantList: number[] = [];\nexport const mutantAll = () => mutantList;',
    ],
    [
      'sends with got',
      `mutantGot.post('https://mutant.example/1', { json: {} })`,
      `import mutantGot from 'got';`,
    ],
    [
      'sends with ky',
      `mutantKy.put('https://mutant.example/1', { json: {} }).json()`,
      `import mutantKy from 'ky';`,
    ],
    [
      'sends with undici',
      `mutantUndici('https://mutant.example/1', { method: 'POST' })`,
      `import { request as mutantUndici } from 'undici';`,
    ],
    [
      'sends with superagent',
      `mutantAgent.post('https://mutant.example/1').send({})`,
      `import mutantAgent from 'superagent';`,
    ],
    [
      'sends with https',
      `mutantHttps.request('https://mutant.example', { method: 'POST' }).end('x')`,
      `import mutantHttps from 'node:https';`,
    ],
    ['sends a Request', `fetch(new Request('https://mutant.example', { method: 'POST' }))`],
    [
      'mutates with GraphQL',
      `fetch('https://mutant.example/graphql', { method: 'POST', body: JSON.stringify({ query: 'mutation { addItem(name: "x") { id } }' }) })`,
    ],
    [
      'writes with fs-extra',
      `mutantExtra.outputJson('mutant.json', {})`,
      `import mutantExtra from 'fs-extra';`,
    ],
    ['runs execa', `mutantExeca('git', ['push'])`, `import { execa as mutantExeca } from 'execa';`],
    [
      'runs a template of execa',
      'mutantTag`npm install mutant`',
      `import { $ as mutantTag } from 'execa';`,
    ],
    [
      'spawns',
      `mutantSpawn('kubectl', ['delete', 'pod', 'mutant'])`,
      `import { spawn as mutantSpawn } from 'node:child_process';`,
    ],
    [
      'runs promisified',
      `mutantExec('docker stop mutant')`,
      `import { exec as mutantShell } from 'node:child_process';\nimport { promisify as mutantPromisify } from 'node:util';\nconst mutantExec = mutantPromisify(mutantShell);`,
    ],
    [
      'saves with mongoose',
      'MutantModel.updateOne({ a: 1 }, { a: 2 })',
      `import mutantMongoose from 'mongoose';\nconst MutantModel = mutantMongoose.model('Mutant', new mutantMongoose.Schema({ a: Number }));`,
    ],
    [
      'saves a document',
      'new MutantModel({ a: 1 }).save()',
      `import mutantMongoose from 'mongoose';\nconst MutantModel = mutantMongoose.model('Mutant', new mutantMongoose.Schema({ a: Number }));`,
    ],
    [
      'saves with typeorm',
      `mutantSource.getRepository('Mutant').save({ a: 1 })`,
      `import { DataSource as MutantSource } from 'typeorm';\nconst mutantSource = new MutantSource({ type: 'postgres' } as never);`,
    ],
    [
      'deletes with drizzle',
      'mutantDrizzle.delete(mutantTable).where(undefined)',
      `import { drizzle as makeMutantDrizzle } from 'drizzle-orm/node-postgres';\nimport { pgTable as makeMutantTable } from 'drizzle-orm/pg-core';\nconst mutantTable = makeMutantTable('mutants', {});\nconst mutantDrizzle = makeMutantDrizzle('postgres://x');`,
    ],
    [
      'inserts with kysely',
      `mutantKysely.insertInto('mutants').values({}).execute()`,
      `import { Kysely as MutantKysely } from 'kysely';\nconst mutantKysely = new MutantKysely<any>({} as never);`,
    ],
    [
      'runs with better-sqlite3',
      `mutantSqlite.prepare('DELETE FROM mutants').run()`,
      `import MutantSqlite from 'better-sqlite3';\nconst mutantSqlite = new MutantSqlite('x');`,
    ],
    [
      'executes raw SQL with prisma',
      'mutantPrisma.$executeRaw`DELETE FROM mutants`',
      `import { PrismaClient as MutantPrisma } from '@prisma/client';\nconst mutantPrisma = new MutantPrisma();`,
    ],
    [
      'requests with octokit',
      `mutantOctokit.request('POST /repos/{owner}/{repo}/issues', { owner: 'o', repo: 'r', title: 't' })`,
      `import { Octokit as MutantOctokit } from '@octokit/rest';\nconst mutantOctokit = new MutantOctokit();`,
    ],
    [
      'increments in redis',
      `mutantRedisClient.incr('mutants')`,
      `import { createClient as createMutantRedis } from 'redis';\nconst mutantRedisClient = createMutantRedis();`,
    ],
    [
      'updates a document database',
      `mutantDynamo.send(new MutantUpdate({ TableName: 't', Key: {} }))`,
      `import { DynamoDBClient as MutantDynamo, UpdateItemCommand as MutantUpdate } from '@aws-sdk/client-dynamodb';\nconst mutantDynamo = new MutantDynamo({});`,
    ],
    [
      'publishes',
      `mutantKafka.producer().send({ topic: 't', messages: [] })`,
      `import { Kafka as MutantKafka } from 'kafkajs';\nconst mutantKafka = new MutantKafka({ brokers: [] });`,
    ],
    [
      'posts to Slack',
      `mutantSlack.chat.postMessage({ channel: 'c', text: 't' })`,
      `import { WebClient as MutantSlack } from '@slack/web-api';\nconst mutantSlack = new MutantSlack('x');`,
    ],
    [
      'counts in a variable',
      '(mutantCount += 1)',
      'export let mutantCount = 0;\nexport const mutantCounted = () => mutantCount;',
    ],
    [
      'counts in an object',
      'mutantState.calls++',
      'const mutantState = { calls: 0 };\nexport const mutantStateOf = () => mutantState;',
    ],
    [
      'empties a list',
      '(mutantItems.length = 0)',
      'const mutantItems = [1, 2];\nexport const mutantItemsOf = () => mutantItems;',
    ],
    [
      'deletes a property',
      `(delete mutantFlags['a'])`,
      'const mutantFlags: Record<string, boolean> = { a: true };\nexport const mutantFlagsOf = () => mutantFlags;',
    ],
    [
      'adds to a set',
      'mutantSeen.add(String(Math.random()))',
      'const mutantSeen = new Set<string>();\nexport const mutantSeenOf = () => [...mutantSeen];',
    ],
    [
      'assigns to an object',
      'Object.assign(mutantState2, { at: 1 })',
      'const mutantState2: { at?: number } = {};\nexport const mutantState2Of = () => mutantState2;',
    ],
    [
      'counts in a static field',
      'MutantCounter.count++',
      'class MutantCounter { static count = 0; }\nexport const mutantCounterOf = () => MutantCounter.count;',
    ],
    [
      'changes an instance',
      `mutantStore.add('x')`,
      'class MutantStore { #items: string[] = []; add(item: string) { this.#items.push(item); } all() { return this.#items; } }\nconst mutantStore = new MutantStore();\nexport const mutantStoreOf = () => mutantStore.all();',
    ],
    ['changes the directory', `process.chdir('/')`],
    ['kills', 'process.kill(1234)'],
    ['sets a global', '((globalThis as any).mutant = 1)'],
  ] as const
).map(([title, call, top]) => ({ title, call, top }));

/** A statement for each way, and what stands before it. CALL, NAME and TYPE are replaced. */
const HIDDEN: readonly (readonly [title: string, statement: string, before?: string])[] = [
  ['plain', 'void CALL;'],
  ['awaited', 'const NAME = CALL; void NAME;'],
  ['in a helper', 'void NAME();', 'function NAME() { return CALL; }'],
  [
    'in a helper of a helper',
    'void NAME();',
    'const NAMEa = () => CALL; const NAME = async () => { await NAMEa(); };',
  ],
  [
    'in a method',
    'void NAME.run();',
    'class TYPE { run() { return CALL; } } const NAME = new TYPE();',
  ],
  [
    'in a private method',
    'void new TYPE().run();',
    'class TYPE { async run() { return this.#go(); } async #go() { return CALL; } }',
  ],
  [
    'in an inherited method',
    'void NAME.run();',
    'abstract class TYPEBase { run() { return this.go(); } protected abstract go(): unknown; } class TYPE extends TYPEBase { protected go() { return CALL; } } const NAME: TYPEBase = new TYPE();',
  ],
  [
    'behind an interface',
    'void NAME(new TYPE());',
    'interface TYPEPort { go(): unknown } class TYPE implements TYPEPort { go() { return CALL; } } function NAME(port: TYPEPort) { return port.go(); }',
  ],
  ['in a constructor', 'void new TYPE();', 'class TYPE { constructor() { void CALL; } }'],
  ['in a getter', 'void new TYPE().value;', 'class TYPE { get value() { return CALL; } }'],
  ['in a setter', 'NAME.value = 1;', 'const NAME = { set value(_: number) { void CALL; } };'],
  ['in a static method', 'void TYPE.run();', 'class TYPE { static run() { return CALL; } }'],
  [
    'in a field that is an arrow function',
    'void new TYPE().run();',
    'class TYPE { run = () => CALL; }',
  ],
  ['in a callback of forEach', '[1].forEach(() => { void CALL; });'],
  ['in a callback of map', 'void Promise.all([1, 2].map(async () => CALL));'],
  ['in then', 'void Promise.resolve(1).then(() => CALL);'],
  ['in a timer', 'setTimeout(() => { void CALL; }, 1);'],
  ['in a microtask', 'queueMicrotask(() => void CALL);'],
  ['in a generator', 'for (const one of NAME()) void one;', 'function* NAME() { yield CALL; }'],
  [
    'in a table',
    `void NAME['b']!();`,
    'const NAME: Record<string, () => unknown> = { a: () => 1, b: () => CALL };',
  ],
  [
    'in a table with a computed name',
    `for (const key of ['a', 'b'] as const) void NAME[key]();`,
    'const NAME = { a: () => 1, b: () => CALL };',
  ],
  ['in a branch', 'if (Math.random() > 0.5) void CALL;'],
  ['in a switch', 'switch (Date.now() % 2) { case 0: break; default: void CALL; }'],
  ['after &&', 'void (Math.random() > 0.5 && CALL);'],
  ['in a ternary', 'void (Math.random() > 0.5 ? 1 : CALL);'],
  ['in catch', `try { JSON.parse('{'); } catch { void CALL; }`],
  ['in finally', `try { JSON.parse('{}'); } finally { void CALL; }`],
  ['in a loop', 'for (let at = 0; at < 2; at++) void CALL;'],
  ['in a default argument', 'void NAME();', 'const NAME = (value: unknown = CALL) => value;'],
  [
    'passed as a function',
    'void NAME(() => CALL);',
    'const NAME = (work: () => unknown) => work();',
  ],
  [
    'passed through two functions',
    'void NAME(() => CALL);',
    'const NAMEa = <T>(work: () => T): T => work(); const NAME = <T>(work: () => T) => NAMEa(work);',
  ],
  [
    'in options',
    'void NAME({ onDone: () => CALL });',
    'function NAME({ onDone = () => undefined }: { onDone?: () => unknown } = {}) { return onDone(); }',
  ],
  [
    'wrapped',
    'void NAME();',
    'const NAMEa = <A extends unknown[], R>(work: (...args: A) => R) => (...args: A): R => work(...args); const NAME = NAMEa(() => CALL);',
  ],
  [
    'made by a factory',
    'void NAME().run();',
    'const NAME = () => ({ run() { return CALL; }, stop() {} });',
  ],
  ['bound', 'void NAME();', 'const NAME = (function (this: unknown) { return CALL; }).bind(null);'],
  ['called with call', 'void NAME.call(null);', 'function NAME() { return CALL; }'],
  ['called with Reflect', 'void Reflect.apply(NAME, undefined, []);', 'const NAME = () => CALL;'],
  [
    'called optionally',
    'void NAME.run?.();',
    'const NAME: { run?: () => unknown } = { run: () => CALL };',
  ],
  ['in an own function at once', 'void (async () => { await CALL; })();'],
  ['in a template tag', 'void NAME`x`;', 'const NAME = (_: TemplateStringsArray) => CALL;'],
  [
    'in a listener',
    `NAME.emit('mutant');`,
    `import { EventEmitter as MutantEmitter } from 'node:events';\nconst NAME = new MutantEmitter(); NAME.on('mutant', () => { void CALL; });`,
  ],
  ['in a static block', 'class TYPE { static { void CALL; } } void TYPE;'],
  ['in toString', 'void `${NAME}`;', `const NAME = { toString() { void CALL; return 'x'; } };`],
  [
    'in an accessor of a proxy',
    'void NAME.x;',
    'const NAME = new Proxy({} as { x: number }, { get: () => CALL });',
  ],
  ['in a promise', 'void new Promise((done) => { done(CALL); });'],
  [
    'in a variable that is set later',
    'void NAME();',
    'let NAME: () => unknown = () => 1; NAME = () => CALL;',
  ],
  [
    'in a list of functions',
    'for (const work of NAME) void work();',
    'const NAME = [() => 1, () => CALL];',
  ],
  [
    'in a Map of functions',
    `void NAME.get('a')?.();`,
    `const NAME = new Map<string, () => unknown>([['a', () => CALL]]);`,
  ],
  [
    'in a getter read with brackets',
    `void NAME['value'];`,
    'const NAME = { get value() { return CALL; } };',
  ],
  [
    'in a getter that is destructured',
    '{ const { value } = NAME; void value; }',
    'const NAME = { get value() { return CALL; } };',
  ],
  [
    'in a getter that is spread',
    'void { ...NAME };',
    'const NAME = { get value() { return CALL; } };',
  ],
  [
    'in a getter that is assigned',
    'void Object.assign({}, NAME);',
    'const NAME = { get value() { return CALL; } };',
  ],
  [
    'in a setter with brackets',
    `NAME['value'] = 1;`,
    'const NAME = { set value(_: number) { void CALL; } };',
  ],
  [
    'in a defined property',
    'void NAME.value;',
    `const NAME = Object.defineProperty({} as { value?: number }, 'value', { get: () => CALL });`,
  ],
  [
    'in toJSON',
    'void JSON.stringify({ a: new NAME() });',
    'class NAME { toJSON() { void CALL; return {}; } }',
  ],
  ['in valueOf', 'void (+NAME > 1);', 'const NAME = { valueOf() { void CALL; return 1; } };'],
  ['in a sum', `void ('x' + NAME);`, `const NAME = { toString() { void CALL; return 'x'; } };`],
  [
    'in a conversion by String',
    'void String(new NAME());',
    `class NAME { toString() { void CALL; return 'x'; } }`,
  ],
  [
    'in a thenable',
    'void (async () => { await NAME; })();',
    'const NAME = { then(done: (value: unknown) => void) { done(CALL); } };',
  ],
  [
    'in an iterator',
    'void [...NAME];',
    'class TYPE { *[Symbol.iterator]() { yield CALL; } } const NAME = new TYPE();',
  ],
  [
    'in an iterator given to Array.from',
    'void Array.from(NAME);',
    'class TYPE { *[Symbol.iterator]() { yield CALL; } } const NAME = new TYPE();',
  ],
  [
    'in an iterator that is destructured',
    '{ const [one] = NAME(); void one; }',
    'function* NAME() { yield CALL; }',
  ],
  [
    'in an async iterator',
    'void (async () => { for await (const one of NAME()) void one; })();',
    'async function* NAME() { yield CALL; }',
  ],
  ['behind next', 'void NAME().next();', 'function* NAME() { yield CALL; }'],
  [
    'in a class that is returned',
    'void new (NAME())().run();',
    'const NAME = () => class { run() { return CALL; } };',
  ],
  [
    'in a mixin',
    'void new TYPE().go();',
    'const NAME = <T extends new (...args: any[]) => object>(Base: T) => class extends Base { go() { return CALL; } }; class TYPE extends NAME(class {}) {}',
  ],
  [
    'in super',
    'void new TYPE().run();',
    'class TYPEBase { run() { return CALL; } } class TYPE extends TYPEBase { override run() { return super.run(); } }',
  ],
  [
    'in a parameter property',
    'void new TYPE(new TYPEInner()).run();',
    'class TYPEInner { go() { return CALL; } } class TYPE { constructor(private readonly inner: TYPEInner) {} run() { return this.inner.go(); } }',
  ],
  [
    'in a chain',
    'void new TYPE().a().b().a();',
    'class TYPE { a() { return this; } b() { void CALL; return this; } }',
  ],
  [
    'in a singleton',
    'void TYPE.get().run();',
    'class TYPE { static #one?: TYPE; static get() { return (this.#one ??= new TYPE()); } run() { return CALL; } }',
  ],
  [
    'in a destructured method',
    '{ const { run } = NAME; void run(); }',
    'const NAME = { run: () => CALL };',
  ],
  [
    'in a renamed method',
    '{ const { inner: { run: other } } = NAME; void other(); }',
    'const NAME = { inner: { run: () => CALL } };',
  ],
  [
    'in the rest',
    '{ const { a, ...rest } = NAME; void a; void rest.run(); }',
    'const NAME = { a: 1, run: () => CALL };',
  ],
  [
    'in a spread object',
    'void NAME.run();',
    'const NAMEa = { run: () => CALL }; const NAME = { ...NAMEa };',
  ],
  ['in a namespace', 'void NAME.run();', 'namespace NAME { export const run = () => CALL; }'],
  ['in reduce', 'void [1, 2].reduce((sum, one) => { void CALL; return sum + one; }, 0);'],
  ['in sort', '[2, 1].sort(() => { void CALL; return 0; });'],
  ['in replace', `void 'abc'.replace(/b/g, () => String(CALL));`],
  ['in allSettled', 'void Promise.allSettled([CALL]);'],
  ['in a rejection', 'void Promise.reject(new Error()).catch(() => CALL);'],
  ['in finally of a promise', 'void Promise.resolve().finally(() => { void CALL; });'],
  ['in a timer by name', 'setImmediate(NAME);', 'function NAME() { void CALL; }'],
  [
    'composed',
    'NAMEa(() => 1, () => CALL)();',
    'const NAMEa = (...fns: (() => unknown)[]) => () => fns.forEach((fn) => fn());',
  ],
  [
    'piped',
    'void NAME(1, (one) => one, () => CALL);',
    'const NAME = (value: unknown, ...steps: ((value: unknown) => unknown)[]) => steps.reduce((now, step) => step(now), value);',
  ],
  [
    'memoized',
    'void NAME();',
    'function NAMEa<T>(fn: () => T) { let done = false; let value: T; return () => { if (!done) { value = fn(); done = true; } return value!; }; } const NAME = NAMEa(() => CALL);',
  ],
  [
    'retried',
    'void NAME(() => CALL);',
    'async function NAME<T>(fn: () => T, times = 3): Promise<T> { for (let at = 0; ; at++) { try { return await fn(); } catch (error) { if (at >= times) throw error; } } }',
  ],
  [
    'in a queue that is drained',
    'NAMEadd(() => CALL); NAMEdrain();',
    'const NAME: (() => unknown)[] = []; const NAMEadd = (work: () => unknown) => { NAME.push(work); }; const NAMEdrain = () => { for (const work of NAME) work(); };',
  ],
  [
    'decorated',
    'void new TYPE().run();',
    'const NAME = (method: any, _context: unknown) => function (this: unknown, ...args: any[]) { void CALL; return method.apply(this, args); }; class TYPE { @NAME run() { return 1; } }',
  ],
  [
    'assigned to a prototype',
    'void new TYPE().run();',
    'class TYPE { declare run: () => unknown; } TYPE.prototype.run = () => CALL;',
  ],
  ['assigned to an object', 'void NAME.run();', 'const NAME: any = {}; NAME.run = () => CALL;'],
  [
    'assigned with Object.assign',
    'void NAME.run();',
    'const NAME: any = Object.assign({}, { run: () => CALL });',
  ],
  [
    'in Object.fromEntries',
    'void NAME.run();',
    `const NAME: any = Object.fromEntries([['run', () => CALL]]);`,
  ],
  [
    'in a computed property',
    'void NAME.run();',
    `const NAMEkey = 'run'; const NAME: any = { [NAMEkey]: () => CALL };`,
  ],
  [
    'in a symbol',
    'void NAME[NAMEkey]();',
    `const NAMEkey = Symbol('run'); const NAME = { [NAMEkey]: () => CALL };`,
  ],
  [
    'in a label',
    'outer: for (const one of [1]) { for (const two of [1]) { if (one === two) { void CALL; continue outer; } } }',
  ],
  ['after a comma', 'void (1, CALL);'],
  ['in a condition', 'if (CALL) void 0;'],
  ['in a for header', 'for (void CALL; false; ) {}'],
  ['in an index', 'void [1, 2][Number(CALL)];'],
  [
    'in an enum-like switch',
    `void NAME('b');`,
    `const NAME = (mode: 'a' | 'b') => { switch (mode) { case 'a': return 1; case 'b': return CALL; } };`,
  ],
  [
    'in recursion',
    'void NAME(3);',
    'function NAME(n: number): unknown { if (n === 0) return CALL; return NAME(n - 1); }',
  ],
  [
    'in mutual recursion',
    'void NAME(0);',
    'function NAME(n: number): unknown { return n > 5 ? CALL : NAMEb(n + 1); } function NAMEb(n: number): unknown { return NAME(n + 1); }',
  ],
  [
    'with using',
    '{ using one = NAME(); void one; }',
    'const NAME = () => ({ [Symbol.dispose]() { void CALL; } });',
  ],
  [
    'in a type guard',
    'void [1].filter(NAME);',
    'const NAME = (value: unknown): value is string => { void CALL; return true; };',
  ],
  [
    'in an optional chain',
    'void NAME?.a?.run();',
    'const NAME: { a?: { run(): unknown } } = { a: { run: () => CALL } };',
  ],
  [
    'in instanceof',
    'void ({} instanceof TYPE);',
    'class TYPE { static [Symbol.hasInstance](_: unknown) { void CALL; return true; } }',
  ],
  [
    'in a loop over entries',
    'for (const [, work] of Object.entries(NAME)) void work();',
    'const NAME = { a: () => 1, b: () => CALL };',
  ],
  [
    'in a loop over values',
    'Object.values(NAME).forEach((work) => void work());',
    'const NAME = { a: () => 1, b: () => CALL };',
  ],
  ['in an any', 'void NAME.run();', 'const NAME: any = { run: () => CALL };'],
  ['in a function of any', 'void NAME();', 'const NAME: any = () => CALL;'],
  [
    'in a function with properties',
    'void NAME.run();',
    'function NAME() { return 1; } NAME.run = () => CALL;',
  ],
  [
    'in an async queue',
    'NAME = NAME.then(() => CALL);',
    'let NAME: Promise<unknown> = Promise.resolve();',
  ],
];

export const HIDERS: readonly Hider[] = HIDDEN.map(([title, statement, before]) => ({
  title,
  make(call, name, type) {
    const filled = (text: string) =>
      text
        .replaceAll('NAME', name)
        .replaceAll('TYPE', type)
        .replaceAll('CALL', () => call);
    return {
      statement: filled(statement),
      ...(before !== undefined && { before: filled(before) }),
    };
  },
}));
