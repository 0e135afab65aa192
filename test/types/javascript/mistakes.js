// @ts-check
import { createToolSearchTool, DangerLevel, defineTool, lintTools, planExecution, SafetyPolicy, selectTools, tool, ToolExecutor, toolkit, ToolMetadataRegistry } from 'tooldex';
import { z } from 'zod';

// What a program in plain JavaScript means, and the typical mistakes, as an editor marks them without strict mode.
const Place = z.object({ city: z.string(), days: z.number().default(1) });
const basics = { name: 'forecast', description: 'Tells the weather', inputSchema: Place };
const forecast = defineTool({ ...basics, accessMode: 'readonly', dangerLevel: DangerLevel.SAFE, execute: ({ city, days }) => city.repeat(days) });
const registry = new ToolMetadataRegistry();
registry.register(forecast);
registry.registerAll([forecast]);
const executor = new ToolExecutor({ registry });
executor.execute({ name: 'forecast', input: { city: 'Rome' } }).then((outcome) => outcome.status === 'ok' && outcome.value);
selectTools(registry, { text: 'weather', maxTools: 3 }).tools.map(({ toolName }) => toolName.trim());
const Greet = tool({ ...basics, name: 'greet' })(class { execute() { return 1; } });
registry.registerAll([Greet, new Greet()]);

// @ts-expect-error an unknown option
defineTool({ ...basics, acessMode: 'readonly', execute: () => 1 });
// @ts-expect-error a name of another library
defineTool({ ...basics, handler: () => 1 });
// @ts-expect-error a wrong value of an enum
defineTool({ ...basics, accessMode: 'read', execute: () => 1 });
// @ts-expect-error an enum has no such value
defineTool({ ...basics, dangerLevel: DangerLevel.HIHG, execute: () => 1 });
// @ts-expect-error execute is missing
defineTool({ ...basics });
// @ts-expect-error the description is missing
defineTool({ name: 'forecast', inputSchema: Place, execute: () => 1 });
// @ts-expect-error zip is not in the schema
defineTool({ ...basics, execute: ({ zip }) => zip });
// @ts-expect-error a class without execute
tool(basics)(class { run() {} });
// @ts-expect-error a name belongs to one tool
toolkit({ name: 'notes' });

// @ts-expect-error a list
registry.register([forecast]);
// @ts-expect-error a promise
registry.register(Promise.resolve(forecast));
// @ts-expect-error a name
registry.register('forecast');
// @ts-expect-error a second tool
registry.register(forecast, forecast);
// @ts-expect-error a single tool
registry.registerAll(forecast);
// @ts-expect-error a module
registry.registerAll({ forecast });
// @ts-expect-error a misspelt condition
registry.filter({ maxDangr: 'low' });
// @ts-expect-error a function
registry.filter(() => true);
// @ts-expect-error no conditions
registry.filter();
// @ts-expect-error a wrong value of an enum
registry.getByDangerLevel('LOW');
// @ts-expect-error a tool in place of its name
registry.has(forecast);
// @ts-expect-error an option of another name
registry.search('weather', { max: 5 });

// @ts-expect-error a registry in place of options
new ToolExecutor(registry);
// @ts-expect-error no options
new ToolExecutor();
// @ts-expect-error a list in place of a registry
new ToolExecutor({ registry: [forecast] });
// @ts-expect-error tools in place of options
new ToolMetadataRegistry([forecast]);
// @ts-expect-error a wrong mode
new SafetyPolicy({ registry, mode: 'readonly' });
// @ts-expect-error a name and an input in place of a call
executor.execute('forecast', { city: 'Rome' });
// @ts-expect-error arguments in place of the input
executor.execute({ id: '1', name: 'forecast', arguments: { city: 'Rome' } });
// @ts-expect-error a misspelt option
executor.execute({ id: '1', name: 'forecast' }, { aprove: true });
// @ts-expect-error an option of another name
selectTools(registry, { text: 'weather', max: 3 });
// @ts-expect-error a text in place of a request
selectTools(registry, 'weather');
// @ts-expect-error a list in place of a registry
selectTools([forecast], { text: 'weather' });
// @ts-expect-error a list in place of a registry
createToolSearchTool([forecast]);
// @ts-expect-error the arguments the other way round
planExecution([{ name: 'forecast' }], registry);
// @ts-expect-error a list in place of a registry
lintTools([forecast]);
