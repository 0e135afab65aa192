import console from 'node:console';
import { ReflectionKind } from 'typedoc';
import { defaultOf, PUBLIC, summaryOf } from './reference-model.js';

/** What a user hands in, but for what others hand to tooldex or it hands to itself. */
export const OPTIONS = /^(?!McpConnectionOptions|McpTransportSettings|AISDKCallOptions|CallRequest).*(Options|Request|Query|Filter|Settings|Rule|Budget|Engine|Overrides|Limits|CallContext)$/;
const SAYS_DEFAULT = /\b(default|without (it|one|them|this|a|any|either)\b|left out|missing|omitted|when none)/i;
const UNITS = /\b(milliseconds?|seconds?|bytes?|characters?|tokens?|calls?|tools?|times?|files?|entries|units?|answers?|requests?|connections?|rows?|lines?|steps?|attempts?|repetitions?|starts?|turns?|messages?|share|number from|port|levels?|matches|results|chances?|score|weight|cost|places?|documents?|texts?|items?|sum|names?|sessions?|failures|MiB)\b/i;

/** Returns what the reference lacks: public names, their comments, and the default or unit of an option. */
export function checkReference(project) {
  const gaps = [];
  const seen = new Set();
  const counts = { names: 0, options: 0 };
  for (const module of project.children) {
    const members = new Map(module.children.map((member) => [member.name, member]));
    for (const name of PUBLIC.get(module.name)) {
      const member = members.get(name);
      counts.names++;
      if (member === undefined) gaps.push(`${module.name} has no page of ${name}`);
      else if (!member.isReference() && summaryOf(member) === '') gaps.push(`${module.name}: ${name} has no doc comment`);
    }
    for (const type of module.children.filter(({ name }) => OPTIONS.test(name))) {
      const saysForAll = SAYS_DEFAULT.test(summaryOf(type));
      for (const option of optionsOf(type)) {
        const place = `${type.name}.${option.name}`;
        const text = summaryOf(option);
        const fallback = defaultOf(option);
        // What a type takes over from another is judged there.
        const key = `${option.name} ${text}`;
        if (option.inheritedFrom !== undefined || (text !== '' && seen.has(key))) continue;
        seen.add(key);
        counts.options++;
        if (text === '' && !saysForAll) gaps.push(`${module.name}: ${place} has no doc comment`);
        if (option.flags.isOptional && !saysForAll && fallback === undefined && !SAYS_DEFAULT.test(text)) gaps.push(`${module.name}: ${place} does not say what holds without it`);
        if (option.type?.name === 'number' && !UNITS.test(`${text} ${fallback ?? ''}`)) gaps.push(`${module.name}: ${place} does not say in which unit it counts`);
      }
    }
  }
  console.log(`${counts.names} public names and ${counts.options} options, ${gaps.length} gaps.`);
  return gaps;
}

/** Returns the properties of a type, also of one that is put together of several. */
function optionsOf(type) {
  const parts = (node) => [node, ...(node?.types ?? []).flatMap(parts)];
  return [...(type.children ?? []), ...parts(type.type).flatMap((part) => part?.declaration?.children ?? [])].filter(({ kind }) => kind === ReflectionKind.Property || kind === ReflectionKind.Method);
}
