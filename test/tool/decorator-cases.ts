import { describe, expect, it } from 'vitest';
import {
  defaultRegistry,
  isToolError,
  lintTools,
  metadataOf,
  ToolMetadataRegistry,
  type ToolEntry,
} from '../../src/index.js';
import { LEAST, refusal, sampleEntry } from './sample-tools.js';

/** A class of which the cases only need instances. */
export type AnyClass = new (...args: never[]) => object;

/**
 * The classes for testing both decorator modes. Each mode declares them in its own file.
 *
 * `made` counts the instances of the classes whose comment says so.
 */
export interface DecoratedClasses {
  readonly made: { count: number };
  /**
   * Tool `greet`, which counts its instances. `execute({name})` answers `${greeting} ${name}`. The
   * greeting is `Hello` unless the constructor gets another greeting.
   */
  readonly Greet: AnyClass;
  /** Extends `Greet` without a decorator, and answers in capitals. */
  readonly LoudGreet: AnyClass;
  /** Extends `Greet`, decorated as `greet_again` with access readonly. */
  readonly GreetAgain: AnyClass;
  /**
   * Tools whose `execute` is a field: declared, inherited, or assigned in the constructor.
   * `execute({name})` answers `Hello ${name}`.
   */
  readonly Fields: readonly AnyClass[];
  /** Tool `explosive`, whose constructor throws. */
  readonly Explosive: AnyClass;
  /**
   * Tools `add`, `subtract` (a method with a symbol as its name), and `version` (static). `add({a, b})`
   * counts calls on the instance. The class counts its instances.
   */
  readonly Calculator: AnyClass;
  /**
   * Extends `Calculator`. It overrides `add` without a decorator (the answer is ten times as large),
   * decorates `subtract` again as `minus`, and adds `multiply`.
   */
  readonly BetterCalculator: AnyClass;
  /** Tool `whole`, which is the class's `execute`, and tool `part`, which is a method. */
  readonly Both: AnyClass;
  /**
   * A toolkit with category `notes` and access readonly: `note_find`, static `note_count`, and
   * `note_add`, which has access write and category `drafts`.
   */
  readonly Notes: AnyClass;
  /** Extends `Notes` without its own toolkit decorator, and adds `note_list`. */
  readonly MoreNotes: AnyClass;
  /** Extends `Notes` as a toolkit with danger high, and adds `note_send`. */
  readonly SentNotes: AnyClass;
  /**
   * Declares `@registry.tool` above `@toolkit({ category: 'web' })`: a class with the tool `visit`, and
   * the tool `visit_count` from a method.
   */
  readonly declareVisit: (registry: ToolMetadataRegistry, answer?: string) => AnyClass;
  /** Declares a class whose tool `visit` has another name. */
  readonly declareOtherVisit: (registry: ToolMetadataRegistry) => AnyClass;
  /** Declares a class whose constructor takes a page. */
  readonly declarePage: (registry: ToolMetadataRegistry) => AnyClass;
  /** A class that looks like a tool but isn't a tool. */
  readonly Plain: AnyClass;
  /** Definitions of classes with wrong decorators, each with a part of the error message. */
  readonly mistakes: readonly (readonly [what: string, define: () => unknown, help: string])[];
  /** Definitions of classes that decorate something that can't be a tool. */
  readonly refused: readonly (readonly [what: string, define: () => unknown])[];
}

/** Declares the cases for both decorator modes. */
export function describeDecorators({
  made,
  Greet,
  LoudGreet,
  GreetAgain,
  Fields,
  Explosive,
  Calculator,
  BetterCalculator,
  Both,
  Notes,
  MoreNotes,
  SentNotes,
  declareVisit,
  declareOtherVisit,
  declarePage,
  Plain,
  mistakes,
  refused,
}: DecoratedClasses): void {
  const register = (...sources: object[]) => {
    const registry = new ToolMetadataRegistry();
    registry.registerAll(sources);
    return registry;
  };
  const names = (source: object) => [...register(source)].map(({ name }) => name);
  const call = (entry: ToolEntry, input?: unknown): unknown => entry.definition.execute!(input, {});

  describe('a decorated class', () => {
    it("a decorated class isn't in any registry until it's registered", () => {
      const registry = new ToolMetadataRegistry();
      expect([registry.size, defaultRegistry.size]).toEqual([0, 0]);
      expect(registry.register(Greet).map(({ name }) => name)).toEqual(['greet']);
    });

    it('a class is registered without an instance, even if its constructor throws', () => {
      const registry = register(Explosive);
      expect(registry.require('explosive')).toMatchObject({
        accessMode: 'readonly',
        keywords: ['bang'],
      });
      expect(lintTools(registry)).toBeInstanceOf(Array);
      expect(registry.search('bang')).toHaveLength(1);
      expect(() => call(registry.require('explosive'))).toThrow('constructed');
    });

    it('a class is instantiated once, when one of its tools first runs', () => {
      made.count = 0;
      const entry = register(Greet).require('greet');
      expect(made.count).toBe(0);
      expect(call(entry, { name: 'Ada' })).toBe('Hello Ada');
      expect(call(entry, { name: 'Bob' })).toBe('Hello Bob');
      expect(made.count).toBe(1);
    });

    it.each(Fields.map((Class) => [Class.name, Class] as const))(
      'a class whose execute is a field (%s) runs, from the class, an instance, and a resolver',
      async (_, Class) => {
        const fromContainer = new ToolMetadataRegistry({
          resolve: () => Promise.resolve(new Class()),
        });
        fromContainer.register(Class);
        for (const registry of [register(Class), register(new Class()), fromContainer])
          for (const entry of registry)
            expect(await call(entry, { name: 'Ada' })).toBe('Hello Ada');
      },
    );

    it('a subclass without a declaration inherits it and runs its own code', () => {
      const entry = register(LoudGreet).require('greet');
      expect(call(entry, { name: 'Ada' })).toBe('HELLO ADA');
      expect(entry.description).toBe(register(Greet).require('greet').description);
    });

    it('a class keeps its declaration if a subclass has another one', () => {
      expect(names(GreetAgain)).toEqual(['greet_again']);
      expect(register(GreetAgain).require('greet_again').accessMode).toBe('readonly');
      expect(names(Greet)).toEqual(['greet']);
      expect(register(Greet).require('greet').accessMode).toBe('mixed');
      expect([...register(Greet, GreetAgain)]).toHaveLength(2);
    });
  });

  describe('an instance', () => {
    it('a registered instance runs its tools, and no other instance is created', () => {
      const instance = new (Greet as new (greeting: string) => object)('Good day');
      made.count = 0;
      expect(call(register(instance).require('greet'), { name: 'Ada' })).toBe('Good day Ada');
      expect(made.count).toBe(0);
    });

    it('an instance of a toolkit registers only its instance methods', () => {
      expect(names(new Calculator())).toEqual(['add', 'subtract']);
    });
  });

  describe('a toolkit', () => {
    it('a toolkit has one tool per decorated method, including static and symbol methods', () => {
      const registry = register(Calculator);
      expect([...registry].map(({ name }) => name)).toEqual(['add', 'subtract', 'version']);
      expect(call(registry.require('add'), { a: 1, b: 2 })).toEqual({ sum: 3, calls: 1 });
      expect(call(registry.require('subtract'), { a: 5, b: 2 })).toBe(3);
      expect(call(registry.require('version'))).toBe('1 of Calculator');
    });

    it('a toolkit is instantiated once for all its tools, when the first one runs', () => {
      made.count = 0;
      const registry = register(Calculator);
      call(registry.require('version'));
      expect(made.count).toBe(0);
      call(registry.require('add'), { a: 1, b: 2 });
      call(registry.require('subtract'), { a: 1, b: 2 });
      expect(call(registry.require('add'), { a: 1, b: 2 })).toEqual({ sum: 3, calls: 2 });
      expect(made.count).toBe(1);
    });

    it("a subclass of a toolkit doesn't change its base class", () => {
      const better = register(BetterCalculator);
      expect([...better].map(({ name }) => name).sort()).toEqual([
        'add',
        'minus',
        'multiply',
        'version',
      ]);
      expect(call(better.require('add'), { a: 1, b: 2 })).toBe(30);
      expect(call(better.require('minus'), { a: 5, b: 2 })).toBe(3);
      expect(call(better.require('multiply'), { a: 5, b: 2 })).toBe(10);
      expect(names(Calculator)).toEqual(['add', 'subtract', 'version']);
    });
  });

  describe('toolkit defaults', () => {
    const axes = (source: object, name: string) => {
      const { category, accessMode, dangerLevel, inferred } = register(source).require(name);
      return {
        category,
        accessMode,
        dangerLevel,
        isAccessInferred: inferred.includes('accessMode'),
      };
    };

    it('toolkit defaults count as declared by the methods, including static methods, with the same digest', () => {
      const expected = {
        category: 'notes',
        accessMode: 'readonly',
        dangerLevel: 'low',
        isAccessInferred: false,
      };
      expect(axes(Notes, 'note_find')).toEqual(expected);
      expect(axes(Notes, 'note_count')).toEqual(expected);
      expect(axes(new Notes(), 'note_find')).toEqual(expected);
      const alone = sampleEntry({
        ...LEAST,
        name: 'note_find',
        category: 'notes',
        accessMode: 'readonly',
      });
      expect(register(Notes).require('note_find')).toMatchObject({
        digest: alone.digest,
        inferred: alone.inferred,
      });
      expect(call(register(Notes).require('note_find'), { text: 'x' })).toBe('found x');
    });

    it("a method's declaration overrides a toolkit default", () => {
      expect(axes(Notes, 'note_add')).toEqual({
        category: 'drafts',
        accessMode: 'write',
        dangerLevel: 'medium',
        isAccessInferred: false,
      });
    });

    it('toolkit defaults apply to subclasses without their own @toolkit', () => {
      expect(axes(MoreNotes, 'note_list')).toEqual(axes(Notes, 'note_find'));
      expect(axes(SentNotes, 'note_send')).toEqual({
        category: undefined,
        accessMode: 'mixed',
        dangerLevel: 'high',
        isAccessInferred: true,
      });
    });

    it("inherited tools keep their base class's defaults", () => {
      expect(axes(SentNotes, 'note_find')).toEqual(axes(Notes, 'note_find'));
    });
  });

  describe('@registry.tool', () => {
    it("@registry.tool registers a class and its methods as tools, with the toolkit's defaults", () => {
      const registry = new ToolMetadataRegistry();
      const Visit = declareVisit(registry);
      expect([...registry].map(({ name, category }) => [name, category])).toEqual([
        ['visit', 'web'],
        ['visit_count', 'web'],
      ]);
      expect(metadataOf(Visit).map(({ name }) => name)).toEqual(['visit', 'visit_count']);
      expect(call(registry.require('visit'))).toBe('visited');
    });

    it("@registry.tool replaces a class's tools if its module runs again", () => {
      const registry = new ToolMetadataRegistry();
      declareVisit(registry);
      declareVisit(registry, 'visited again');
      expect(call(registry.require('visit'))).toBe('visited again');
      expect(registry.size).toBe(2);
    });

    it('@registry.tool refuses a tool name that another class or registration has', () => {
      const registry = new ToolMetadataRegistry();
      declareVisit(registry);
      expect(refusal(() => declareOtherVisit(registry)).code).toBe('DUPLICATE_TOOL');
      const other = new ToolMetadataRegistry();
      other.register(declareVisit(new ToolMetadataRegistry()));
      expect(refusal(() => declareVisit(other)).code).toBe('DUPLICATE_TOOL');
    });

    it('@registry.tool instantiates classes with resolve, and refuses them if they need resolve and there is none', () => {
      class Page {
        readonly title = 'home';
      }
      const registry = new ToolMetadataRegistry({ resolve: (Class) => new Class(new Page()) });
      declarePage(registry);
      expect(call(registry.require('page'))).toBe('home');
      expect(refusal(() => declarePage(new ToolMetadataRegistry())).code).toBe('INVALID_ARGUMENT');
    });
  });

  describe('a decorating mistake', () => {
    it.each(mistakes)(
      'a decorating mistake (%s) is refused with the likely fix',
      (_, define, help) => {
        expect(refusal(define).message).toContain(help);
      },
    );
  });

  describe('@tool', () => {
    it.each(refused)("@tool on %s throws at the declaration, with the tool's name", (_, define) => {
      let error: unknown;
      try {
        define();
      } catch (thrown) {
        error = thrown;
      }
      expect(isToolError(error, 'INVALID_DECORATION')).toBe(true);
      expect((error as Error).message).toContain('"misplaced"');
      expect((error as Error).message).toContain('a class or a public method');
    });

    it('a registry refuses a class or instance without @tool, and suggests it', () => {
      for (const source of [Plain, new Plain(), {}, [], () => 1, Object.create(null) as object]) {
        expect(() => register(source)).toThrow(/@tool/);
        expect(() => register(Greet, source)).toThrow(/@tool/);
      }
    });

    it('@tool declares the same tool as defineTool', () => {
      expect(register(Both).require('part').inputJsonSchema).toEqual(LEAST.inputSchema);
      expect(Object.isFrozen(register(Both).require('part'))).toBe(true);
    });
  });
}
