import { ToolMetadataRegistry } from 'tooldex';
import { Calculate, createDefaultTools, ReadFile } from 'tooldex/tools';

const registry = new ToolMetadataRegistry();
registry.registerAll(createDefaultTools({ root: '.', allowedPrograms: ['git'] }));
registry.register(Calculate, { replace: true });
// @ts-expect-error the clock is a function
createDefaultTools({ now: 0 });
// @ts-expect-error expression is a string
new Calculate().execute({ expression: 1 });

export { ReadFile };
