import { z } from 'zod';
import { ToolError } from '../../src/index.js';
import { FileWall } from '../walls/file-wall.js';
import { isMissing, obstacle } from '../walls/file-errors.js';

/** Path of a project's notes file, relative to the root. */
const NOTES_FILE = '.tooldex/notes.json';
/** Maximum number of notes per project. A project with more notes needs a database. */
const MAX_NOTES = 1_000;

const Note = z.object({
  id: z.string(),
  text: z.string(),
  tags: z.array(z.string()),
  created: z.string(),
});
const NotesFile = z.object({
  version: z.literal(1),
  nextId: z.number().int().min(1),
  notes: z.array(Note),
});

type Note = z.infer<typeof Note>;
type Notes = z.infer<typeof NotesFile>;

/** The type of `this` in a note tool's `conflictKeys`. */
export interface OnNotes {
  readonly notes: NoteStore;
}

/** A project's notes, stored in one JSON file, oldest first. */
export class NoteStore {
  readonly #files: FileWall;
  readonly #now: () => number;
  /**
   * The change in progress. The next change waits for this change, so that it doesn't overwrite the
   * file with an older list.
   */
  #last: Promise<unknown> = Promise.resolve();

  constructor(
    files: FileWall = new FileWall(process.cwd()),
    { now = Date.now }: { now?: () => number } = {},
  ) {
    this.#files = files;
    this.#now = now;
  }

  /** The keys that calls to note tools touch. File tools use the same key for the notes file. */
  get keys(): readonly string[] {
    return this.#files.keys.of(NOTES_FILE);
  }

  async all(): Promise<readonly Note[]> {
    return (await this.#read()).notes;
  }

  /** Adds a note under a number that has never been used before. */
  async add(text: string, tags: readonly string[]): Promise<Note> {
    return this.#change((file) => {
      if (file.notes.length >= MAX_NOTES)
        throw new ToolError(
          'LIMIT_EXCEEDED',
          `The project already has ${MAX_NOTES} notes, which is the maximum. Delete some first.`,
        );
      const note: Note = {
        id: `note-${file.nextId}`,
        text,
        tags: [...new Set(tags)],
        created: new Date(this.#now()).toISOString(),
      };
      return {
        changed: { ...file, nextId: file.nextId + 1, notes: [...file.notes, note] },
        result: note,
      };
    });
  }

  /** Removes a note and returns it, or `undefined` if there is no note with that id. */
  async remove(id: string): Promise<Note | undefined> {
    return this.#change((file) => {
      const note = file.notes.find((candidate) => candidate.id === id);
      return {
        changed: note && { ...file, notes: file.notes.filter((other) => other !== note) },
        result: note,
      };
    });
  }

  async #change<T>(
    work: (file: Notes) => { readonly changed: Notes | undefined; readonly result: T },
  ): Promise<T> {
    const run = this.#last.then(async () => {
      const { changed, result } = work(await this.#read());
      if (changed !== undefined)
        await this.#files.writeText(NOTES_FILE, `${JSON.stringify(changed, null, 2)}\n`);
      return result;
    });
    this.#last = run.catch(() => undefined);
    return run;
  }

  async #read(): Promise<Notes> {
    let text: string;
    try {
      text = await this.#files.readText(NOTES_FILE);
    } catch (error) {
      if (isMissing(error)) return { version: 1, nextId: 1, notes: [] };
      throw error;
    }
    const parsed = NotesFile.safeParse(parseJson(text));
    // An invalid file is never overwritten, so that a person can repair it.
    if (!parsed.success)
      throw obstacle(
        NOTES_FILE,
        'damaged',
        'valid notes',
        'an invalid file. Repair it or move it away',
      );
    return parsed.data;
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
