import * as childProcess from 'node:child_process';
import * as dns from 'node:dns';
import * as fs from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { builtinEffects } from '../../../src/audit/known/builtins.js';
import { clientEffects } from '../../../src/audit/known/clients.js';
import { httpEffects } from '../../../src/audit/known/http.js';
import { programEffects } from '../../../src/audit/known/programs.js';
import { sqlEffects } from '../../../src/audit/known/sql.js';
import type { CallEffect } from '../../../src/audit/effect.js';

/**
 * Returns the strongest access among effects, `none` if there are no effects, and `?` if nothing is
 * known.
 */
function accessOf(effects: readonly CallEffect[] | undefined): string {
  if (effects === undefined) return '?';
  return (
    (['write', 'unknown', 'read'] as const).find((access) =>
      effects.some((effect) => effect.access === access),
    ) ?? 'none'
  );
}

const shell = (text: string) => accessOf(programEffects('sh', ['-c', text]));

describe('known programs', () => {
  it.each([
    ['git log --oneline -5', 'read'],
    ['git branch', 'read'],
    ['git config user.name', 'read'],
    ['git commit -m x', 'write'],
    ['kubectl get pods -A', 'read'],
    ['kubectl config use-context prod', 'write'],
    ['kubectl rollout restart deploy/x', 'write'],
    ['docker compose ps', 'read'],
    ['docker compose up -d', 'write'],
    ['xcrun simctl boot X', 'write'],
    ['aws s3api list-buckets', 'read'],
    ['psql -c "select 1"', 'read'],
    ['curl https://example.com', 'read'],
    ['curl -o page.html https://example.com', 'write'],
    ['sed -n 1,5p file', 'read'],
    ['find . -name x', 'read'],
    ['find . -exec rm {} +', 'write'],
    ['sudo rm -rf x', 'write'],
    ['git diff --output x.txt', 'write'],
    ['git clean -nd', 'read'],
    ['git add --dry-run .', 'read'],
    ['git symbolic-ref -d HEAD', 'write'],
    ['kubectl apply -f x --dry-run=client', 'read'],
    ['kubectl exec pod -- cat x', 'unknown'],
    ['npm version', 'read'],
    ['npm run build', 'unknown'],
    ['gh api -X DELETE repos/x', 'write'],
    ['aws iam create-user --user-name list', 'write'],
    ['psql -tAc "delete from x"', 'write'],
    ['redis-cli config set a b', 'write'],
    ['curl -G -d q=1 https://x.example', 'read'],
    ['find . -type f -exec grep x {} \\;', 'read'],
    ['awk "{print > \\"out\\"}" f', 'unknown'],
    ['sudo -u root rm x', 'write'],
    ['ssh host', 'unknown'],
    ['systemctl frobnicate x', 'unknown'],
    ['xcrun simctl frobnicate', 'unknown'],
    ['some-program --flag', 'unknown'],
  ])('the command %s is classified as %s', (line, access) => expect(shell(line)).toBe(access));

  it('a program is unknown if the arguments that determine its effect are unknown', () => {
    expect(accessOf(programEffects('git', [undefined]))).toBe('unknown');
    expect(accessOf(programEffects('kubectl', ['config', undefined]))).not.toBe('read');
    expect(accessOf(programEffects('git', ['config', undefined]))).toBe('unknown');
    expect(accessOf(programEffects('git', ['log', undefined]))).toBe('read');
    expect(accessOf(programEffects('git', ['-C', undefined, 'status']))).toBe('read');
    expect(accessOf(programEffects('hostname', [undefined]))).toBe('unknown');
    expect(accessOf(programEffects('sh', [undefined]))).toBe('unknown');
  });

  it('the operator can classify a program', () => {
    expect(
      accessOf(programEffects('deployctl', ['up'], { programs: { deployctl: 'write' } })),
    ).toBe('write');
    expect(
      accessOf(programEffects('deployctl', ['state'], { programs: { 'deployctl state': 'read' } })),
    ).toBe('read');
  });

  it('a program with an unlisted subcommand is never classified as read', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(
          'git',
          'kubectl',
          'docker',
          'helm',
          'gh',
          'npm',
          'pip',
          'terraform',
          'aws',
          'gcloud',
          'az',
          'systemctl',
          'simctl',
          'adb',
          'idb',
          'redis-cli',
          'brew',
          'cargo',
        ),
        fc.stringMatching(/^zz[a-z]{1,8}$/),
        (program, word) => {
          expect(accessOf(programEffects(program, [word]))).not.toBe('read');
        },
      ),
    );
  });
});

it.each([
  ['ls | grep x', 'read'],
  ['ls > out.txt', 'write'],
  ['ls > /dev/null 2>&1', 'read'],
  ['echo "a > b; rm x"', 'read'],
  ['echo $(rm x)', 'write'],
  ['NODE_ENV=test rm x', 'write'],
  ['$EDITOR file', 'unknown'],
  ['for f in *; do rm $f; done', 'write'],
  ['case x in a) rm x;; esac', 'write'],
  ['diff <(ls) <(rm x)', 'write'],
  ['. ./x.sh', 'unknown'],
  ['# rm x', 'none'],
])('the shell command %s is classified as %s', (text, access) => expect(shell(text)).toBe(access));

it.each([
  ['SELECT * FROM t', 'read'],
  ["SELECT 'delete from t'", 'read'],
  ['WITH x AS (DELETE FROM t RETURNING *) SELECT * FROM x', 'write'],
  ['EXPLAIN DELETE FROM t', 'read'],
  ['EXPLAIN ANALYZE DELETE FROM t', 'write'],
  ['PRAGMA journal_mode = WAL', 'write'],
  ['SELECT 1; DROP TABLE t', 'write'],
  ['SELECT * INTO "My T" FROM t', 'write'],
  ["SELECT setval('s', 1)", 'write'],
  ['PRAGMA wal_checkpoint(TRUNCATE)', 'write'],
  ['CALL p()', 'unknown'],
  ['FROB t', 'unknown'],
])('the SQL statement %s is classified as %s', (text, access) =>
  expect(accessOf(sqlEffects(text))).toBe(access),
);

it.each([
  ['GET', 'https://x.example/a', undefined, 'read'],
  ['PUT', 'https://x.example/a', undefined, 'write'],
  ['POST', 'https://x.example/items', undefined, 'write'],
  ['POST', 'https://x.example/items/_search', undefined, 'unknown'],
  ['POST', 'https://x.example/graphql', { query: 'query { a }' }, 'read'],
  ['POST', 'https://x.example/graphql', { query: 'mutation { a }' }, 'write'],
  ['POST', 'https://x.example/graphql', undefined, 'unknown'],
  [
    'POST',
    'https://x.example/graphql',
    { query: 'fragment F on T { a } mutation A { a }' },
    'write',
  ],
  [undefined, 'https://x.example/a', undefined, 'unknown'],
])('the request %s %s with the body %o is classified as %s', (method, url, body, access) =>
  expect(accessOf(httpEffects(method, url, body))).toBe(access),
);

describe('built-in Node modules', () => {
  it.each([
    ['fs', ['writeFileSync'], ['a', 'b'], 'write'],
    ['fs', ['promises', 'appendFile'], ['a', 'b'], 'write'],
    ['fs', ['openSync'], ['a', 'w'], 'write'],
    ['fs', ['openSync'], ['a', undefined], 'unknown'],
    ['fs', ['promises', 'open', '()', 'write'], ['x'], 'write'],
    ['child_process', ['execSync'], ['git log'], 'read'],
    ['child_process', ['spawn'], [undefined], 'unknown'],
    ['global', ['fetch'], ['https://x.example/orders', { method: 'POST' }], 'write'],
    ['global', ['fetch'], ['https://x.example', { method: undefined }], 'unknown'],
    ['fs', ['readFile'], ['a', { flag: 'a+' }], 'write'],
    ['child_process', ['spawn'], ['rm -rf x', { shell: true }], 'write'],
    ['path', ['join'], ['a'], 'none'],
    ['not-there', ['a'], [], '?'],
  ] as const)(
    'a call to %s %j with arguments %j is classified as %s',
    (module, path, args, access) =>
      expect(accessOf(builtinEffects(module, path, args))).toBe(access),
  );

  it('every fs function that changes files is known', () => {
    const pure =
      /^(?:close|fsync|fdatasync|_toUnixTimestamp|unwatchFile|Stats|Dirent|Dir|F_OK|R_OK|W_OK|X_OK|FileReadStream|FileWriteStream|default|Utf8Stream)/;
    const unknown = Object.keys(fs).filter(
      (name) =>
        typeof fs[name as keyof typeof fs] === 'function' &&
        !pure.test(name) &&
        accessOf(builtinEffects('fs', [name], ['a', 'r'])) === 'none',
    );
    expect(unknown).toEqual([]);
  });

  it('every function that starts a program or resolves a host name is known', () => {
    const started = Object.keys(childProcess).filter(
      (name) =>
        /^(?:exec|spawn|fork)/.test(name) &&
        accessOf(builtinEffects('child_process', [name], [undefined])) !== 'unknown',
    );
    const asked = Object.keys(dns).filter(
      (name) =>
        /^(?:lookup|resolve|reverse)/.test(name) &&
        accessOf(builtinEffects('dns', [name], [])) !== 'read',
    );
    expect([started, asked]).toEqual([[], []]);
  });
});

describe('client packages of services', () => {
  it.each([
    ['@octokit/rest', ['Octokit', '()', 'issues', 'update'], 'write'],
    ['mongodb', ['MongoClient', '()', 'db', '()', 'collection', '()', 'insertOne'], 'write'],
    ['@aws-sdk/client-s3', ['PutObjectCommand'], 'write'],
    ['@aws-sdk/client-s3', ['S3', '()', 'deleteObject'], 'write'],
    ['@aws-sdk/client-lambda', ['InvokeCommand'], 'unknown'],
    ['googleapis', ['google', 'calendar', '()', 'events', 'insert'], 'write'],
    ['@pinecone-database/pinecone', ['Pinecone', '()', 'index'], '?'],
    ['openai', ['OpenAI', '()', 'files', 'create'], 'write'],
    ['ms', ['default'], 'none'],
    ['posthog-node', ['PostHog', '()', 'capture'], 'none'],
    ['openai', ['OpenAI', '()', 'chat', 'completions', 'create'], 'read'],
  ] as const)('a call to the package %s %j is classified as %s', (pkg, path, access) =>
    expect(accessOf(clientEffects(pkg, path, [{}]))).toBe(access),
  );

  it('a client call with a query is classified by that query', () => {
    expect(accessOf(clientEffects('pg', ['Pool', '()', 'query'], ['SELECT 1']))).toBe('read');
    expect(accessOf(clientEffects('pg', ['Pool', '()', 'query'], ['DELETE FROM t']))).toBe('write');
    expect(
      accessOf(
        clientEffects(
          'mongodb',
          ['Db', '()', 'collection', '()', 'aggregate'],
          [[{ $match: {} }, { $out: 'x' }]],
        ),
      ),
    ).toBe('write');
    expect(
      accessOf(
        clientEffects('graphql-request', ['GraphQLClient', '()', 'request'], ['mutation { a }']),
      ),
    ).toBe('write');
    expect(accessOf(clientEffects('pg', ['Pool', '()', 'query'], [undefined]))).toBe('unknown');
  });

  it("the operator can classify a client's call", () => {
    expect(
      accessOf(
        clientEffects('some-client', ['sync'], [], { calls: { 'some-client.sync': 'read' } }),
      ),
    ).toBe('read');
  });
});

it.each<[string, readonly CallEffect[] | undefined, boolean | null, boolean | null]>([
  ['a click', clientEffects('playwright', ['page', 'click'], ['#a']), true, false],
  [
    'a form field that is filled in',
    clientEffects('playwright', ['page', 'fill'], ['#a', 'x']),
    true,
    true,
  ],
  [
    'a page navigation',
    clientEffects('playwright', ['page', 'goto'], ['https://example.org']),
    null,
    null,
  ],
  ['an update', clientEffects('some-sdk', ['client', 'issues', 'update'], [{}]), true, null],
  ['a creation', clientEffects('some-sdk', ['client', 'issues', 'create'], [{}]), false, false],
  ['a POST that may only add', httpEffects('POST', 'https://api.example/items'), null, false],
  ['a POST that pauses', httpEffects('POST', 'https://api.example/items/1/pause'), true, false],
  ['a commit', programEffects('git', ['commit', '-m', 'x']), false, false],
  ['an amended commit', programEffects('git', ['commit', '--amend']), true, false],
  ['an aborted cherry-pick', programEffects('git', ['cherry-pick', '--abort']), true, null],
])(
  '%s has the expected values for destructive and idempotent',
  (_, effects, destructive, idempotent) => {
    expect(effects).toMatchObject([{ access: 'write', destructive, idempotent }]);
  },
);
