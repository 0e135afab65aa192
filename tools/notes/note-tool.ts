import { Priority } from '../../src/index.js';
import { READING, WRITING } from '../options/shared-options.js';
import { NoteStore, type OnNotes } from './note-store.js';

/** Defaults for all note tools. */
export const NOTE_TOOL = {
  ...READING,
  priority: Priority.MEDIUM,
  reads: ['private', 'untrusted'],
  category: 'notes',
  timeoutMs: 5_000,
  conflictKeys(this: OnNotes) {
    return { reads: this.notes.keys };
  },
} as const;

/** Defaults for tools that change notes. */
export const CHANGING_NOTES = {
  ...NOTE_TOOL,
  ...WRITING,
  allowParallel: false,
  conflictKeys(this: OnNotes) {
    return this.notes.keys;
  },
  invalidates: ['notes', 'files', 'search'],
} as const;

/** The base class of the note tools, which confines these tools to one folder. */
export class NoteTool {
  constructor(protected readonly notes: NoteStore = new NoteStore()) {}
}
