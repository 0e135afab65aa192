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
// A container may know the constructor's arguments.
registry.register(Toolkit);
registry.registerAll([zodTool, Toolkit]);
// @ts-expect-error an abstract class can't be constructed
registry.register(Unfinished);
// @ts-expect-error a class with a private constructor can't be constructed
registry.register(Hidden);
// @ts-expect-error a list isn't a tool, so it needs registerAll
registry.register([zodTool]);
// @ts-expect-error a promise isn't a tool
registry.register(Promise.resolve(zodTool));
// @ts-expect-error a list inside a list isn't a tool
registry.registerAll([[zodTool]]);
// @ts-expect-error a name isn't a tool
registry.register('forecast');
// @ts-expect-error a single tool isn't a list of tools
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
// @ts-expect-error a filter has only known conditions
registry.filter({ maxDangr: 'low' });
// @ts-expect-error "writing" isn't an access mode
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
  // @ts-expect-error "NOT_FOUND" isn't an error code
  isToolError(error, 'NOT_FOUND');
}
new ToolError('INVALID_INPUT', 'expected a city');
// @ts-expect-error "WRONG" isn't an error code
new ToolError('WRONG', 'expected a city');

export { found, keywords, names, writing };
