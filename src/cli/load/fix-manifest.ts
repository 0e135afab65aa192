import { applyEdits, modify } from 'jsonc-parser';
import { KEY_OF_OPTION } from '../../capability/manifest/define-entry.js';
import { readList } from '../../capability/manifest/json-text.js';
import { readManifest } from '../../capability/manifest/read-manifest.js';
import { canonicalJson } from '../../core/plain-data.js';
import { entryOf, type ToolDefinition } from '../../tool/tool-definition.js';

/** The axes that lint writes down, each with the value that is inferred. */
const AXES = ['accessMode', 'dangerLevel', 'executionCategory'] as const;
type Axis = (typeof AXES)[number];

/** Returns the lines that declare what is inferred of a tool, as its author would write them in code. */
export function linesToAdd(definition: ToolDefinition): readonly string[] {
  return missingAxes(definition).map(([axis, value]) => `${axis}: '${value}',`);
}

function missingAxes(definition: ToolDefinition): readonly (readonly [Axis, string])[] {
  const entry = entryOf(definition);
  return AXES.filter((axis) => entry.inferred.includes(axis)).map((axis) => [axis, entry[axis]]);
}

/**
 * Returns the text of a manifest in which some tools declare the axes that were inferred of them, and nothing else is
 * different; `undefined` if the text would not describe the same tools.
 */
export function fixManifest(source: string, names: ReadonlySet<string>): string | undefined {
  const mark = source.startsWith('\uFEFF') ? '\uFEFF' : '';
  let text = source.slice(mark.length);
  const list = readList(text, 'tools');
  if (!list.ok) return undefined;
  const before = readManifest(text);
  const indent = /\n([ \t]+)\S/.exec(text)?.[1] ?? '  ';
  const formattingOptions = {
    insertSpaces: !indent.startsWith('\t'),
    tabSize: indent.startsWith('\t') ? 1 : indent.length,
    eol: text.includes('\r\n') ? '\r\n' : '\n',
  };
  for (const { index, entry } of before.entries.filter((each) => names.has(each.entry.name))) {
    for (const [axis, value] of missingAxes(entry.definition))
      text = applyEdits(
        text,
        modify(text, [...list.base, index, KEY_OF_OPTION.get(axis)!], value, { formattingOptions }),
      );
  }
  const after = readManifest(text);
  const same =
    after.issues.length === before.issues.length &&
    after.entries.length === before.entries.length &&
    before.entries.every(
      (each, index) =>
        behaviourOf(each.entry.definition) === behaviourOf(after.entries[index]!.entry.definition),
    );
  return same ? mark + text : undefined;
}

/** Returns what a tool does and is as text, without what counts as inferred. */
function behaviourOf(definition: ToolDefinition): string {
  const {
    inferred: _inferred,
    digest: _digest,
    definition: _definition,
    ...rest
  } = entryOf(definition);
  return canonicalJson(JSON.parse(JSON.stringify(rest)));
}
