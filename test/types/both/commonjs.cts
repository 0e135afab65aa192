import tooldex = require('tooldex');

// The CommonJS half has types of its own.
const place = { type: 'object' };
const forecast: tooldex.ToolDefinition = tooldex.defineTool({ name: 'forecast', description: 'Tells the weather', inputSchema: place, accessMode: tooldex.AccessMode.READONLY, execute: () => 'sunny' });
new tooldex.ToolMetadataRegistry().register(forecast);
// @ts-expect-error nothing is exported by default
void tooldex.default;
