import { defineMetadata, getOwnMetadata } from 'reflect-metadata/no-conflict';
import type { Execute } from './tool-definition.js';
import {
  assertClass,
  assertUnregistered,
  declarationsOf,
  inheritance,
  invalidDecoration,
  tool,
  withoutOptions,
  type ReadDeclared,
} from './tool-decorator.js';
import {
  checkDefaults,
  resolveMetadata,
  type ResolvedOptions,
  type ToolkitOptions,
} from './tool-metadata.js';
import type { ToolOptions } from './tool-options.js';
import type { InputOf, SchemaInput, ToolSchema } from './tool-schema.js';

/** The options of a method's tool, whatever context its functions need. */
type AnyOptions = ToolOptions<ToolSchema, ToolSchema, never>;

/** A decorator for classes that have the listed methods. Returns the class. */
type ToolkitDecorator<Methods> = <
  Class extends abstract new (...args: never[]) => {
    [Name in keyof Methods]: MethodOf<Methods[Name]>;
  },
>(
  target: Class,
  context?: ClassDecoratorContext<Class>,
) => Class;

type MethodOf<Options> =
  Options extends ToolOptions<infer In, infer Out, never>
    ? Execute<InputOf<In>, SchemaInput<Out>, never>
    : never;

/** All loaded copies of the package share this key, like the keys of `@tool`. */
const TOOLKIT_KEY = Symbol.for('tooldex/toolkit/v1');

/**
 * Declares default options for all tools of a class. An option in a method's `@tool` overrides the
 * default.
 *
 * The defaults apply to the tools that the class declares, and to tools declared by subclasses
 * without their own `@toolkit`. Inherited tools keep the defaults of the class that declares them.
 * If your build doesn't compile decorators, call `toolkit` as a function and pass each tool's
 * options by method name.
 *
 * ```ts
 * @toolkit({ category: 'notes', accessMode: AccessMode.READONLY })
 * class Notes {
 *   @tool({ name: 'note_find', description: 'Finds notes', inputSchema: Query })
 *   find({ text }: z.infer<typeof Query>) { … }
 * }
 *
 * const Notes = toolkit({ category: 'notes' }, { find: { name: 'note_find', description: 'Finds notes', inputSchema: Query } })(class { find(…) { … } });
 * ```
 *
 * @throws ToolError `INVALID_METADATA` if a default is invalid, or makes one of the class's tools
 * invalid. `INVALID_DECORATION` if `@toolkit` is applied to anything but a class.
 */
export function toolkit<
  const Methods extends Readonly<Record<string, AnyOptions>> = Readonly<Record<never, AnyOptions>>,
>(defaults: ToolkitOptions, methods?: Methods): ToolkitDecorator<Methods>;
export function toolkit(
  defaults: ToolkitOptions,
  methods: Readonly<Record<string, ToolOptions>> = {},
): unknown {
  if (typeof defaults === 'function') throw withoutOptions('@toolkit', "{ category: '…' }");
  const checked = checkDefaults(defaults);
  return (target: unknown, second?: unknown): unknown => {
    assertClass(
      '@toolkit',
      target,
      second,
      'Declare the defaults on the class, and @tool on its methods.',
    );
    assertUnregistered('@toolkit', target);
    if (getOwnMetadata(TOOLKIT_KEY, target) !== undefined)
      throw invalidDecoration(
        '@toolkit',
        'one @toolkit on a class',
        'a second one',
        'Merge their options.',
      );
    const { prototype } = target as { readonly prototype: object };
    for (const [name, options] of Object.entries(methods))
      tool(options)(
        prototype,
        name as never,
        Object.getOwnPropertyDescriptor(prototype, name) as TypedPropertyDescriptor<
          Execute<unknown, unknown, never>
        >,
      );
    defineMetadata(TOOLKIT_KEY, checked, target);
    const check = () => declarationsOf(target, withDefaults);
    // Standard decorators attach method records after the class decorators have run.
    if (second === undefined) check();
    else (second as ClassDecoratorContext).addInitializer(check);
    return target;
  };
}

/** Returns true for a class that `@toolkit` has decorated, or that extends one. */
export function isToolkit(constructor: object): boolean {
  return [...inheritance(constructor)].some(
    (each) => getOwnMetadata(TOOLKIT_KEY, each) !== undefined,
  );
}

/**
 * Resolved options, cached by defaults and declared options. A class is read when it's defined and
 * at each registration.
 */
const RESOLVED = new WeakMap<object, WeakMap<ResolvedOptions, ResolvedOptions>>();

/**
 * Returns a tool's options with its toolkit's defaults applied. The toolkit is that of the class or
 * of its nearest base class with a toolkit.
 */
export const withDefaults: ReadDeclared = (options, declaredOn) => {
  for (const each of inheritance(declaredOn)) {
    const defaults = getOwnMetadata(TOOLKIT_KEY, each) as Partial<ToolOptions> | undefined;
    if (defaults === undefined) continue;
    const cache = RESOLVED.get(defaults) ?? new WeakMap<ResolvedOptions, ResolvedOptions>();
    RESOLVED.set(defaults, cache);
    const resolved = cache.get(options) ?? resolveMetadata({ ...defaults, ...options.declared });
    cache.set(options, resolved);
    return resolved;
  }
  return options;
};
