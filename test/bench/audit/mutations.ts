/** A call that changes something, and what it needs at the top of the file. */
export interface Write {
  readonly title: string;
  readonly top?: string;
  readonly call: string;
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

const write = (title: string, call: string, top?: string): Write => ({
  title,
  call,
  ...(top !== undefined && { top }),
});

export const WRITES: readonly Write[] = [
  write(
    'writes a file',
    `mutantWrite('mutant.txt', '')`,
    `import { writeFileSync as mutantWrite } from 'node:fs';`,
  ),
  write(
    'appends to a file',
    `mutantFiles.appendFile('mutant.txt', 'x')`,
    `import mutantFiles from 'node:fs/promises';`,
  ),
  write(
    'removes a folder',
    `mutantFs.promises.rm('mutant', { recursive: true })`,
    `import * as mutantFs from 'node:fs';`,
  ),
  write('makes a folder', `mutantFs.mkdirSync('mutant')`, `import * as mutantFs from 'node:fs';`),
  write(
    'opens a file for writing',
    `mutantFs.openSync('mutant.txt', 'a')`,
    `import * as mutantFs from 'node:fs';`,
  ),
  write(
    'streams into a file',
    `mutantFs.createWriteStream('mutant.txt').end('x')`,
    `import * as mutantFs from 'node:fs';`,
  ),
  write(
    'commits with git',
    `mutantRun('git', ['commit', '--allow-empty', '-m', 'mutant'])`,
    `import { execFileSync as mutantRun } from 'node:child_process';`,
  ),
  write(
    'runs a shell that removes',
    `mutantShell('cd /srv && rm -rf mutant')`,
    `import { exec as mutantShell } from 'node:child_process';`,
  ),
  write('posts', `fetch('https://mutant.example/items', { method: 'POST', body: '{}' })`),
  write(
    'deletes at a service',
    `fetch(\`https://mutant.example/items/\${1 + 1}\`, { method: 'delete' })`,
  ),
  write(
    'puts with axios',
    `mutantAxios.put('https://mutant.example/items/1', {})`,
    `import mutantAxios from 'axios';`,
  ),
  write(
    'posts with a client of axios',
    `mutantApi.post('/items', {})`,
    `import mutantAxios from 'axios';\nconst mutantApi = mutantAxios.create({ baseURL: 'https://mutant.example' });`,
  ),
  write(
    'patches with got',
    `mutantGot('https://mutant.example/1', { method: 'PATCH' })`,
    `import mutantGot from 'got';`,
  ),
  write(
    'inserts with pg',
    `mutantPool.query('INSERT INTO mutants (id) VALUES ($1)', [1])`,
    `import { Pool as MutantPool } from 'pg';\nconst mutantPool = new MutantPool();`,
  ),
  write(
    'updates with pg',
    'mutantPool.query({ text: `update mutants set n = n + 1 where id = ${1}` })',
    `import { Pool as MutantPool } from 'pg';\nconst mutantPool = new MutantPool();`,
  ),
  write(
    'updates with knex',
    `mutantKnex('mutants').where({ id: 1 }).update({ n: 1 })`,
    `import mutantMakeKnex from 'knex';\nconst mutantKnex = mutantMakeKnex({ client: 'pg' });`,
  ),
  write(
    'creates with prisma',
    `mutantPrisma.mutant.create({ data: {} })`,
    `import { PrismaClient as MutantPrisma } from '@prisma/client';\nconst mutantPrisma = new MutantPrisma();`,
  ),
  write(
    'inserts into mongo',
    `mutantMongo.db('x').collection('mutants').insertOne({ a: 1 })`,
    `import { MongoClient as MutantMongo } from 'mongodb';\nconst mutantMongo = new MutantMongo('mongodb://localhost');`,
  ),
  write(
    'sets in redis',
    `mutantRedis.set('mutant', '1')`,
    `import MutantRedis from 'ioredis';\nconst mutantRedis = new MutantRedis();`,
  ),
  write(
    'puts an object',
    `mutantS3.send(new MutantPut({ Bucket: 'b', Key: 'k' }))`,
    `import { S3Client as MutantS3, PutObjectCommand as MutantPut } from '@aws-sdk/client-s3';\nconst mutantS3 = new MutantS3({});`,
  ),
  write(
    'sends a mail',
    `mutantMail.sendMail({ to: 'a@mutant.example' })`,
    `import mutantMailer from 'nodemailer';\nconst mutantMail = mutantMailer.createTransport({});`,
  ),
  write(
    'adds a job',
    `mutantQueue.add('mutant', {})`,
    `import { Queue as MutantQueue } from 'bullmq';\nconst mutantQueue = new MutantQueue('mutants');`,
  ),
  write(
    'refunds',
    `mutantStripe.refunds.create({ charge: 'x' })`,
    `import MutantStripe from 'stripe';\nconst mutantStripe = new MutantStripe('x');`,
  ),
  write(
    'comments on an issue',
    `mutantOctokit.issues.createComment({ owner: 'o', repo: 'r', issue_number: 1, body: 'x' })`,
    `import { Octokit as MutantOctokit } from '@octokit/rest';\nconst mutantOctokit = new MutantOctokit();`,
  ),
  write('sets the environment', `(process.env.MUTANT = '1')`),
  write(
    'counts in memory',
    `(mutantCounts.set('x', (mutantCounts.get('x') ?? 0) + 1), mutantCounts.size)`,
    `const mutantCounts = new Map<string, number>();\nexport const mutantTotal = () => [...mutantCounts];`,
  ),
  write(
    'keeps a list in memory',
    `mutantList.push(mutantList.length)`,
    `const mutantList: number[] = [];\nexport const mutantAll = () => mutantList;`,
  ),
  write(
    'sends with got',
    `mutantGot.post('https://mutant.example/1', { json: {} })`,
    `import mutantGot from 'got';`,
  ),
  write(
    'sends with ky',
    `mutantKy.put('https://mutant.example/1', { json: {} }).json()`,
    `import mutantKy from 'ky';`,
  ),
  write(
    'sends with undici',
    `mutantUndici('https://mutant.example/1', { method: 'POST' })`,
    `import { request as mutantUndici } from 'undici';`,
  ),
  write(
    'sends with superagent',
    `mutantAgent.post('https://mutant.example/1').send({})`,
    `import mutantAgent from 'superagent';`,
  ),
  write(
    'sends with https',
    `mutantHttps.request('https://mutant.example', { method: 'POST' }).end('x')`,
    `import mutantHttps from 'node:https';`,
  ),
  write('sends a Request', `fetch(new Request('https://mutant.example', { method: 'POST' }))`),
  write(
    'mutates with GraphQL',
    `fetch('https://mutant.example/graphql', { method: 'POST', body: JSON.stringify({ query: 'mutation { addItem(name: "x") { id } }' }) })`,
  ),
  write(
    'writes with fs-extra',
    `mutantExtra.outputJson('mutant.json', {})`,
    `import mutantExtra from 'fs-extra';`,
  ),
  write(
    'runs execa',
    `mutantExeca('git', ['push'])`,
    `import { execa as mutantExeca } from 'execa';`,
  ),
  write(
    'runs a template of execa',
    'mutantTag`npm install mutant`',
    `import { $ as mutantTag } from 'execa';`,
  ),
  write(
    'spawns',
    `mutantSpawn('kubectl', ['delete', 'pod', 'mutant'])`,
    `import { spawn as mutantSpawn } from 'node:child_process';`,
  ),
  write(
    'runs promisified',
    `mutantExec('docker stop mutant')`,
    `import { exec as mutantShell } from 'node:child_process';\nimport { promisify as mutantPromisify } from 'node:util';\nconst mutantExec = mutantPromisify(mutantShell);`,
  ),
  write(
    'saves with mongoose',
    `MutantModel.updateOne({ a: 1 }, { a: 2 })`,
    `import mutantMongoose from 'mongoose';\nconst MutantModel = mutantMongoose.model('Mutant', new mutantMongoose.Schema({ a: Number }));`,
  ),
  write(
    'saves a document',
    `new MutantModel({ a: 1 }).save()`,
    `import mutantMongoose from 'mongoose';\nconst MutantModel = mutantMongoose.model('Mutant', new mutantMongoose.Schema({ a: Number }));`,
  ),
  write(
    'saves with typeorm',
    `mutantSource.getRepository('Mutant').save({ a: 1 })`,
    `import { DataSource as MutantSource } from 'typeorm';\nconst mutantSource = new MutantSource({ type: 'postgres' } as never);`,
  ),
  write(
    'deletes with drizzle',
    `mutantDrizzle.delete(mutantTable).where(undefined)`,
    `import { drizzle as makeMutantDrizzle } from 'drizzle-orm/node-postgres';\nimport { pgTable as makeMutantTable } from 'drizzle-orm/pg-core';\nconst mutantTable = makeMutantTable('mutants', {});\nconst mutantDrizzle = makeMutantDrizzle('postgres://x');`,
  ),
  write(
    'inserts with kysely',
    `mutantKysely.insertInto('mutants').values({}).execute()`,
    `import { Kysely as MutantKysely } from 'kysely';\nconst mutantKysely = new MutantKysely<any>({} as never);`,
  ),
  write(
    'runs with better-sqlite3',
    `mutantSqlite.prepare('DELETE FROM mutants').run()`,
    `import MutantSqlite from 'better-sqlite3';\nconst mutantSqlite = new MutantSqlite('x');`,
  ),
  write(
    'executes raw SQL with prisma',
    'mutantPrisma.$executeRaw`DELETE FROM mutants`',
    `import { PrismaClient as MutantPrisma } from '@prisma/client';\nconst mutantPrisma = new MutantPrisma();`,
  ),
  write(
    'requests with octokit',
    `mutantOctokit.request('POST /repos/{owner}/{repo}/issues', { owner: 'o', repo: 'r', title: 't' })`,
    `import { Octokit as MutantOctokit } from '@octokit/rest';\nconst mutantOctokit = new MutantOctokit();`,
  ),
  write(
    'increments in redis',
    `mutantRedisClient.incr('mutants')`,
    `import { createClient as createMutantRedis } from 'redis';\nconst mutantRedisClient = createMutantRedis();`,
  ),
  write(
    'updates a document database',
    `mutantDynamo.send(new MutantUpdate({ TableName: 't', Key: {} }))`,
    `import { DynamoDBClient as MutantDynamo, UpdateItemCommand as MutantUpdate } from '@aws-sdk/client-dynamodb';\nconst mutantDynamo = new MutantDynamo({});`,
  ),
  write(
    'publishes',
    `mutantKafka.producer().send({ topic: 't', messages: [] })`,
    `import { Kafka as MutantKafka } from 'kafkajs';\nconst mutantKafka = new MutantKafka({ brokers: [] });`,
  ),
  write(
    'posts to Slack',
    `mutantSlack.chat.postMessage({ channel: 'c', text: 't' })`,
    `import { WebClient as MutantSlack } from '@slack/web-api';\nconst mutantSlack = new MutantSlack('x');`,
  ),
  write(
    'counts in a variable',
    `(mutantCount += 1)`,
    `export let mutantCount = 0;\nexport const mutantCounted = () => mutantCount;`,
  ),
  write(
    'counts in an object',
    `mutantState.calls++`,
    `const mutantState = { calls: 0 };\nexport const mutantStateOf = () => mutantState;`,
  ),
  write(
    'empties a list',
    `(mutantItems.length = 0)`,
    `const mutantItems = [1, 2];\nexport const mutantItemsOf = () => mutantItems;`,
  ),
  write(
    'deletes a property',
    `(delete mutantFlags['a'])`,
    `const mutantFlags: Record<string, boolean> = { a: true };\nexport const mutantFlagsOf = () => mutantFlags;`,
  ),
  write(
    'adds to a set',
    `mutantSeen.add(String(Math.random()))`,
    `const mutantSeen = new Set<string>();\nexport const mutantSeenOf = () => [...mutantSeen];`,
  ),
  write(
    'assigns to an object',
    `Object.assign(mutantState2, { at: 1 })`,
    `const mutantState2: { at?: number } = {};\nexport const mutantState2Of = () => mutantState2;`,
  ),
  write(
    'counts in a static field',
    `MutantCounter.count++`,
    `class MutantCounter { static count = 0; }\nexport const mutantCounterOf = () => MutantCounter.count;`,
  ),
  write(
    'changes an instance',
    `mutantStore.add('x')`,
    `class MutantStore { #items: string[] = []; add(item: string) { this.#items.push(item); } all() { return this.#items; } }\nconst mutantStore = new MutantStore();\nexport const mutantStoreOf = () => mutantStore.all();`,
  ),
  write('changes the directory', `process.chdir('/')`),
  write('kills', `process.kill(1234)`),
  write('sets a global', `((globalThis as any).mutant = 1)`),
];

const hider = (title: string, make: Hider['make']): Hider => ({ title, make });

export const HIDERS: readonly Hider[] = [
  hider('plain', (call) => ({ statement: `void ${call};` })),
  hider('awaited', (call, name) => ({ statement: `const ${name} = ${call}; void ${name};` })),
  hider('in a helper', (call, name) => ({
    before: `function ${name}() { return ${call}; }`,
    statement: `void ${name}();`,
  })),
  hider('in a helper of a helper', (call, name) => ({
    before: `const ${name}a = () => ${call}; const ${name} = async () => { await ${name}a(); };`,
    statement: `void ${name}();`,
  })),
  hider('in a method', (call, name, type) => ({
    before: `class ${type} { run() { return ${call}; } } const ${name} = new ${type}();`,
    statement: `void ${name}.run();`,
  })),
  hider('in a private method', (call, name, type) => ({
    before: `class ${type} { async run() { return this.#go(); } async #go() { return ${call}; } }`,
    statement: `void new ${type}().run();`,
  })),
  hider('in an inherited method', (call, name, type) => ({
    before: `abstract class ${type}Base { run() { return this.go(); } protected abstract go(): unknown; } class ${type} extends ${type}Base { protected go() { return ${call}; } } const ${name}: ${type}Base = new ${type}();`,
    statement: `void ${name}.run();`,
  })),
  hider('behind an interface', (call, name, type) => ({
    before: `interface ${type}Port { go(): unknown } class ${type} implements ${type}Port { go() { return ${call}; } } function ${name}(port: ${type}Port) { return port.go(); }`,
    statement: `void ${name}(new ${type}());`,
  })),
  hider('in a constructor', (call, name, type) => ({
    before: `class ${type} { constructor() { void ${call}; } }`,
    statement: `void new ${type}();`,
  })),
  hider('in a getter', (call, name, type) => ({
    before: `class ${type} { get value() { return ${call}; } }`,
    statement: `void new ${type}().value;`,
  })),
  hider('in a setter', (call, name) => ({
    before: `const ${name} = { set value(_: number) { void ${call}; } };`,
    statement: `${name}.value = 1;`,
  })),
  hider('in a static method', (call, name, type) => ({
    before: `class ${type} { static run() { return ${call}; } }`,
    statement: `void ${type}.run();`,
  })),
  hider('in a field that is an arrow function', (call, name, type) => ({
    before: `class ${type} { run = () => ${call}; }`,
    statement: `void new ${type}().run();`,
  })),
  hider('in a callback of forEach', (call) => ({
    statement: `[1].forEach(() => { void ${call}; });`,
  })),
  hider('in a callback of map', (call) => ({
    statement: `void Promise.all([1, 2].map(async () => ${call}));`,
  })),
  hider('in then', (call) => ({ statement: `void Promise.resolve(1).then(() => ${call});` })),
  hider('in a timer', (call) => ({ statement: `setTimeout(() => { void ${call}; }, 1);` })),
  hider('in a microtask', (call) => ({ statement: `queueMicrotask(() => void ${call});` })),
  hider('in a generator', (call, name) => ({
    before: `function* ${name}() { yield ${call}; }`,
    statement: `for (const one of ${name}()) void one;`,
  })),
  hider('in a table', (call, name) => ({
    before: `const ${name}: Record<string, () => unknown> = { a: () => 1, b: () => ${call} };`,
    statement: `void ${name}['b']!();`,
  })),
  hider('in a table with a computed name', (call, name) => ({
    before: `const ${name} = { a: () => 1, b: () => ${call} };`,
    statement: `for (const key of ['a', 'b'] as const) void ${name}[key]();`,
  })),
  hider('in a branch', (call) => ({ statement: `if (Math.random() > 0.5) void ${call};` })),
  hider('in a switch', (call) => ({
    statement: `switch (Date.now() % 2) { case 0: break; default: void ${call}; }`,
  })),
  hider('after &&', (call) => ({ statement: `void (Math.random() > 0.5 && ${call});` })),
  hider('in a ternary', (call) => ({ statement: `void (Math.random() > 0.5 ? 1 : ${call});` })),
  hider('in catch', (call) => ({ statement: `try { JSON.parse('{'); } catch { void ${call}; }` })),
  hider('in finally', (call) => ({
    statement: `try { JSON.parse('{}'); } finally { void ${call}; }`,
  })),
  hider('in a loop', (call) => ({ statement: `for (let at = 0; at < 2; at++) void ${call};` })),
  hider('in a default argument', (call, name) => ({
    before: `const ${name} = (value: unknown = ${call}) => value;`,
    statement: `void ${name}();`,
  })),
  hider('passed as a function', (call, name) => ({
    before: `const ${name} = (work: () => unknown) => work();`,
    statement: `void ${name}(() => ${call});`,
  })),
  hider('passed through two functions', (call, name) => ({
    before: `const ${name}a = <T>(work: () => T): T => work(); const ${name} = <T>(work: () => T) => ${name}a(work);`,
    statement: `void ${name}(() => ${call});`,
  })),
  hider('in options', (call, name) => ({
    before: `function ${name}({ onDone = () => undefined }: { onDone?: () => unknown } = {}) { return onDone(); }`,
    statement: `void ${name}({ onDone: () => ${call} });`,
  })),
  hider('wrapped', (call, name) => ({
    before: `const ${name}a = <A extends unknown[], R>(work: (...args: A) => R) => (...args: A): R => work(...args); const ${name} = ${name}a(() => ${call});`,
    statement: `void ${name}();`,
  })),
  hider('made by a factory', (call, name) => ({
    before: `const ${name} = () => ({ run() { return ${call}; }, stop() {} });`,
    statement: `void ${name}().run();`,
  })),
  hider('bound', (call, name) => ({
    before: `const ${name} = (function (this: unknown) { return ${call}; }).bind(null);`,
    statement: `void ${name}();`,
  })),
  hider('called with call', (call, name) => ({
    before: `function ${name}() { return ${call}; }`,
    statement: `void ${name}.call(null);`,
  })),
  hider('called with Reflect', (call, name) => ({
    before: `const ${name} = () => ${call};`,
    statement: `void Reflect.apply(${name}, undefined, []);`,
  })),
  hider('called optionally', (call, name) => ({
    before: `const ${name}: { run?: () => unknown } = { run: () => ${call} };`,
    statement: `void ${name}.run?.();`,
  })),
  hider('in an own function at once', (call) => ({
    statement: `void (async () => { await ${call}; })();`,
  })),
  hider('in a template tag', (call, name) => ({
    before: `const ${name} = (_: TemplateStringsArray) => ${call};`,
    statement: `void ${name}\`x\`;`,
  })),
  hider('in a listener', (call, name) => ({
    before: `import { EventEmitter as MutantEmitter } from 'node:events';\nconst ${name} = new MutantEmitter(); ${name}.on('mutant', () => { void ${call}; });`,
    statement: `${name}.emit('mutant');`,
  })),
  hider('in a static block', (call, name, type) => ({
    statement: `class ${type} { static { void ${call}; } } void ${type};`,
  })),
  hider('in toString', (call, name) => ({
    before: `const ${name} = { toString() { void ${call}; return 'x'; } };`,
    statement: `void \`\${${name}}\`;`,
  })),
  hider('in an accessor of a proxy', (call, name) => ({
    before: `const ${name} = new Proxy({} as { x: number }, { get: () => ${call} });`,
    statement: `void ${name}.x;`,
  })),
  hider('in a promise', (call) => ({
    statement: `void new Promise((done) => { done(${call}); });`,
  })),
  hider('in a variable that is set later', (call, name) => ({
    before: `let ${name}: () => unknown = () => 1; ${name} = () => ${call};`,
    statement: `void ${name}();`,
  })),
  hider('in a list of functions', (call, name) => ({
    before: `const ${name} = [() => 1, () => ${call}];`,
    statement: `for (const work of ${name}) void work();`,
  })),
  hider('in a Map of functions', (call, name) => ({
    before: `const ${name} = new Map<string, () => unknown>([['a', () => ${call}]]);`,
    statement: `void ${name}.get('a')?.();`,
  })),
  hider('in a getter read with brackets', (call, name) => ({
    before: `const ${name} = { get value() { return ${call}; } };`,
    statement: `void ${name}['value'];`,
  })),
  hider('in a getter that is destructured', (call, name) => ({
    before: `const ${name} = { get value() { return ${call}; } };`,
    statement: `{ const { value } = ${name}; void value; }`,
  })),
  hider('in a getter that is spread', (call, name) => ({
    before: `const ${name} = { get value() { return ${call}; } };`,
    statement: `void { ...${name} };`,
  })),
  hider('in a getter that is assigned', (call, name) => ({
    before: `const ${name} = { get value() { return ${call}; } };`,
    statement: `void Object.assign({}, ${name});`,
  })),
  hider('in a setter with brackets', (call, name) => ({
    before: `const ${name} = { set value(_: number) { void ${call}; } };`,
    statement: `${name}['value'] = 1;`,
  })),
  hider('in a defined property', (call, name) => ({
    before: `const ${name} = Object.defineProperty({} as { value?: number }, 'value', { get: () => ${call} });`,
    statement: `void ${name}.value;`,
  })),
  hider('in toJSON', (call, name) => ({
    before: `class ${name} { toJSON() { void ${call}; return {}; } }`,
    statement: `void JSON.stringify({ a: new ${name}() });`,
  })),
  hider('in valueOf', (call, name) => ({
    before: `const ${name} = { valueOf() { void ${call}; return 1; } };`,
    statement: `void (+${name} > 1);`,
  })),
  hider('in a sum', (call, name) => ({
    before: `const ${name} = { toString() { void ${call}; return 'x'; } };`,
    statement: `void ('x' + ${name});`,
  })),
  hider('in a conversion by String', (call, name) => ({
    before: `class ${name} { toString() { void ${call}; return 'x'; } }`,
    statement: `void String(new ${name}());`,
  })),
  hider('in a thenable', (call, name) => ({
    before: `const ${name} = { then(done: (value: unknown) => void) { done(${call}); } };`,
    statement: `void (async () => { await ${name}; })();`,
  })),
  hider('in an iterator', (call, name, type) => ({
    before: `class ${type} { *[Symbol.iterator]() { yield ${call}; } } const ${name} = new ${type}();`,
    statement: `void [...${name}];`,
  })),
  hider('in an iterator given to Array.from', (call, name, type) => ({
    before: `class ${type} { *[Symbol.iterator]() { yield ${call}; } } const ${name} = new ${type}();`,
    statement: `void Array.from(${name});`,
  })),
  hider('in an iterator that is destructured', (call, name) => ({
    before: `function* ${name}() { yield ${call}; }`,
    statement: `{ const [one] = ${name}(); void one; }`,
  })),
  hider('in an async iterator', (call, name) => ({
    before: `async function* ${name}() { yield ${call}; }`,
    statement: `void (async () => { for await (const one of ${name}()) void one; })();`,
  })),
  hider('behind next', (call, name) => ({
    before: `function* ${name}() { yield ${call}; }`,
    statement: `void ${name}().next();`,
  })),
  hider('in a class that is returned', (call, name) => ({
    before: `const ${name} = () => class { run() { return ${call}; } };`,
    statement: `void new (${name}())().run();`,
  })),
  hider('in a mixin', (call, name, type) => ({
    before: `const ${name} = <T extends new (...args: any[]) => object>(Base: T) => class extends Base { go() { return ${call}; } }; class ${type} extends ${name}(class {}) {}`,
    statement: `void new ${type}().go();`,
  })),
  hider('in super', (call, name, type) => ({
    before: `class ${type}Base { run() { return ${call}; } } class ${type} extends ${type}Base { override run() { return super.run(); } }`,
    statement: `void new ${type}().run();`,
  })),
  hider('in a parameter property', (call, name, type) => ({
    before: `class ${type}Inner { go() { return ${call}; } } class ${type} { constructor(private readonly inner: ${type}Inner) {} run() { return this.inner.go(); } }`,
    statement: `void new ${type}(new ${type}Inner()).run();`,
  })),
  hider('in a chain', (call, name, type) => ({
    before: `class ${type} { a() { return this; } b() { void ${call}; return this; } }`,
    statement: `void new ${type}().a().b().a();`,
  })),
  hider('in a singleton', (call, name, type) => ({
    before: `class ${type} { static #one?: ${type}; static get() { return (this.#one ??= new ${type}()); } run() { return ${call}; } }`,
    statement: `void ${type}.get().run();`,
  })),
  hider('in a destructured method', (call, name) => ({
    before: `const ${name} = { run: () => ${call} };`,
    statement: `{ const { run } = ${name}; void run(); }`,
  })),
  hider('in a renamed method', (call, name) => ({
    before: `const ${name} = { inner: { run: () => ${call} } };`,
    statement: `{ const { inner: { run: other } } = ${name}; void other(); }`,
  })),
  hider('in the rest', (call, name) => ({
    before: `const ${name} = { a: 1, run: () => ${call} };`,
    statement: `{ const { a, ...rest } = ${name}; void a; void rest.run(); }`,
  })),
  hider('in a spread object', (call, name) => ({
    before: `const ${name}a = { run: () => ${call} }; const ${name} = { ...${name}a };`,
    statement: `void ${name}.run();`,
  })),
  hider('in a namespace', (call, name) => ({
    before: `namespace ${name} { export const run = () => ${call}; }`,
    statement: `void ${name}.run();`,
  })),
  hider('in reduce', (call) => ({
    statement: `void [1, 2].reduce((sum, one) => { void ${call}; return sum + one; }, 0);`,
  })),
  hider('in sort', (call) => ({ statement: `[2, 1].sort(() => { void ${call}; return 0; });` })),
  hider('in replace', (call) => ({
    statement: `void 'abc'.replace(/b/g, () => String(${call}));`,
  })),
  hider('in allSettled', (call) => ({ statement: `void Promise.allSettled([${call}]);` })),
  hider('in a rejection', (call) => ({
    statement: `void Promise.reject(new Error()).catch(() => ${call});`,
  })),
  hider('in finally of a promise', (call) => ({
    statement: `void Promise.resolve().finally(() => { void ${call}; });`,
  })),
  hider('in a timer by name', (call, name) => ({
    before: `function ${name}() { void ${call}; }`,
    statement: `setImmediate(${name});`,
  })),
  hider('composed', (call, name) => ({
    before: `const ${name}a = (...fns: (() => unknown)[]) => () => fns.forEach((fn) => fn());`,
    statement: `${name}a(() => 1, () => ${call})();`,
  })),
  hider('piped', (call, name) => ({
    before: `const ${name} = (value: unknown, ...steps: ((value: unknown) => unknown)[]) => steps.reduce((now, step) => step(now), value);`,
    statement: `void ${name}(1, (one) => one, () => ${call});`,
  })),
  hider('memoized', (call, name) => ({
    before: `function ${name}a<T>(fn: () => T) { let done = false; let value: T; return () => { if (!done) { value = fn(); done = true; } return value!; }; } const ${name} = ${name}a(() => ${call});`,
    statement: `void ${name}();`,
  })),
  hider('retried', (call, name) => ({
    before: `async function ${name}<T>(fn: () => T, times = 3): Promise<T> { for (let at = 0; ; at++) { try { return await fn(); } catch (error) { if (at >= times) throw error; } } }`,
    statement: `void ${name}(() => ${call});`,
  })),
  hider('in a queue that is drained', (call, name) => ({
    before: `const ${name}: (() => unknown)[] = []; const ${name}add = (work: () => unknown) => { ${name}.push(work); }; const ${name}drain = () => { for (const work of ${name}) work(); };`,
    statement: `${name}add(() => ${call}); ${name}drain();`,
  })),
  hider('decorated', (call, name, type) => ({
    before: `const ${name} = (method: any, _context: unknown) => function (this: unknown, ...args: any[]) { void ${call}; return method.apply(this, args); }; class ${type} { @${name} run() { return 1; } }`,
    statement: `void new ${type}().run();`,
  })),
  hider('assigned to a prototype', (call, name, type) => ({
    before: `class ${type} { declare run: () => unknown; } ${type}.prototype.run = () => ${call};`,
    statement: `void new ${type}().run();`,
  })),
  hider('assigned to an object', (call, name) => ({
    before: `const ${name}: any = {}; ${name}.run = () => ${call};`,
    statement: `void ${name}.run();`,
  })),
  hider('assigned with Object.assign', (call, name) => ({
    before: `const ${name}: any = Object.assign({}, { run: () => ${call} });`,
    statement: `void ${name}.run();`,
  })),
  hider('in Object.fromEntries', (call, name) => ({
    before: `const ${name}: any = Object.fromEntries([['run', () => ${call}]]);`,
    statement: `void ${name}.run();`,
  })),
  hider('in a computed property', (call, name) => ({
    before: `const ${name}key = 'run'; const ${name}: any = { [${name}key]: () => ${call} };`,
    statement: `void ${name}.run();`,
  })),
  hider('in a symbol', (call, name) => ({
    before: `const ${name}key = Symbol('run'); const ${name} = { [${name}key]: () => ${call} };`,
    statement: `void ${name}[${name}key]();`,
  })),
  hider('in a label', (call) => ({
    statement: `outer: for (const one of [1]) { for (const two of [1]) { if (one === two) { void ${call}; continue outer; } } }`,
  })),
  hider('after a comma', (call) => ({ statement: `void (1, ${call});` })),
  hider('in a condition', (call) => ({ statement: `if (${call}) void 0;` })),
  hider('in a for header', (call) => ({ statement: `for (void ${call}; false; ) {}` })),
  hider('in an index', (call) => ({ statement: `void [1, 2][Number(${call})];` })),
  hider('in an enum-like switch', (call, name) => ({
    before: `const ${name} = (mode: 'a' | 'b') => { switch (mode) { case 'a': return 1; case 'b': return ${call}; } };`,
    statement: `void ${name}('b');`,
  })),
  hider('in recursion', (call, name) => ({
    before: `function ${name}(n: number): unknown { if (n === 0) return ${call}; return ${name}(n - 1); }`,
    statement: `void ${name}(3);`,
  })),
  hider('in mutual recursion', (call, name) => ({
    before: `function ${name}(n: number): unknown { return n > 5 ? ${call} : ${name}b(n + 1); } function ${name}b(n: number): unknown { return ${name}(n + 1); }`,
    statement: `void ${name}(0);`,
  })),
  hider('with using', (call, name) => ({
    before: `const ${name} = () => ({ [Symbol.dispose]() { void ${call}; } });`,
    statement: `{ using one = ${name}(); void one; }`,
  })),
  hider('in a type guard', (call, name) => ({
    before: `const ${name} = (value: unknown): value is string => { void ${call}; return true; };`,
    statement: `void [1].filter(${name});`,
  })),
  hider('in an optional chain', (call, name) => ({
    before: `const ${name}: { a?: { run(): unknown } } = { a: { run: () => ${call} } };`,
    statement: `void ${name}?.a?.run();`,
  })),
  hider('in instanceof', (call, name, type) => ({
    before: `class ${type} { static [Symbol.hasInstance](_: unknown) { void ${call}; return true; } }`,
    statement: `void ({} instanceof ${type});`,
  })),
  hider('in a loop over entries', (call, name) => ({
    before: `const ${name} = { a: () => 1, b: () => ${call} };`,
    statement: `for (const [, work] of Object.entries(${name})) void work();`,
  })),
  hider('in a loop over values', (call, name) => ({
    before: `const ${name} = { a: () => 1, b: () => ${call} };`,
    statement: `Object.values(${name}).forEach((work) => void work());`,
  })),
  hider('in an any', (call, name) => ({
    before: `const ${name}: any = { run: () => ${call} };`,
    statement: `void ${name}.run();`,
  })),
  hider('in a function of any', (call, name) => ({
    before: `const ${name}: any = () => ${call};`,
    statement: `void ${name}();`,
  })),
  hider('in a function with properties', (call, name) => ({
    before: `function ${name}() { return 1; } ${name}.run = () => ${call};`,
    statement: `void ${name}.run();`,
  })),
  hider('in an async queue', (call, name) => ({
    before: `let ${name}: Promise<unknown> = Promise.resolve();`,
    statement: `${name} = ${name}.then(() => ${call});`,
  })),
];
