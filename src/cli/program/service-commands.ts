import { Option } from 'commander';
import { addChatOptions } from '../commands/chat/chat-options.js';
import { wholeNumber } from '../options/filter-options.js';
import { LINT_FORMATS } from '../lint-formats.js';
import type { CommandHost } from './command-host.js';

const repeated = (value: string, before: readonly string[] = []): readonly string[] => [...before, value];

/** Defines the commands that check manifests, serve the catalogue, and talk to a model. */
export function defineServiceCommands({ program, terminal, cwd, importOptions, onTools, alone }: CommandHost): void {
  onTools(
    addChatOptions(program.command('chat [prompt...]').description('lets a model use the tools, and asks before they change something; without --model a scripted one')),
    ['chat', 'chat "what is in this folder?"', 'chat --model ./model.mjs --session talk.json', 'chat --session talk.json --approve call-2'],
    async () => {
      const { chat } = await import('../commands/chat/chat.js');
      return (loaded, options, words) => chat(terminal, loaded, words, options, cwd, importOptions);
    },
  );
  alone(
    program
      .command('validate <files...>')
      .description('everything that is wrong in manifest files, or in folders of them; exits with 1 when there is an error')
      .addOption(new Option('--format <format>', 'how it is printed').choices(LINT_FORMATS).default('table')),
    ['validate functions.json', 'validate ./manifests --format github'],
    async () => {
      const { validate } = await import('../commands/validate.js');
      return ({ json, format }, places) => validate(terminal, places, json === true ? 'json' : format, cwd);
    },
  );
  alone(
    program
      .command('serve')
      .description('shows the tools over HTTP: JSON for programs, a page for people; manifests are watched')
      .option('--port <n>', 'the port to listen on; 0 takes any that is free (default: 4780)', wholeNumber)
      .option('--host <address>', 'the address to listen on; any but 127.0.0.1 needs a token')
      .option('--token <text>', 'what clients must send as a bearer token (default: the variable TOOLDEX_TOKEN, which other users cannot see)')
      .option('--allowed-host <name>', 'a name under which it is asked for instead of localhost; may be repeated', repeated),
    ['serve', 'serve --manifests ./manifests --port 8080', 'serve --mcp .mcp.json'],
    async () => {
      const { serveCatalogue } = await import('../commands/serve.js');
      return (options) => serveCatalogue(terminal, options, cwd, importOptions);
    },
  );
}
