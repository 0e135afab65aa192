import { expect, it } from 'vitest';
import { z } from 'zod';
import { tool, toolkit, ToolMetadataRegistry } from '../../src/index.js';
import { LEAST, refusal } from './sample-tools.js';

const Text = z.object({ text: z.string() });
const register = (source: object) => new ToolMetadataRegistry().register(source);
const messageOf = (act: () => unknown) => refusal(act).message;

it('tool() declares a class as a tool and returns the class with its type', () => {
  class Words {
    execute({ text }: z.infer<typeof Text>) {
      return text.split(' ').length;
    }
  }
  const WordCount = tool({ name: 'word_count', description: 'Counts words', inputSchema: Text })(
    Words,
  );
  const count: number = new WordCount().execute({ text: 'one two' });
  expect([WordCount, count]).toEqual([Words, 2]);
  expect(register(WordCount)[0]).toMatchObject({ name: 'word_count' });
});

const make = () =>
  toolkit(
    { category: 'notes', accessMode: 'readonly' },
    {
      find: { name: 'note_find', description: 'Finds notes', inputSchema: Text },
      size: { ...LEAST, name: 'note_size', accessMode: 'write' },
    },
  )(
    class {
      find({ text }: z.infer<typeof Text>) {
        return `found ${text}`;
      }

      size() {
        return 1;
      }
    },
  );

it('toolkit called as a function returns the class with the named methods as tools', () => {
  const Notes = make();
  expect(new Notes().find({ text: 'x' })).toBe('found x');
  const tools = register(Notes);
  expect(tools.map(({ name, category, accessMode }) => [name, category, accessMode])).toEqual([
    ['note_find', 'notes', 'readonly'],
    ['note_size', 'notes', 'write'],
  ]);
  expect(tools[0]!.definition.execute!({ text: 'x' }, {})).toBe('found x');
});

it('toolkit called as a function refuses an unknown method', () => {
  expect(messageOf(() => toolkit({}, { find: { ...LEAST } })(class {} as never))).toBe(
    `Tool "sample": expected @tool on a class or a public method, got "find".`,
  );
});

const asTool = (target: unknown) => tool({ ...LEAST })(target as new () => { execute(): unknown });

it.each([
  [
    'whose method has another name',
    class Counter {
      run() {
        return 1;
      }
    },
    'Tool "sample": expected a class with execute, got Counter without execute. Rename its method "run" to execute.',
  ],
  [
    'without any method',
    class Counter {},
    'Add execute(input, context), as a method or a field, or declare manual: true.',
  ],
])('a class %s is refused at registration', (_, target, help) => {
  asTool(target);
  expect(messageOf(() => register(target))).toContain(help);
  expect(messageOf(() => register(new target()))).toContain(help);
});

it('a class without execute is accepted if a subclass has execute, or the tool is manual', () => {
  class Derived extends asTool(class {}) {
    override execute() {
      return 2;
    }
  }
  const Manual = tool({ ...LEAST, manual: true })(class {});
  expect([Derived, new Derived(), Manual].map((source) => register(source).length)).toEqual([
    1, 1, 1,
  ]);
});

it('a class without execute whose instances a container makes fails at its first call', () => {
  const Nothing = asTool(class Nothing {});
  const registry = new ToolMetadataRegistry({ resolve: (Class) => new Class() });
  registry.register(Nothing);
  expect(messageOf(() => registry.require('sample').definition.execute!({}, {}))).toBe(
    'Expected an instance with the method or field execute, got an instance of Nothing. Add it to the class, or return an instance of the class from resolve.',
  );
});

it.each([
  ['a class', { kind: 'class', elements: [] }],
  ['a method', { kind: 'method', key: 'find', placement: 'prototype', descriptor: {} }],
])('@tool on %s names the line to add to tsconfig.json', (_, descriptor) => {
  expect(messageOf(() => tool(LEAST)(descriptor as never))).toContain(
    'Add "experimentalDecorators": true to compilerOptions in tsconfig.json.',
  );
});
