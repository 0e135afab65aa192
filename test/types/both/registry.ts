import { defaultRegistry, defineTool, isToolError, lintTools, ToolError, ToolMetadataRegistry, type SearchResult, type ToolEntry, type ToolErrorCode, type ToolSource } from 'tooldex';
import { Forecast, ForeignPlace, JsonPlace, Place } from './schemas.js';

const registry = new ToolMetadataRegistry();
const basics = { name: 'forecast', description: 'Tells the weather of the next days' };
const zodTool = defineTool({ ...basics, inputSchema: Place, outputSchema: Forecast, dangerFor: ({ days }) => (days > 3 ? 'high' : 'low'), execute: ({ days }) => ({ celsius: days }) });
const foreignTool = defineTool({ ...basics, inputSchema: ForeignPlace, execute: ({ city }) => city });
const jsonTool = defineTool({ ...basics, inputSchema: JsonPlace, execute: (input: { city: string }) => input.city });

class Toolkit {
  constructor(readonly apiKey: string) {}
}

registry.register(zodTool);
class Optional {
  constructor(readonly unit = 'celsius') {}
}

abstract class Unfinished {}

class Hidden {
  private constructor() {}
}

registry.registerAll([zodTool, foreignTool, jsonTool, Optional, new Toolkit('key')], { replace: true });
const sources: readonly ToolSource[] = [zodTool, Optional, new Toolkit('key')];
registry.registerAll(new Set(sources));
registry.register(registry.require('forecast').definition, { replace: true });
registry.register(new Toolkit('key') as object);
// A container may know what the constructor takes.
registry.register(Toolkit);
registry.registerAll([zodTool, Toolkit]);
// @ts-expect-error an abstract class cannot be constructed
registry.register(Unfinished);
// @ts-expect-error nor can a class with a private constructor
registry.register(Hidden);
// @ts-expect-error a list is no tool: registerAll takes it
registry.register([zodTool]);
// @ts-expect-error nor is a promise
registry.register(Promise.resolve(zodTool));
// @ts-expect-error a list in a list
registry.registerAll([[zodTool]]);
// @ts-expect-error a name is no tool
registry.register('forecast');
// @ts-expect-error one tool is no list of tools
registry.registerAll(zodTool);

const entry: ToolEntry = registry.require('forecast');
const keywords: readonly string[] = entry.keywords;
// @ts-expect-error entries are frozen
entry.priority = 0;
// @ts-expect-error lists are frozen
entry.keywords.push('rain');

const found: readonly SearchResult[] = registry.search('weather', { limit: 3 });
const names: ReadonlySet<string> = registry.getWriteTools();
const writing: readonly ToolEntry[] = registry.getByAccessMode('write');
// @ts-expect-error conditions of a filter are known
registry.filter({ maxDangr: 'low' });
// @ts-expect-error "writing" is no access mode
registry.getByAccessMode('writing');
for (const each of defaultRegistry) each.digest.at(0);
for (const { rule, severity } of lintTools(registry)) rule.concat(severity);

try {
  registry.require('missing');
} catch (error) {
  if (isToolError(error, 'TOOL_NOT_FOUND')) {
    const code: ToolErrorCode = error.code;
    void code;
  }
  // @ts-expect-error "NOT_FOUND" is no error code
  isToolError(error, 'NOT_FOUND');
}
new ToolError('INVALID_INPUT', 'expected a city');
// @ts-expect-error "WRONG" is no error code
new ToolError('WRONG', 'expected a city');

export { found, keywords, names, writing };
