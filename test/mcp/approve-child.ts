import { DefinitionPins } from '../../src/mcp/pins/definition-pins.js';

/** Approves ten tools of a server of its own, one after the other. Arguments: <lock file> <id>. */
const [file = '', id = ''] = process.argv.slice(2);
for (let index = 0; index < 10; index++) {
  const pins = new DefinitionPins();
  pins.approve(`server${id}`, { name: `tool${index}`, inputSchema: { type: 'object' } });
  await pins.save(file);
}
