import type { FileWall } from '../walls/file-wall.js';
import { NoteAdd } from './note-add.js';
import { NoteDelete } from './note-delete.js';
import { NoteList } from './note-list.js';
import { NoteSearch } from './note-search.js';
import { NoteStore } from './note-store.js';

export { NoteAdd, NoteDelete, NoteList, NoteSearch, NoteStore };

/** Creates all tools for notes, on one file. `now` returns the time in milliseconds since 1970. */
export function createNoteTools(wall: FileWall, options: { readonly now?: () => number } = {}) {
  const store = new NoteStore(wall, options);
  return [
    new NoteAdd(store),
    new NoteList(store),
    new NoteSearch(store),
    new NoteDelete(store),
  ] as const;
}
