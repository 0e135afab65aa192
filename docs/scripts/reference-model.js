import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ReflectionKind } from 'typedoc';

export const ROOT = join(import.meta.dirname, '../..');

/** The entry points with their source files, in the order of package.json. */
const { name, exports } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
export const ENTRIES = Object.entries(exports)
  .filter(([, targets]) => targets.import !== undefined)
  .map(([path, targets]) => ({ name: join(name, path), file: targets.import.types.replace(/^\.\/dist\/types\//, '').replace(/\.d\.ts$/, '.ts') }));

/** What each entry point holds. */
const CONTENTS = {
  tooldex: 'Tools and what is known of them: definitions, the registry, selection, policy, plans and the executor.',
  'tooldex/tools': 'The bundled tools: files, programs, git, tests, web, data, time, notes and the system, each behind its wall.',
  'tooldex/providers': 'Services behind a tool: a router that falls back, backoff, and the health of each.',
  'tooldex/state': 'Stores of what processes share, such as approvals and budgets: in memory or in Redis.',
  'tooldex/testing': 'Helpers for tests: one tool run as the executor would, a manual clock, seeded randomness, a fake provider, the cases of a store.',
  'tooldex/capability': 'Manifests of tools, skills, jobs and tasks, and a registry that knows their health and personas.',
  'tooldex/http': 'The catalogue over HTTP: an app for your server, or a server of its own.',
  'tooldex/mcp': 'MCP in both directions: tools of servers with pinned definitions, and a server for your tools.',
  'tooldex/interop': 'Tools in the form of other frameworks and model APIs, and theirs in ours.',
  'tooldex/openapi': 'Tools from OpenAPI documents.',
  'tooldex/nestjs': 'A module of NestJS that finds tools among the providers and runs them.',
  'tooldex/chat': 'The loop of model and tools: one run, a stream, or a session that is stored between runs.',
  'tooldex/load': 'Tools from the files that define them.',
  'tooldex/audit': 'Tools that do more than they say.',
  'tooldex/eslint': 'A rule for editors that reports tools that do more than they say.',
};

/** Returns what an entry point holds. @throws an Error for one that has no sentence here. */
export function contentsOf(module) {
  const contents = CONTENTS[module.name];
  if (contents === undefined) throw new Error(`Expected a sentence about ${module.name} in reference-model.js, got none.`);
  return contents;
}

const API = readFileSync(join(ROOT, 'test/package/public-api.md'), 'utf8');

/** The public names by entry point, as the tests pin them. */
export const PUBLIC = new Map(
  [...API.matchAll(/^## (tooldex\S*)\n\nValues: (.*)\n\nTypes: (.*)$/gm)].map(([, entry, ...lists]) => [
    entry,
    new Set(lists.flatMap((list) => (list === '–' ? [] : list.split(', ')))),
  ]),
);

export const shortName = (module) => module.name.replace(/^tooldex\//, '');
export const moduleOf = (reflection) => (reflection.kind === ReflectionKind.Module ? reflection : moduleOf(reflection.parent));
export const pageOf = (reflection) => (reflection.parent.kind === ReflectionKind.Module ? reflection : pageOf(reflection.parent));
export const isExported = (reflection) => PUBLIC.get(moduleOf(reflection).name).has(reflection.name);

export const textOf = (parts) => (parts ?? []).map(({ text }) => text).join('').trim();
export const summaryOf = (reflection) => textOf(reflection.comment?.summary ?? reflection.signatures?.[0]?.comment?.summary);

/** Returns the text of a default, without the code block into which TypeDoc puts it. */
export function defaultOf(reflection) {
  const tag = (reflection.comment ?? reflection.signatures?.[0]?.comment)?.blockTags?.find(({ tag }) => tag === '@default' || tag === '@defaultValue');
  return tag === undefined ? undefined : textOf(tag.content).replace(/^```ts\n([\s\S]*)\n```$/, '$1');
}

/** Takes out what the reference does not show: values that cannot be imported, and what the bundled tools are made of. */
export function removeInternals(project) {
  const all = [];
  const collect = (reflection) => reflection.traverse((child) => {
    all.push(child);
    collect(child);
    return true;
  });
  collect(project);
  for (const reflection of all) {
    // Parameters that a function takes apart have no name.
    if (reflection.name === '__namedParameters') reflection.name = 'options';
    const isBundled = moduleOf(reflection).name === 'tooldex/tools';
    if (isBundled && reflection.kind === ReflectionKind.Method && reflection.name === 'execute') project.removeReflection(reflection);
    if (reflection.parent.kind !== ReflectionKind.Module || isExported(reflection)) continue;
    const isShape = reflection.kind === ReflectionKind.Interface || reflection.kind === ReflectionKind.TypeAlias;
    if (!isShape || (isBundled && !reflection.name.endsWith('Options'))) project.removeReflection(reflection);
  }
}

/** Takes out the types that nothing public names any more. */
export function removeUnreached(project, serializer) {
  const pages = new Map(serializer.projectToObject(project, ROOT).children.flatMap(({ children }) => children.map((member) => [member.id, targetsOf(member)])));
  const reached = new Set();
  const reach = (id) => {
    if (reached.has(id) || !pages.has(id)) return;
    reached.add(id);
    pages.get(id).forEach(reach);
  };
  const members = project.children.flatMap(({ children }) => children);
  members.filter(isExported).forEach(({ id }) => reach(id));
  for (const member of members) if (!reached.has(member.id)) project.removeReflection(member);
}

/** Returns the ids that the types of a serialized reflection refer to. */
function targetsOf(node) {
  if (typeof node !== 'object' || node === null) return [];
  const own = node.type === 'reference' && typeof node.target === 'number' ? [node.target] : [];
  return [...own, ...Object.values(node).flatMap(targetsOf)];
}
