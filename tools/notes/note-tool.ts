import { Priority, toolkit } from '../../src/index.js';
import { READING } from '../options/shared-options.js';
import { NoteStore, type OnNotes } from './note-store.js';

/** The defaults of all tools for notes. */
@toolkit({
  ...READING,
  priority: Priority.MEDIUM,
  reads: ['private', 'untrusted'],
  category: 'notes',
  timeoutMs: 5_000,
  conflictKeys(this: OnNotes) {
    return { reads: this.notes.keys };
  },
})
export class NoteTool {
  constructor(protected readonly notes: NoteStore = new NoteStore()) {}
}
