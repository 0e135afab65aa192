export { NoteAdd } from './note-add.js';
export { NoteDelete } from './note-delete.js';
export { NoteList } from './note-list.js';
export { NoteSearch } from './note-search.js';
